#pragma once

#include "app/scope/pattern_view.h"
#include "engine/session/language_model.h"

#include <string>
#include <vector>

namespace attn::scope {

/// A model with its text, and the head whose pattern is looked at.
class ShownHead {
public:
    /// Runs the prompt. @throws Error if the layer or head does not exist or the prompt does not fit
    ShownHead(LanguageModel& model, std::vector<int> prompt, int layer, int head);

    const ModelInfo& info() const { return model_.info(); }
    const gpu::Context& context() const { return model_.context(); }
    int layer() const { return layer_; }
    int head() const { return head_; }
    void select(int layer, int head); ///< the nearest that exists
    int tokenCount() const { return static_cast<int>(labels_.size()); }
    /// Tokens as they are written beside the pattern: spaces and line breaks visible, long ones cut.
    const std::vector<std::string>& labels() const { return labels_; }
    /// The likeliest next token, quoted, with its probability, e.g. "“y” 99 %".
    const std::string& next() const { return next_; }
    /// One sentence about the last thing done; empty if it needs none.
    const std::string& notice() const { return notice_; }

    /// Writes the likeliest token. At the context's end a notice says so.
    void generate();
    void reset(); ///< back to the prompt

    bool isCausal() const;
    int window() const; ///< keys that a query of this layer sees back; 0: all
    bool isMasked(const Cell& cell) const;
    /// The pattern on the device, computed when it is not yet. A long one only where it shows: ranges as in
    /// PatternView. The last frame that read it must have finished.
    const LanguageModel::DevicePattern& pattern(std::pair<int, int> queries, std::pair<int, int> keys);
    bool isPatternReady(std::pair<int, int> queries, std::pair<int, int> keys) const;
    /// Read back from the device by itself.
    float probability(const Cell& cell);

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
