#pragma once

#include "app/scope/shown.h"
#include "engine/gpu/buffer.h"
#include "engine/session/attention_lens.h"

#include <memory>
#include <optional>

namespace attn::scope {

/// Queries and keys of any length, looked at through a lens: the picture is coarse at once and becomes exact.
class ShownLens : public Shown {
public:
    struct Size {
        int64_t tokens = 0, heads = 1, width = 64;
    };
    /// Random queries and keys, under a causal mask. @throws Error saying what would fit, where the device has no room
    ShownLens(std::unique_ptr<gpu::Context> context, const Size& size, int head);
    ~ShownLens() override;

    const gpu::Context& context() const override { return *context_; }
    gpu::Context& device() { return *context_; }
    const AttentionLens& lens() const { return *lens_; }

    const std::string& name() const override { return name_; }
    int layers() const override { return 1; }
    int heads() const override { return static_cast<int>(size_.heads); }
    int layer() const override { return 0; }
    int head() const override { return head_; }
    void select(int layer, int head) override;
    int tokenCount() const override { return static_cast<int>(size_.tokens); }
    const std::vector<std::string>& labels() const override { return labels_; }
    std::string facts() const override;
    const std::string& notice() const override { return notice_; }
    bool canGenerate() const override { return false; }
    void generate() override {}
    void reset() override {}
    bool isCausal() const override { return true; }
    int window() const override { return 0; }
    const LanguageModel::DevicePattern& pattern(std::pair<int, int> queries, std::pair<int, int> keys,
                                                float cellPixels) override;
    bool isPatternReady(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) const override;
    float probability(const Cell& cell) override;
    /// One pixel in two hundred is brighter: weights of thousands of keys are small, but for some.
    float largest() const override { return largest_; }

private:
    LensView viewOf(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) const;

    std::unique_ptr<gpu::Context> context_;
    Size size_;
    int head_;
    std::string name_, notice_;
    std::vector<std::string> labels_;
    std::unique_ptr<KernelLibrary> kernels_;
    std::unique_ptr<TensorStore> store_;
    std::unique_ptr<AttentionLens> lens_;
    gpu::Buffer pixels_;
    LanguageModel::DevicePattern pattern_;
    float largest_ = 1;
    std::optional<std::pair<Cell, float>> lastProbability_;
};

} // namespace attn::scope
