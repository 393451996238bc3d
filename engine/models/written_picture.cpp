#include "engine/models/written_picture.h"

#include <algorithm>

namespace attn {

int32_t levelToken(const WrittenPicture& layout, int64_t channel, uint8_t intensity) {
    return static_cast<int32_t>(channel * layout.levels + intensity * layout.levels / 256);
}

Image pictureIn(const WrittenPicture& layout, std::span<const int> tokens) {
    Image image{.height = layout.rows, .width = layout.columns, .rgb = {}};
    image.rgb.assign(static_cast<size_t>(layout.pixels() * 3), 0);
    const int64_t written = std::clamp<int64_t>(std::ssize(tokens) - WrittenPicture::kLeading, 0, layout.values());
    for (int64_t value = 0; value < written; ++value) {
        const int64_t channel = value % layout.channels,
                      level = tokens[static_cast<size_t>(WrittenPicture::kLeading + value)] - channel * layout.levels;
        if (level < 0 || level >= layout.levels) continue;
        const auto intensity = static_cast<uint8_t>((level * 255 + (layout.levels - 1) / 2) / (layout.levels - 1));
        const auto at = image.rgb.begin() + layout.pixelOf(value / layout.channels) * 3;
        if (layout.channels == 1)
            std::fill_n(at, 3, intensity);
        else
            at[channel] = intensity;
    }
    return image;
}

} // namespace attn
