#pragma once

#include "engine/training/recipe.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

class Graph;
class Shape;
struct LayerAttention;
struct StartingModel;
struct ModelSpec;

// A model that is trained further with another composition of attention: a Longformer that starts from BERT.

/// Checks that a model has what a recipe demands of it; its attention and its key/value heads may become others.
/// @param task id of the task  @param own the model's architecture
/// @throws Error naming the field, both values and the nearest recipe that works
void requireAsked(const StartingPoint& start, const std::string& task, const Architecture& asked,
                  const Architecture& own);

/// The attention that a recipe asks for, with the key/value heads that it asks for. @param own the model's architecture
/// @throws Error if their number does not divide that of the model's heads, or the attention names heads itself
std::string withKeyValueHeads(const Architecture& asked, const Architecture& own);

/// The attention of a model's layers, one expression for each. Merges have multiplied the heads of later layers.
std::string compositionOf(const std::vector<LayerAttention>& layers);

/// The composition in which training continues: the slots that the recipe's expressions name in place of those of the
/// model's layers, and the model's own for all others. @param own the attention of each layer of the model
/// @return as Architecture::attention: expressions that name all slots in which their layers differ from the model's;
///         empty if none differs
/// @throws Error as AttentionSpec::parse()
std::string compositionFrom(const std::vector<LayerAttention>& own, const std::string& asked);

/// Gives a model's layers the composition of an architecture, if it is another. Its own table of positions stays unless
/// the expressions name positions.
/// @param architecture that of the recipe after startingFrom()  @return whether it is another
/// @throws Error if the model's family, its task or its files cannot have the composition, with the nearest that they
///         can
bool recompose(ModelSpec& config, const Architecture& architecture);

/// The parameters with which training starts.
struct StartingParameters {
    std::set<std::string> taken{}; ///< the model's: those with the same name and shape, and `regrouped`
    /// Keys and values of more or fewer heads than the model's: the number of rows that they have there.
    std::map<std::string, int64_t> regrouped{};
    std::vector<std::string> fresh{}, left{}; ///< new ones, and those of the model that the composition has no use for
    bool isRecomposed = false;                ///< as recompose() said, or a readout is new
    /// Of new tokens or classes, how many the model has, and all of them; the parameters that have a row for each.
    std::optional<std::pair<size_t, size_t>> known{};
    std::vector<std::string> rows{};

    StartingParameters() = default;
    /// @param headWidth that of key/value heads, before and now
    StartingParameters(const Graph& before, const Graph& now, bool isOther, int64_t headWidth);
    /// Notes that tokens or classes are others. @param before as NewRows::before  @param isRow whether a parameter has
    /// a row for each of them
    void renewRows(const std::vector<std::optional<int>>& before, const std::function<bool(const std::string&)>& isRow);
    /// Takes nothing from the model for the parameters whose names begin so.
    void renew(std::string_view begin);
    /// The values with which a parameter that is taken starts. Where several key/value heads become one, it is their
    /// mean; where one becomes several, they are equal, and the model's answers stay as they were.
    /// @return dense  @source Ainslie et al. 2023, arXiv:2305.13245, section 2.1
    std::vector<float> read(const StartingModel& start, const std::string& parameter, const Shape& shape) const;
    /// "34 of 36 parameters are the model's; new: blocks.*.attn.mask.span; left out: pos_embed.W_pos"; empty unless the
    /// model was recomposed or has other tokens or classes. @param blocks as ModelStructure::blocks()
    std::string sentence(std::span<const std::string> blocks) const;

private:
    int64_t width_ = 0;     ///< of a key/value head
    bool isJoined_ = false; ///< key/value heads of the model become fewer
};

} // namespace attn
