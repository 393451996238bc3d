#include "engine/io/picture_formats.h"

#include <array>
#include <csetjmp>
#include <cstring>
#include <vector>

#include <png.h>

namespace attn {
namespace {

/// The state of libpng. As with libjpeg, no object that needs a destructor is created between ran() and libpng.
struct Png {
    png_structp png = nullptr;
    png_infop info = nullptr;
    std::span<const std::byte> rest;
    std::jmp_buf failed{};
    std::array<char, 256> message{};

    explicit Png(std::span<const std::byte> file) : rest(file) {}
    Png(const Png&) = delete;
    Png& operator=(const Png&) = delete;
    ~Png() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void fail(png_structp png, const char* text) {
    auto* self = static_cast<Png*>(png_get_error_ptr(png));
    std::strncpy(self->message.data(), text, self->message.size() - 1);
    std::longjmp(self->failed, 1);
}

void ignore(png_structp, const char*) {}

void readNext(png_structp png, png_bytep to, size_t count) {
    auto* self = static_cast<Png*>(png_get_io_ptr(png));
    if (count > self->rest.size()) fail(png, "the file ends too early");
    std::memcpy(to, self->rest.data(), count);
    self->rest = self->rest.subspan(count);
}

/// Runs a step with libpng. @param step neither it nor what it calls may own objects with destructors
/// @return false if libpng refused; `message` says why
template <class Step> bool ran(Png& png, const Step& step) {
    if (setjmp(png.failed) != 0) return false;
    step();
    return true;
}

void require(const Png& png, const std::string& name, bool isDone) {
    if (!isDone) refusePicture(name, std::string("cannot be decoded: ") + png.message.data());
}

/// Makes libpng turn every kind of pixel into red, green and blue of 8 bits, as Pillow does: without transparency, and
/// with the higher byte of 16 bits.
void askForColours(png_structp png, png_infop info) {
    png_set_expand(png); // palettes, few bits, and a transparent colour
    if ((png_get_color_type(png, info) & PNG_COLOR_MASK_COLOR) == 0) png_set_gray_to_rgb(png);
    png_set_strip_alpha(png);
    png_set_strip_16(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
}

/// Reads the part of the file before the pixels.
void readHeader(Png& state, const std::string& name) {
    require(state, name, ran(state, [&] {
                state.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state, fail, ignore);
                if (state.png != nullptr) state.info = png_create_info_struct(state.png);
                if (state.info == nullptr) return;
                png_set_read_fn(state.png, &state, readNext);
                png_read_info(state.png, state.info);
            }));
    if (state.info == nullptr) refusePicture(name, "cannot be decoded: there is not enough memory", "close programs");
}

ImageSize sizeIn(const Png& state) {
    return {png_get_image_height(state.png, state.info), png_get_image_width(state.png, state.info)};
}

} // namespace

ImageSize pngSize(std::span<const std::byte> file, const std::string& name) {
    Png state(file);
    readHeader(state, name);
    return sizeIn(state);
}

Image decodePng(std::span<const std::byte> file, const std::string& name) {
    Png state(file);
    readHeader(state, name);
    Image image{.height = sizeIn(state).height, .width = sizeIn(state).width, .rgb = {}};
    constexpr int64_t kMostDeflated = 1032, kPixelsPerByte = 8; // bytes from one deflated byte; 1-bit pixels
    requirePictureSize(name, image.size(), static_cast<int64_t>(file.size()) * kMostDeflated * kPixelsPerByte);

    image.rgb.resize(static_cast<size_t>(image.size().area()) * 3);
    const auto rowBytes = static_cast<size_t>(image.width) * 3;
    std::vector<png_bytep> rows;
    for (size_t at = 0; at < image.rgb.size(); at += rowBytes) rows.push_back(image.rgb.data() + at);
    require(state, name, ran(state, [&] {
                askForColours(state.png, state.info);
                if (png_get_rowbytes(state.png, state.info) != rowBytes)
                    fail(state.png, "its pixels are of an unknown kind");
                png_read_image(state.png, rows.data());
                png_read_end(state.png, nullptr);
            }));
    image.remark = remarkOnRest(state.rest.size());
    return image;
}

} // namespace attn
