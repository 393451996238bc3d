#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

struct AttentionSpec;

/// "The student reads a book about old trees", as Universal Dependencies describe it.
inline constexpr std::array<double, 8> kExampleTree{2, 3, 0, 5, 3, 8, 8, 5};

/// The words of a sentence, each of which depends on another one, except the root. Words are named by the place of
/// their tokens.
class DependencyTree {
public:
    /// @param parents for each word the number of the word on which it depends, from 1; 0 for the root: the column HEAD
    /// of
    ///              CoNLL-U
    /// @param leading number of tokens before the first word, which are not in the tree
    /// @throws Error with the sentence of problemOf(parents) if they form no tree
    explicit DependencyTree(std::span<const double> parents, int64_t leading = 0);

    int64_t leading() const { return leading_; }
    int64_t end() const { return std::ssize(parents_); } ///< the token after the last word
    bool holds(int64_t token) const { return token >= leading_ && token < end(); }
    /// The word on which a word depends; the root itself for the root.
    int64_t parentOf(int64_t word) const { return parents_[static_cast<size_t>(word)]; }
    /// The absolute structural position: steps from a word up to the root.
    int64_t depthOf(int64_t word) const { return depths_[static_cast<size_t>(word)]; }
    /// The relative structural position: the difference of the depths on one path to the root, and elsewhere their sum,
    /// which is negative if `i` stands before `j`.
    /// @source Wang et al. 2019, "Self-Attention with Structural Position Representations", arXiv:1909.00383, section 3
    int64_t relative(int64_t i, int64_t j) const;
    bool operator==(const DependencyTree&) const = default;

    static constexpr int64_t kMostWords = 1024;
    /// The numbers that stand for tokens outside of the tree in the inputs of a graph.
    static constexpr int32_t kNoDepth = -1, kNoRelation = 1 << 20;
    /// The rows of those inputs for some tokens.
    /// @param first of these tokens  @param tokens their number T
    /// @param depths [T]; empty if the graph does not read them  @param relations [T,S]; empty if not read
    void write(int64_t first, int64_t tokens, std::span<int32_t> depths, std::span<int32_t> relations) const;

private:
    bool isAbove(int64_t upper, int64_t lower) const;

    int64_t leading_;
    std::vector<int64_t> parents_, depths_; ///< by token; of leading ones, themselves and 0
};

/// Why numbers of words do not form a tree, and the nearest that do.
struct TreeProblem {
    std::string sentence;
    std::vector<double> nearest;
};
/// @param parents as DependencyTree takes them
std::optional<TreeProblem> problemOf(std::span<const double> parents);

/// Reads the numbers of a tree as a person writes them: "2, 0, 2" or "2 0 2". Nothing for any other text, and for
/// numbers above DependencyTree::kMostWords.
std::optional<std::vector<int32_t>> parentsFrom(std::string_view text);
/// The tree of a text. @param spec with positions in a tree, which say the tokens before the first word
/// @param parents of the text's words, as DependencyTree takes them; empty: the tree of the spec
/// @throws Error if they form no tree, or have more than DependencyTree::kMostWords words
DependencyTree treeOfText(const AttentionSpec& spec, std::span<const int32_t> parents);

/// The token after the last word of the tree that a spec gives; 0: it gives none. @throws Error if it is no tree
int64_t treeEnd(const AttentionSpec& spec);
/// Refuses a text in which words of a tree are missing. Tokens behind the tree have no position.
/// @param tokens of the text  @param where names what is refused  @throws Error
void requireWords(const DependencyTree& tree, int64_t tokens, std::string_view where);
/// requireWords() for the tree of a spec, if it has one.
void requireWords(const AttentionSpec& spec, int64_t tokens, std::string_view where);

} // namespace attn
