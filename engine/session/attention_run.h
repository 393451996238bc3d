#pragma once

#include "engine/attention/pattern_window.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn {

namespace gpu {
class Context;
}
class KernelLibrary;

/// Sizes of an attention by itself.
struct AttentionSizes {
    int64_t queries = 1, keys = 1; ///< T, S
    int64_t width = 16;            ///< D
    int64_t layer = 0;             ///< for masks and positions that differ between layers
    bool operator==(const AttentionSizes&) const = default;
};

/// Dense numbers with their extents.
struct NamedTensor {
    std::string name;
    Shape shape;
    std::vector<float> values;
};

/// The graph of one attention by itself: inputs "q" [1,H,T,D], "k" and "v" [1,G,S,D].
struct AttentionGraph {
    std::shared_ptr<Graph> graph;
    AttentionFlow flow;
};
/// @param spec must outlive the result  @param mayFuse AttentionFlow::mayFuse  @throws Error as check()
AttentionGraph attentionGraph(const AttentionSpec& spec, const AttentionSizes& sizes, bool mayFuse);

/// One attention of any spec by itself on a device, without a model around it: what the playground and `attention-cli
/// attend` run. What the spec learns begins as training would begin it, from a seed.
class AttentionRun {
public:
    /// @param wanted which results to compute: "z", "scores", "pattern", "mask" and what the spec's parts show besides;
    /// those
    ///               that the spec does not form are left out. Empty: all
    /// @throws Error as check(), and for more memory than the device has
    AttentionRun(gpu::Context& context, KernelLibrary& kernels, const AttentionSpec& spec, const AttentionSizes& sizes,
                 std::span<const std::string> wanted = {}, uint64_t seed = 0);
    /// Only a part of the effective pattern, at any length: nothing that grows with T x S is formed. Its result is
    /// "pattern" [H, rows, columns].
    /// @param window bounded  @throws Error also where the spec's pattern is no product, and only comes whole
    static AttentionRun ofWindow(gpu::Context& context, KernelLibrary& kernels, const AttentionSpec& spec,
                                 const AttentionSizes& sizes, const PatternWindow& window, uint64_t seed = 0);
    /// Takes up another spec, or the same of other numbers, where that changes nothing but what is looked up: a
    /// parameter that is dragged then compiles and records nothing. The inputs stay.
    /// @param window as that of ofWindow; none: a run that was not made by it
    /// @return false where more is different; all is then as it was  @throws Error as the constructor
    bool become(const AttentionSpec& spec, const AttentionSizes& sizes, const std::optional<PatternWindow>& window,
                uint64_t seed);
    ~AttentionRun();
    AttentionRun(AttentionRun&&) noexcept;

    int64_t heads() const { return heads_; }   ///< H
    int64_t groups() const { return groups_; } ///< G

    /// @param q [H,T,D]  @param k, v [G,S,D], dense  @throws Error naming the one that has another size
    void setInputs(std::span<const float> q, std::span<const float> k, std::span<const float> v);
    /// What the spec learns, by name without a prefix: "position.table".
    const std::vector<FlowParameter>& parameters() const { return parameters_; }
    void setParameter(const std::string& name, std::span<const float> values);

    void run();
    /// Names of what was wanted and is formed.
    std::vector<std::string> results() const;
    /// Without the axis of sequences: scores and pattern [H,T,S], z [H,T,D].
    NamedTensor result(const std::string& name) const;
    uint64_t deviceBytes() const;

private:
    struct Impl;
    AttentionRun();
    /// Writes what the spec learns as it begins.
    void begin(const AttentionFlow& flow, uint64_t seed);

    std::unique_ptr<Impl> impl_;
    int64_t heads_ = 1, groups_ = 1;
    std::vector<FlowParameter> parameters_;
};

} // namespace attn
