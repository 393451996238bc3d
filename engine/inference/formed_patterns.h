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

private:
    std::vector<float> formedRow(int site, int head, int query) const override;
    /// Attention weights of some keys of a query; empty if the site has no pattern.
    std::vector<float> weightsOf(int site, int head, int query, int keyBegin, int keyEnd) const;
    PatternTile pooled(const PatternRequest& view, int rows, int columns) const;
};

} // namespace attn
