#pragma once

#include "engine/inference/patterns.h"

#include <vector>

namespace attn {

class GpuExecutor;

/// Patterns that a run over the whole text forms, or whose factors it forms. The newest rows come from steps.
class FormedPatterns : public Patterns {
public:
    using Patterns::Patterns;

    PatternGrid grid(int size, bool hidesFirst = false) override;
    PatternTile tile(const PatternRequest& view) override;
    HeadProfile beginProfile(int site, int head) override;
    float weight(const CellRequest& cell) override;
    NewestRows newestRows() const override;

private:
    /// Attention weights of some keys of a query; empty if the site has no pattern.
    std::vector<float> weightsOf(int site, int head, int query, int keyBegin, int keyEnd) const;
    /// The newest row of a head in a step that formed it; empty if the site has no pattern.
    static std::vector<float> newestOf(const GpuExecutor& step, int site, int head, int keys);
    PatternTile pooled(const PatternRequest& view, int rows, int columns) const;
};

} // namespace attn
