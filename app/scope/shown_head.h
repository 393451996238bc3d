#pragma once

#include "app/scope/shown.h"
#include "engine/session/language_model.h"

#include <string>
#include <vector>

namespace attn::scope {

/// A model with its text, and the head whose pattern is looked at.
class ShownHead : public Shown {
public:
    /// Runs the prompt. @throws Error if the layer or head does not exist or the prompt does not fit
    ShownHead(LanguageModel& model, std::vector<int> prompt, int layer, int head);

    const gpu::Context& context() const override { return model_.context(); }
    const std::string& name() const override { return model_.info().name; }
    int layers() const override { return model_.info().layers; }
    int heads() const override { return model_.info().heads; }
    int layer() const override { return layer_; }
    int head() const override { return head_; }
    void select(int layer, int head) override;
    int tokenCount() const override { return static_cast<int>(labels_.size()); }
    /// Spaces and line breaks visible, long ones cut.
    const std::vector<std::string>& labels() const override { return labels_; }
    std::string facts() const override;
    /// The likeliest next token, quoted, with its probability, e.g. "“y” 99 %".
    const std::string& next() const { return next_; }
    const std::string& notice() const override { return notice_; }

    bool canGenerate() const override { return true; }
    /// Writes the likeliest token. At the context's end a notice says so.
    void generate() override;
    void reset() override; ///< back to the prompt

    bool isCausal() const override;
    int window() const override;
    /// A long pattern only where it shows.
    const LanguageModel::DevicePattern& pattern(std::pair<int, int> queries, std::pair<int, int> keys,
                                                float cellPixels) override;
    bool isPatternReady(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) const override;
    /// Read back from the device by itself.
    float probability(const Cell& cell) override;

private:
    void describeText();
    SetViewCommand viewOf(std::pair<int, int> queries, std::pair<int, int> keys) const;

    LanguageModel& model_;
    std::vector<int> prompt_;
    int layer_ = 0, head_ = 0;
    std::vector<std::string> labels_;
    std::string next_, notice_;
    LanguageModel::DevicePattern pattern_;
    std::optional<SetViewCommand> patternOf_; ///< what pattern_ shows; empty: out of date
    std::optional<std::pair<Cell, float>> lastProbability_;
};

/// A token on one line: “␣the”, “↵”. At most `mostCharacters` characters, then an ellipsis.
std::string tokenLabel(const std::string& text, size_t mostCharacters);

} // namespace attn::scope
