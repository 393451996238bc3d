#pragma once

#include "engine/inference/sequence.h"
#include "engine/session/commands.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// A branch tree and the path to its current node.
class TokenPath {
public:
    using Spell = std::function<std::string(int token)>;
    TokenPath() = default;
    explicit TokenPath(Spell spell) : spell_(std::move(spell)) {}

    /// Starts a new tree with these tokens as one chain.
    void setPrompt(const std::vector<int>& tokens);
    /// Moves to the child with this token, and creates it if missing. @param probability none: not known
    void take(int token, std::optional<float> probability);
    /// Moves to a node. @throws Error if there is no such node
    void goTo(int node);
    void reset(); ///< moves to the last prompt token
    /// The model begins to write here. If the path has gone back to a token that something follows already, this is
    /// another writing.
    void beginWriting();
    /// Counts the writings on this tree: random numbers that begin with it make them differ.
    uint64_t writing() const { return writing_; }
    /// Replaces the tree; see RestoreBranchesCommand.
    void restore(const std::vector<SavedToken>& nodes, int current, int promptLength);

    std::vector<int> nodes() const; ///< from the first token to the current node
    std::vector<int> tokens() const;
    /// The number of leading tokens that belong to the prompt. The path may end within the prompt, or leave it.
    int promptLength() const;
    const BranchTree& tree() const { return tree_; }

private:
    int child(int parent, int token, std::optional<float> probability);
    std::vector<int> nodesTo(int last) const; ///< from the first token
    Spell spell_;                             ///< BranchNode::text; none: empty
    BranchTree tree_{.nodes = {BranchNode{}}, .current = 0};
    std::map<std::pair<int, int>, int> known_; ///< the node of a parent's token
    int promptEnd_ = 0;                        ///< node of the last prompt token
    uint64_t writing_ = 0, lastWriting_ = 0;   ///< this one, and the newest one
    bool hasMoved_ = false;                    ///< since the model began to write
};

} // namespace attn
