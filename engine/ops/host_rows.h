#pragma once

#include "engine/host/pool.h"
#include "engine/ops/walk.h"

#include <array>
#include <cstdint>

namespace attn {

/// The rows that a host kernel steps through in several tensors at once, shared out over the threads.
template <size_t tensors> class HostRows {
public:
    using Offsets = std::array<int64_t, tensors>; ///< in floats, for each tensor

    /// @param walk over all axes but the last, in floats
    explicit HostRows(const Walk& walk) {
        const Walk joined = splitWalk(walk, std::max<size_t>(walk.extents.size(), 1)).front();
        extents_ = joined.extents;
        for (size_t t = 0; t < tensors; ++t) starts_.at(t) = joined.starts[t];
        for (size_t axis = 0; axis < extents_.size(); ++axis) {
            steps_.emplace_back();
            for (size_t t = 0; t < tensors; ++t) steps_.back().at(t) = joined.steps[t][axis];
            rows_ *= extents_[axis];
        }
    }

    int64_t rows() const { return rows_; }
    /// From each row to the next one of a stretch.
    const Offsets& steps() const { return steps_.front(); }
    Offsets offsetsOf(int64_t row) const {
        Offsets offsets = starts_;
        for (size_t axis = 0; axis < extents_.size(); ++axis) {
            for (size_t t = 0; t < tensors; ++t) offsets.at(t) += row % extents_[axis] * steps_[axis].at(t);
            row /= extents_[axis];
        }
        return offsets;
    }
    /// Calls stretch(offsets of the first row, number of rows) for stretches that together hold all rows.
    /// @param least rows that are worth another thread
    template <typename Stretch> void run(host::Pool& pool, int64_t least, const Stretch& stretch) const {
        pool.ranges(rows_, least, 1, [&](int64_t begin, int64_t end) {
            while (begin < end) {
                const int64_t count = std::min(extents_.front() - begin % extents_.front(), end - begin);
                stretch(offsetsOf(begin), count);
                begin += count;
            }
        });
    }

private:
    std::vector<int64_t> extents_; // the first one varies fastest
    std::vector<Offsets> steps_;
    Offsets starts_{};
    int64_t rows_ = 1;
};

} // namespace attn
