#pragma once

#include "engine/core/shape.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace attn {

class TensorStore;

/// What a model keeps of several texts that it continues in the same steps: rows of keys and values, in pages of
/// kPageRows rows. A text has whole pages of its own, or shares those that lie before the row where it left another.
class PagedMemory {
public:
    using States = std::vector<std::pair<std::string, Shape>>;

    /// @param states of the graph of a step, with any number of rows  @param pages to begin with
    /// @throws gpu::OutOfMemory
    PagedMemory(TensorStore& store, States states, size_t pages);
    ~PagedMemory(); ///< gives the memory back
    PagedMemory(const PagedMemory&) = delete;
    PagedMemory& operator=(const PagedMemory&) = delete;
    static size_t pagesFor(size_t tokens); ///< that a text of its own takes

    /// The number of rows. If it changes, plans that were made before must not run again.
    int64_t rows() const { return rows_; }
    int64_t freePages() const;

    /// Begins a sequence without tokens. @param sequence a number of the caller's that no sequence has
    void begin(int sequence);
    /// Gives rows to the next tokens of a sequence. The memory grows if it has too few.
    /// @throws gpu::OutOfMemory; the sequence is then as before
    void keep(int sequence, size_t tokens);
    /// Forgets the tokens of a sequence from `length` on.
    void shorten(int sequence, size_t length);
    /// Begins a sequence with the tokens of another. Only the rows of a page that is partly used are copied.
    /// @throws gpu::OutOfMemory; there is then no other sequence
    void copy(int from, int to);
    /// Forgets a sequence. @return whether there was one
    bool drop(int sequence);

    bool has(int sequence) const { return sequences_.contains(sequence); }
    size_t length(int sequence) const { return sequences_.at(sequence).length; } ///< in tokens
    /// The pages of a sequence, in order.
    std::span<const int32_t> pages(int sequence) const { return sequences_.at(sequence).pages; }
    int32_t rowOf(int sequence, size_t token) const; ///< the row of a token of a sequence

private:
    struct Sequence {
        std::vector<int32_t> pages;
        size_t length = 0;
    };
    void grow(size_t pages);
    int32_t takePage();
    void leavePages(Sequence& sequence, size_t first); ///< from this one on

    TensorStore& store_;
    States states_;
    int64_t rows_ = 0;
    std::map<int, Sequence> sequences_;
    std::vector<int> users_; ///< for each page, the number of sequences that have it
};

} // namespace attn
