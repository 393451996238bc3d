#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

/// A tree of the bytes of many keys, which finds those that stand at a place of a text.
class PrefixTrie {
public:
    using Key = std::pair<std::string_view, int>; ///< its text, and the number from 0 that stands for it
    struct Match {
        int number;
        size_t end; ///< the byte behind it
    };

    PrefixTrie() : PrefixTrie(std::span<const Key>()) {}
    /// @param keys in any order; of two with the same text the first is used, and an empty one is never found
    explicit PrefixTrie(std::span<const Key> keys);

    /// Calls visit(Match) for each key that stands at byte `at`, from the shortest to the longest.
    template <class Visit> void each(std::string_view text, size_t at, const Visit& visit) const {
        const Node* node = nodes_.data();
        while (at < text.size()) {
            node = childOf(*node, static_cast<unsigned char>(text[at++]));
            if (node == nullptr) return;
            if (node->number >= 0) visit(Match{node->number, at});
        }
    }
    /// The longest key that stands at byte `at`.
    std::optional<Match> longest(std::string_view text, size_t at) const;

private:
    struct Node {
        uint32_t firstChild = 0; ///< children lie side by side, by their bytes
        uint16_t children = 0;
        unsigned char byte = 0;
        int number = -1; ///< of the key that ends here; -1: none does
    };
    const Node* childOf(const Node& node, unsigned char byte) const;

    std::vector<Node> nodes_;
};

} // namespace attn
