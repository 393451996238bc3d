#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace attn {

/// Extents in pixels or patches.
struct ImageSize {
    int64_t height = 0, width = 0;
    int64_t area() const { return height * width; }
    bool operator==(const ImageSize&) const = default;
};

/// An image: 8-bit red, green and blue of each pixel, row by row from the top left.
struct Image {
    int64_t height = 0, width = 0;
    std::vector<uint8_t> rgb{}; ///< [height, width, 3]
    /// Remarks on the pixels, in sentences: some were transparent, or the file is damaged. Empty: none.
    std::string remark{};

    ImageSize size() const { return {height, width}; }
    uint8_t at(int64_t row, int64_t column, int64_t channel) const {
        return rgb[static_cast<size_t>((row * width + column) * 3 + channel)];
    }
    bool operator==(const Image&) const = default;
};

} // namespace attn
