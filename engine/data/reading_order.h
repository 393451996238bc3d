#pragma once

#include <cstdint>

namespace attn {

/// How batches read a long text in windows of so many tokens. A pure function of the index of a batch.
struct ReadingOrder {
    enum class Kind : uint8_t {
        Random,      ///< a row begins anywhere
        Consecutive, ///< rows follow one another through the text, and end with it
        /// Row r of a batch continues row r of the batch before: as many rows as a batch has begin at equal distances
        /// and read on to where the next one began. Then they begin again.
        /// @source Dai et al. 2019, arXiv:1901.02860, section 3.2 (a state from segment to segment)
        Continuing
    };
    Kind kind = Kind::Random;
    uint64_t tokens = 0;  ///< of the text
    uint64_t columns = 0; ///< tokens of a window; one more follows it
    uint64_t seed = 0;    ///< of random windows

    /// Where a row begins, and whether it continues the same row of the batch before.
    struct Place {
        uint64_t begin = 0;
        bool continues = false;
        bool operator==(const Place&) const = default;
    };
    /// @param index of the batch  @param rows of a batch
    Place at(uint64_t index, uint64_t rows, uint64_t row) const;
};

} // namespace attn
