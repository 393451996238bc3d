#pragma once

#include "engine/attention/block_order.h"
#include "engine/io/image.h"

#include <cstdint>
#include <optional>
#include <span>

namespace attn {

/// The pictures that a decoder writes value by value, as its tokens say them: first a token that is no value, such as
/// the class of the picture, then the level of each channel of each pixel, from the top left row by row or block by
/// block. Ids 0 to channels * levels - 1 are the levels of the first channel, from dark to bright, then those of the
/// next.
/// @source Parmar et al. 2018, "Image Transformer", arXiv:1802.05751, section 3.1: each channel has its own embeddings;
///         section 3.3: blocks of pixels
struct WrittenPicture {
    static constexpr int kLeading = 1; ///< tokens before the first value

    int64_t rows = 0, columns = 0; ///< in pixels
    int64_t channels = 1;          ///< 3: red, green, blue; 1: grey
    int64_t levels = 2;            ///< levels of a channel, from 2 to 256
    int64_t blockHeight = 1;       ///< in pixels; blocks fill the picture. 1: the picture is written row by row
    int64_t blockWidth = 1;        ///< in pixels

    int64_t pixels() const { return rows * columns; }
    int64_t values() const { return pixels() * channels; } ///< the dimensions of a picture
    int64_t tokens() const { return kLeading + values(); }
    BlockOrder order() const { return {rows, columns, blockHeight, blockWidth}; }
    /// The pixel that is written after `nth` others, counted row by row.
    int64_t pixelOf(int64_t nth) const {
        const auto [row, column] = order().placeOf(nth);
        return row * columns + column;
    }
    /// The inverse of pixelOf().
    int64_t nthOf(int64_t pixel) const { return order().nthOf({pixel / columns, pixel % columns}); }
    bool operator==(const WrittenPicture&) const = default;
};

/// The id of a level. @param intensity 8 bits, cut into levels of equal width
int32_t levelToken(const WrittenPicture& layout, int64_t channel, uint8_t intensity);

/// The picture in a text as far as it is written. Pixels without a value are black, and so are tokens that are no level
/// of their channel.
/// @param tokens of the text, the class first; more than a picture's are ignored
Image pictureIn(const WrittenPicture& layout, std::span<const int> tokens);

} // namespace attn
