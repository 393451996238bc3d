#pragma once

#include "engine/playground/pattern_window.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn {

class Device;

/// The sizes of a single attention.
struct AttentionSizes {
    int64_t queries = 1, keys = 1; ///< T, S
    int64_t width = 16;            ///< D
    int64_t layer = 0;             ///< layer number, for masks and positions that differ between layers
    bool operator==(const AttentionSizes&) const = default;
};

/// Dense values and their shape.
struct NamedTensor {
    std::string name;
    Shape shape;
    std::vector<float> values;
};

/// The graph of a single attention. Inputs: "q" [1,H,T,D], "k" and "v" [1,G,S,D].
struct AttentionGraph {
    std::shared_ptr<Graph> graph;
    AttentionFlow flow;
};
/// Builds the graph of a single attention.
/// @param spec must outlive the result  @param mayFuse AttentionFlow::mayFuse  @throws Error as check()
AttentionGraph attentionGraph(const AttentionSpec& spec, const AttentionSizes& sizes, bool mayFuse);

/// Runs a single attention of any spec on a device, without a model. The playground and `attention-cli attend` use it.
/// Learned tensors get the initial values of training, from a seed.
class AttentionRun {
public:
    /// @param wanted results to compute: "z", "scores", "pattern", "mask" and other results of the spec's parts.
    /// Results
    ///               that the spec does not form are left out. Empty: all
    /// @throws Error as check(), or if the device has too little memory
    AttentionRun(Device& device, const AttentionSpec& spec, const AttentionSizes& sizes,
                 std::span<const std::string> wanted = {}, uint64_t seed = 0);
    /// Computes only a window of the effective pattern, at any length, without forming T x S values. The result is
    /// "pattern" [H, rows, columns].
    /// @param window the window to compute
    /// @throws Error as the constructor, or if the spec's pattern is not a product of features
    static AttentionRun ofWindow(Device& device, const AttentionSpec& spec, const AttentionSizes& sizes,
                                 const PatternWindow& window, uint64_t seed = 0);
    /// Changes to another spec, sizes or seed if only constants and initial values differ. Then nothing is compiled or
    /// recorded, for example while a user drags a parameter. The inputs stay.
    /// @param window as for ofWindow(); none: a run without a window
    /// @return false if more differs; nothing has changed then  @throws Error as the constructor
    bool become(const AttentionSpec& spec, const AttentionSizes& sizes, const std::optional<PatternWindow>& window,
                uint64_t seed);
    ~AttentionRun();
    AttentionRun(AttentionRun&&) noexcept;

    int64_t heads() const { return heads_; }   ///< H
    int64_t groups() const { return groups_; } ///< G

    /// @param q [H,T,D]  @param k, v [G,S,D]; all dense  @throws Error naming the input that has another size
    void setInputs(std::span<const float> q, std::span<const float> k, std::span<const float> v);
    /// The learned tensors; their names have no prefix: "position.table".
    const std::vector<FlowParameter>& parameters() const { return parameters_; }
    void setParameter(const std::string& name, std::span<const float> values);
    /// The numbers that the results were computed with: learned tensors as "learned.NAME", and the random directions of
    /// parts that draw some as "drawn.NAME".
    std::vector<NamedTensor> numbers() const;

    void run();
    /// Names of the wanted results that the spec forms.
    std::vector<std::string> results() const;
    /// A result, without the axis of sequences: scores and pattern [H,T,S], z [H,T,D].
    NamedTensor result(const std::string& name) const;
    uint64_t deviceBytes() const;

private:
    struct Impl;
    AttentionRun();
    /// Writes the initial values of learned tensors.
    void begin(const AttentionFlow& flow, uint64_t seed);

    std::unique_ptr<Impl> impl_;
    int64_t heads_ = 1, groups_ = 1;
    std::vector<FlowParameter> parameters_;
};

} // namespace attn
