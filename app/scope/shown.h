#pragma once

#include "app/scope/pattern_view.h"
#include "engine/session/language_model.h"

#include <string>
#include <utility>
#include <vector>

namespace attn::scope {

/// What the window looks at: one head of something, as a pattern on the device.
class Shown {
public:
    virtual ~Shown() = default;

    virtual const gpu::Context& context() const = 0;
    virtual const std::string& name() const = 0;
    virtual int layers() const = 0;
    virtual int heads() const = 0;
    virtual int layer() const = 0;
    virtual int head() const = 0;
    virtual void select(int layer, int head) = 0; ///< the nearest that exists
    virtual int tokenCount() const = 0;
    /// Tokens as they are written beside the pattern.
    virtual const std::vector<std::string>& labels() const = 0;
    virtual std::string facts() const = 0;         ///< for the line below: how many tokens, what comes next
    virtual const std::string& notice() const = 0; ///< one sentence about the last thing done; empty if it needs none

    virtual bool canGenerate() const = 0;
    virtual void generate() = 0;
    virtual void reset() = 0; ///< back to the beginning

    virtual bool isCausal() const = 0;
    virtual int window() const = 0; ///< keys that a query sees back; 0: all
    bool isMasked(const Cell& cell) const {
        return (isCausal() && cell.key > cell.query) || (window() > 0 && cell.query - cell.key >= window());
    }

    /// The pattern on the device, computed when it is not yet, or a better one than before. Ranges as in PatternView.
    /// The last frame that read it must have finished.
    /// @param cellPixels size of a cell on the screen
    virtual const LanguageModel::DevicePattern& pattern(std::pair<int, int> queries, std::pair<int, int> keys,
                                                        float cellPixels) = 0;
    /// Whether pattern() would change nothing.
    virtual bool isPatternReady(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) const = 0;
    virtual float probability(const Cell& cell) = 0;
    /// What the brightest colour stands for. Above 0.
    virtual float largest() const { return 1; }
};

} // namespace attn::scope
