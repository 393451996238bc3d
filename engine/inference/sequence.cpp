#include "engine/inference/sequence.h"

namespace attn {

std::vector<std::vector<int>> BranchTree::children() const {
    std::vector<std::vector<int>> all(nodes.size());
    for (size_t i = 1; i < nodes.size(); ++i) all[static_cast<size_t>(nodes[i].parent)].push_back(static_cast<int>(i));
    return all;
}

} // namespace attn
