#include "engine/io/decode_image.h"
#include "engine/io/picture_count.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

using namespace attn;

/// A picture of a training set, with its EXIF data.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const fuzz::Folder folder;
    const std::filesystem::path file = folder.write("picture", fuzz::textOf(data, size));
    const auto bytes = std::as_bytes(std::span(data, size));
    fuzz::require(picturesIn(bytes) >= 1, "a file holds a picture");
    fuzz::require(largestPicture(bytes) <= picturesIn(bytes), "the largest picture is one of them");
    mayBeTransparent(bytes);
    fuzz::mayRefuse([&] {
        const Image image = decodeImage(file);
        fuzz::require(image.height > 0 && image.width > 0, "a picture has pixels");
        fuzz::require(image.rgb.size() == static_cast<size_t>(image.size().area() * 3), "a pixel has three numbers");
    });
    return 0;
}
