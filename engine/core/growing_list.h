#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <utility>

namespace attn {

/// A list that grows at its end and whose copies share their elements: a copy takes O(1), and an element that is added
/// to the newest copy takes O(1) on average. Elements never change, so threads may hold copies of one list.
template <class T> class GrowingList {
public:
    using value_type = T;
    using const_iterator = const T*;

    GrowingList() = default;
    GrowingList(std::initializer_list<T> items) { append(items.begin(), items.end()); }
    template <std::input_iterator It> GrowingList(It begin, It end) { append(begin, end); }

    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const T* data() const { return buffer_ ? buffer_->items.get() : nullptr; }
    const T* begin() const { return data(); }
    const T* end() const { return data() + size_; }
    const T& operator[](size_t index) const { return data()[index]; }
    const T& front() const { return *begin(); }
    const T& back() const { return *(end() - 1); }

    void push_back(T item) {
        // Only one of the copies that end here can add in place; the others take a buffer of their own.
        size_t expected = size_;
        if (!buffer_ || size_ == buffer_->capacity || !buffer_->used.compare_exchange_strong(expected, size_ + 1))
            moveToOwnBuffer(size_ + 1);
        buffer_->items[size_++] = std::move(item);
    }
    /// Makes the list end before `size`. @pre size <= this->size()
    void truncate(size_t size) { size_ = size; }
    /// Replaces an element in this copy alone, which takes O(size()).
    void replace(size_t index, T item) {
        moveToOwnBuffer(size_);
        buffer_->items[index] = std::move(item);
    }

private:
    struct Buffer {
        explicit Buffer(size_t most) : items(std::make_unique<T[]>(most)), capacity(most) {}
        std::unique_ptr<T[]> items;
        size_t capacity;
        std::atomic<size_t> used = 0; ///< number of elements of the longest copy
    };
    template <class It> void append(It begin, It end) {
        for (; begin != end; ++begin) push_back(*begin);
    }
    void moveToOwnBuffer(size_t used) {
        auto own = std::make_shared<Buffer>(std::max<size_t>(8, 2 * used));
        std::copy(begin(), this->end(), own->items.get());
        own->used = used;
        buffer_ = std::move(own);
    }

    std::shared_ptr<Buffer> buffer_;
    size_t size_ = 0;
};

} // namespace attn
