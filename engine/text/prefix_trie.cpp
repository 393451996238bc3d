#include "engine/text/prefix_trie.h"

#include <algorithm>

namespace attn {

PrefixTrie::PrefixTrie(std::span<const Key> keys) {
    std::vector<Key> sorted(keys.begin(), keys.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const Key& a, const Key& b) { return a.first < b.first; });
    struct Range {
        size_t begin, end, depth; // of the sorted keys that pass through a node
    };
    std::vector<Range> level{{0, sorted.size(), 0}}, next;
    nodes_.emplace_back();
    for (size_t node = 0; node < nodes_.size(); std::swap(level, next)) {
        next.clear();
        for (Range range : level) {
            const size_t depth = range.depth;
            const auto endsHere = [&](const Key& key) { return key.first.size() == depth; };
            if (range.begin < range.end && endsHere(sorted[range.begin]))
                nodes_[node].number = sorted[range.begin].second;
            while (range.begin < range.end && endsHere(sorted[range.begin])) ++range.begin;
            nodes_[node].firstChild = static_cast<uint32_t>(nodes_.size());
            while (range.begin < range.end) {
                const char byte = sorted[range.begin].first[depth];
                size_t end = range.begin + 1;
                while (end < range.end && sorted[end].first[depth] == byte) ++end;
                next.push_back({range.begin, end, depth + 1});
                nodes_.push_back({.byte = static_cast<unsigned char>(byte)});
                ++nodes_[node].children;
                range.begin = end;
            }
            ++node;
        }
    }
}

const PrefixTrie::Node* PrefixTrie::childOf(const Node& node, unsigned char byte) const {
    const Node *first = nodes_.data() + node.firstChild, *last = first + node.children;
    const Node* found =
        std::lower_bound(first, last, byte, [](const Node& child, unsigned char b) { return child.byte < b; });
    return found != last && found->byte == byte ? found : nullptr;
}

std::optional<PrefixTrie::Match> PrefixTrie::longest(std::string_view text, size_t at) const {
    std::optional<Match> best;
    each(text, at, [&](const Match& match) { best = match; });
    return best;
}

} // namespace attn
