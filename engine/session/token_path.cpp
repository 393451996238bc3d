#include "engine/session/token_path.h"

#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace attn {

int TokenPath::child(int parent, int token, std::optional<float> probability) {
    const auto node = static_cast<int>(tree_.nodes.size());
    const auto [known, isNew] = known_.try_emplace({parent, token}, node);
    if (isNew) {
        std::string text = spell_ ? spell_(token) : std::string();
        tree_.nodes.push_back({.token = token, .parent = parent, .text = std::move(text), .probability = probability});
        return node;
    }
    BranchNode same = tree_.nodes[static_cast<size_t>(known->second)];
    if (probability && same.probability != probability) { // the weights or the temperature may be others by now
        same.probability = probability;
        tree_.nodes.replace(static_cast<size_t>(known->second), std::move(same));
    }
    return known->second;
}

void TokenPath::setPrompt(const std::vector<int>& tokens) {
    tree_ = {.nodes = {BranchNode{}}, .current = 0};
    known_.clear();
    writing_ = lastWriting_ = 0;
    hasMoved_ = false;
    for (int token : tokens) tree_.current = child(tree_.current, token, std::nullopt);
    tree_.promptLength = static_cast<int>(tokens.size());
    promptEnd_ = tree_.current;
}

void TokenPath::take(int token, std::optional<float> probability) {
    tree_.current = child(tree_.current, token, probability);
}

void TokenPath::goTo(int node) {
    if (node < 0 || static_cast<size_t>(node) >= tree_.nodes.size())
        throw Error({.what = fmt::format("there is no branch {}", node),
                     .where = "branches",
                     .hint = fmt::format("there are {}", tree_.nodes.size())});
    hasMoved_ |= tree_.current != node;
    tree_.current = node;
}

void TokenPath::reset() { goTo(promptEnd_); }

void TokenPath::beginWriting() {
    const auto follows = [this](const BranchNode& node) { return node.parent == tree_.current; };
    if (std::exchange(hasMoved_, false) && std::ranges::any_of(tree_.nodes, follows)) writing_ = ++lastWriting_;
}

void TokenPath::restore(const std::vector<SavedToken>& nodes, int current, int promptLength) {
    TokenPath restored(spell_);
    std::vector<int> made;
    for (const auto& [parent, token, probability] : nodes) {
        if (parent < -1 || parent >= static_cast<int>(made.size()))
            throw Error(
                {.what = fmt::format("branch {} names a parent {} that does not precede it", made.size(), parent),
                 .where = "branches",
                 .hint = "the session file is damaged"});
        made.push_back(restored.child(parent < 0 ? 0 : made[static_cast<size_t>(parent)], token, probability));
    }
    if (current < -1 || current >= static_cast<int>(made.size()))
        throw Error({.what = fmt::format("the current branch {} does not exist", current),
                     .where = "branches",
                     .hint = "the session file is damaged"});
    restored.tree_.current = current < 0 ? 0 : made[static_cast<size_t>(current)];
    // The prompt was there before all that branches from it.
    const std::vector<std::vector<int>> children = restored.tree_.children();
    for (; restored.tree_.promptLength < promptLength; ++restored.tree_.promptLength) {
        const std::vector<int>& next = children[static_cast<size_t>(restored.promptEnd_)];
        if (next.empty()) break;
        restored.promptEnd_ = next.front();
    }
    const auto ends = std::ranges::count_if(children, [](const auto& each) { return each.empty(); });
    restored.hasMoved_ = true;
    restored.lastWriting_ = static_cast<uint64_t>(std::max<std::ptrdiff_t>(ends, 1) - 1);
    *this = std::move(restored);
}

int TokenPath::promptLength() const {
    const std::vector<int> path = nodes(), prompt = nodesTo(promptEnd_);
    return static_cast<int>(std::ranges::mismatch(path, prompt).in1 - path.begin());
}

std::vector<int> TokenPath::nodes() const { return nodesTo(tree_.current); }

std::vector<int> TokenPath::nodesTo(int last) const {
    std::vector<int> path;
    for (int node = last; node > 0; node = tree_.nodes[static_cast<size_t>(node)].parent) path.push_back(node);
    std::ranges::reverse(path);
    return path;
}

std::vector<int> TokenPath::tokens() const {
    std::vector<int> result;
    for (int node : nodes()) result.push_back(tree_.nodes[static_cast<size_t>(node)].token);
    return result;
}

} // namespace attn
