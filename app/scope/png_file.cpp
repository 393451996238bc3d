#include "app/scope/png_file.h"

#include "engine/core/error.h"
#include "engine/system/atomic_file.h"

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#include <stb_image_write.h>

namespace attn::scope {

void writePng(const std::string& path, const Screenshot& picture) {
    constexpr int kChannels = 3;
    std::string bytes;
    const auto append = [](void* to, void* data, int count) {
        static_cast<std::string*>(to)->append(static_cast<const char*>(data), static_cast<size_t>(count));
    };
    if (stbi_write_png_to_func(append, &bytes, picture.width, picture.height, kChannels, picture.rgb.data(),
                               picture.width * kChannels) == 0)
        throw Error(
            {.what = "the screenshot does not fit into memory", .where = path, .hint = "choose a smaller --size"});
    writeAtomically(path, bytes);
}

} // namespace attn::scope
