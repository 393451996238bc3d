#pragma once

#include <vector>

namespace attn {

/// A question from the validation split with its answer, except its last token. Empty for a task with pictures.
struct ExampleInput {
    std::vector<int>
        prompt; ///< the question and its answer; in a task with sources, the source; else the prefix, if any
    std::vector<int> target;    ///< what follows a source, without the token that begins it, or a prefix
    std::vector<int> parents{}; ///< the dependency tree of the prompt; empty: it has none
};

} // namespace attn
