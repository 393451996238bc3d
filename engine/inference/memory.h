#pragma once

#include "engine/core/shape.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace attn {

class TensorStore;

/// How one kind of memory goes back to fewer tokens. The numbers are states in the store of a model; plans of steps
/// read and write them.
class MemoryKind {
public:
    virtual ~MemoryKind() = default;
    /// The largest number of first tokens, at most `length`, to which it can go back.
    virtual size_t reachable(size_t length) const = 0;
    virtual void goBack(size_t length) = 0; ///< @param length reachable
    /// A step has added tokens. @param length of all
    virtual void kept(size_t length) = 0;
};

/// What a model keeps of the first tokens of its text from step to step: rows of keys and values, which can go back to
/// any length; running states, which can go back to lengths of which there is a copy; and the keys of a source, which
/// do not depend on the text.
class Memory {
public:
    using States = std::vector<std::pair<std::string, Shape>>;

    explicit Memory(TensorStore& store);
    ~Memory();

    /// Allocates the states of the graph of a step. @param rows of each state that has one for every token
    /// @throws gpu::OutOfMemory
    void allocate(const States& states, int64_t rows);
    int64_t rows() const { return rows_; }
    /// Makes room for more tokens, and keeps those that it has. Plans and views made before must not run again.
    /// @throws gpu::OutOfMemory; it is then as before
    void grow(int64_t rows);
    uint64_t rowBytes() const;   ///< device memory that each token takes
    uint64_t largestRow() const; ///< bytes of a token in the largest state

    size_t length() const { return length_; } ///< number of first tokens that it keeps
    void prepare(size_t tokens);              ///< a step is about to write so many more, and may be cancelled
    void keep(size_t tokens);                 ///< a step has written so many more
    /// Forgets the tokens from `length` on, and what a cancelled step wrote; more if it cannot go back so far.
    void drop(size_t length);

    // Texts that begin alike, such as beams and branches, share the rows of their beginning. Rows of tokens that ran
    // alone after it stay in the room that the text does not need, while there is such room.

    /// Keeps the rows of the tokens that ran alone before a text that shares only some tokens replaces them.
    /// @param tokens whose rows it has  @param shared how many of the first ones the other text shares
    void leave(std::span<const int> tokens, size_t shared);
    /// Brings back rows of a text's next tokens. @param together see keepable()  @return length()
    size_t bringBack(std::span<const int> tokens, size_t together);
    void forgetBranches() { branches_.clear(); } ///< call if their numbers would be others now

    bool keepsSource() const { return keepsSource_; } ///< the keys of the current source, with the current changes
    void keepSource(bool isKept) { keepsSource_ = isKept; }

    // How the tokens came: it decides about the last bits of their rows.

    /// The last tokens ran together, or one alone as written ones do. @param ran how many
    void endPiece(size_t ran, bool isAlone);
    size_t written() const; ///< how many of the last tokens ran alone
    /// How many tokens have the bits that they get in a run of `all`, of which `together` run together.
    /// @param common first tokens that are the same in that run
    /// @param pieceFor how many of so many next tokens run together; null: a row has the same bits whatever rows run
    /// beside it, unless it runs alone
    size_t keepable(size_t common, size_t all, size_t together, const std::function<size_t(size_t)>& pieceFor) const;

private:
    struct Piece {
        size_t begin = 0, end = 0; ///< range of the tokens
        size_t ran = 0;            ///< how many ran together
        bool isAlone = false;
    };
    /// Rows of tokens that ran alone, one after the other.
    struct Branch {
        size_t from = 0;         ///< number of tokens before them, which ran together
        std::vector<int> tokens; ///< that they belong to
        int64_t row = 0;         ///< of the states, where they lie
    };
    size_t reachable(size_t length) const;
    std::optional<int64_t> freeRows(size_t count) const;

    TensorStore& store_;
    States perToken_; ///< states with a row for every token
    std::vector<std::unique_ptr<MemoryKind>> kinds_;
    std::vector<Piece> pieces_;
    std::vector<Branch> branches_; ///< the one that was left last is the last
    int64_t rows_ = 0;
    size_t length_ = 0;
    bool keepsSource_ = false;
};

} // namespace attn
