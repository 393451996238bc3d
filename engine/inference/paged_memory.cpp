#include "engine/inference/paged_memory.h"

#include "engine/inference/graph_sources.h"
#include "engine/ops/paged_attention.h"
#include "engine/runtime/tensor_store.h"

#include <algorithm>
#include <cassert>

namespace attn {

PagedMemory::PagedMemory(TensorStore& store, States states, size_t pages) : store_(store), states_(std::move(states)) {
    grow(std::max<size_t>(pages, 1));
}

PagedMemory::~PagedMemory() { store_.release(states_); }

size_t PagedMemory::pagesFor(size_t tokens) { return (tokens + kPageRows - 1) / static_cast<size_t>(kPageRows); }

void PagedMemory::grow(size_t pages) {
    const auto rows = static_cast<int64_t>(pages) * kPageRows;
    States larger = withRows(states_, rows);
    users_.reserve(pages);
    store_.resize(larger);
    states_ = std::move(larger);
    rows_ = rows;
    users_.resize(pages);
}

int64_t PagedMemory::freePages() const { return std::ranges::count(users_, 0); }

int32_t PagedMemory::takePage() {
    auto free = std::ranges::find(users_, 0);
    if (free == users_.end()) {
        const auto before = std::ssize(users_);
        grow(2 * users_.size()); // so that texts that grow are rarely copied
        free = users_.begin() + before;
    }
    *free = 1;
    return static_cast<int32_t>(free - users_.begin());
}

void PagedMemory::begin(int sequence) {
    assert(!has(sequence));
    sequences_[sequence] = {};
}

void PagedMemory::keep(int sequence, size_t tokens) {
    Sequence& own = sequences_.at(sequence);
    const size_t wanted = pagesFor(own.length + tokens);
    own.pages.reserve(wanted); // so that each page that is taken has its place
    try {
        while (own.pages.size() < wanted) own.pages.push_back(takePage());
    } catch (...) {
        leavePages(own, pagesFor(own.length));
        throw;
    }
    own.length += tokens;
}

void PagedMemory::shorten(int sequence, size_t length) {
    Sequence& own = sequences_.at(sequence);
    own.length = std::min(own.length, length);
    leavePages(own, pagesFor(own.length));
}

void PagedMemory::leavePages(Sequence& sequence, size_t first) {
    for (; sequence.pages.size() > first; sequence.pages.pop_back())
        --users_[static_cast<size_t>(sequence.pages.back())];
}

void PagedMemory::copy(int from, int to) {
    assert(!has(to));
    const Sequence& original = sequences_.at(from);
    const size_t whole = original.length / static_cast<size_t>(kPageRows);
    const auto part = static_cast<int64_t>(original.length % static_cast<size_t>(kPageRows));
    Sequence& copied = sequences_[to];
    try {
        copied.pages.reserve(pagesFor(original.length)); // so that each page that is taken has its place
        for (size_t i = 0; i < whole; ++i) {
            copied.pages.push_back(original.pages[i]);
            ++users_[static_cast<size_t>(original.pages[i])];
        }
        if (part > 0) {
            copied.pages.push_back(takePage());
            store_.copyRows(states_, {.from = int64_t{original.pages[whole]} * kPageRows,
                                      .to = int64_t{copied.pages[whole]} * kPageRows,
                                      .count = part});
        }
    } catch (...) {
        drop(to);
        throw;
    }
    copied.length = original.length;
}

bool PagedMemory::drop(int sequence) {
    const auto found = sequences_.find(sequence);
    if (found == sequences_.end()) return false;
    leavePages(found->second, 0);
    sequences_.erase(found);
    return true;
}

int32_t PagedMemory::rowOf(int sequence, size_t token) const {
    const auto rows = static_cast<size_t>(kPageRows);
    return sequences_.at(sequence).pages[token / rows] * static_cast<int32_t>(rows) +
           static_cast<int32_t>(token % rows);
}

} // namespace attn
