#include "engine/session/snapshot.h"

#include <algorithm>

namespace attn {

GivenText Snapshot::textSoFar() const {
    if (!sequence || !branches) return {};
    GivenText text = sequence->given;
    std::vector<int> path;
    for (int node = branches->current; node > 0; node = branches->nodes[static_cast<size_t>(node)].parent)
        path.push_back(branches->nodes[static_cast<size_t>(node)].token);
    std::ranges::reverse(path);
    const auto given = std::ranges::count(sequence->tokens, true, &TokenInfo::isPrompt) + sequence->forgotten;
    if (given < branches->promptLength) // it leaves the prompt, or ends in it
        text.tokens = std::move(path);
    else
        text.target.assign(path.begin() + std::min<std::ptrdiff_t>(branches->promptLength, std::ssize(path)),
                           path.end());
    return text;
}

} // namespace attn
