#include "app/scope/png_file.h"

#include "engine/core/error.h"

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#include <stb_image_write.h>

namespace attn::scope {

void writePng(const std::string& path, const Screenshot& picture) {
    constexpr int kChannels = 3;
    if (stbi_write_png(path.c_str(), picture.width, picture.height, kChannels, picture.rgb.data(),
                       picture.width * kChannels) == 0)
        throw Error({.what = "the screenshot could not be written",
                     .where = path,
                     .hint = "choose a folder that exists and that you can write to"});
}

} // namespace attn::scope
