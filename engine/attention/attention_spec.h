#pragma once

#include "engine/attention/mask/expression.h"
#include "engine/attention/slot.h"

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attn {

struct Part;

/// A part and its values, in the order of Part::params. More values than parameters are a list.
struct PartChoice {
    std::string id;
    std::vector<double> values;
    bool operator==(const PartChoice&) const = default;
};

/// One attention as a composition: Heads x Projections x Memory x Position x Score x Mask x Normaliser x Output.
/// Copyable, comparable, and written as a small expression: `heads=grouped_query(8, 2), position=alibi, mask=causal &
/// window(64)`. What is not said is the default of its slot; values in brackets follow the part's params, by place or
/// by name: `position=rope(base=500)`. A list ends the brackets: `position=dependency_tree(tree = 2, 0, 2)`.
struct AttentionSpec {
    std::map<Slot, PartChoice> parts; ///< one for each of kSpecSlots, and those of kBlockSlots that were said
    MaskExpression mask;

    /// Every slot's default: one head, one set of projections, no position, scaled_dot, softmax, no memory, plain; mask
    /// full.
    AttentionSpec();

    /// @throws Error naming the place, what was expected and the nearest known name
    static AttentionSpec parse(std::string_view text);
    /// The shortest expression that parses back to this: defaults are left out, except that a spec of defaults alone
    /// names its mask.
    std::string text() const;

    const Part& part(Slot slot) const;
    std::string_view title(Slot slot) const; ///< of the part: "Rotary"
    const std::string& id(Slot slot) const { return parts.at(slot).id; }
    PartValues values(Slot slot) const;
    /// The part that the spec names for a slot of the block; null where the model's own applies.
    const Part* blockPart(Slot slot) const;
    /// @throws Error naming the parameter and its range
    void set(Slot slot, std::string_view id, std::span<const double> values = {});
    /// Sets a slot to values of a model's file, which may lie outside the ranges that a person can choose from.
    void put(Slot slot, std::string_view id, std::vector<double> values);
    /// Sets a slot to its default.
    void reset(Slot slot);
    /// Changes one value of the slot's part. @throws Error naming the parameter and its range
    void setValue(Slot slot, std::string_view id, double value);
    /// Sets the list that the last parameter of the slot's part describes. @param list not empty
    /// @throws Error naming the parameter and its range
    void setList(Slot slot, std::span<const double> list);

    bool operator==(const AttentionSpec&) const = default;
};
/// The slots that a spec fills, besides the mask.
inline constexpr std::array kSpecSlots{Slot::Heads,      Slot::Projections, Slot::Position, Slot::Score,
                                       Slot::Normaliser, Slot::Memory,      Slot::Output,   Slot::Mixer};
/// The slots of the block around the attention. A model uses its own parts for slots that the spec leaves out.
inline constexpr std::array kBlockSlots{Slot::Norm, Slot::FeedForward, Slot::Residual, Slot::Layers};

/// The slots that an expression names, also with their default, and what it says of each. Views of `text`.
/// @throws Error as AttentionSpec::parse()
std::map<Slot, std::string_view> slotsIn(std::string_view text);

/// @throws Error naming the field
AttentionSpec attentionSpecFromJson(const nlohmann::json& json);

/// Where an attention is to be used.
struct AttentionUse {
    bool isCausalTask = false; ///< nothing may look ahead
    bool isCross = false;      ///< queries and keys come from different sequences
    int64_t headWidth = 16;    ///< D
    /// Lengths at which the mask is evaluated; by default long enough for every term to show its shape.
    int64_t queries = 64, keys = 64;
    int layer = 0;
};

/// Why parts do not combine, in a sentence, and the nearest spec that check() accepts; none: none is known.
struct SpecProblem {
    std::string sentence;
    std::optional<AttentionSpec> nearest;
};
std::vector<SpecProblem> check(const AttentionSpec& spec, const AttentionUse& use = {});

} // namespace attn
