#include "engine/io/picture_formats.h"

#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <jpeglib.h> // needs <cstdio>

#include <jerror.h>

namespace attn {
namespace {

/// The state of libjpeg. It leaves a call that fails with longjmp, which skips destructors: no object that needs one is
/// created between ran() and libjpeg. This struct lives outside.
struct Jpeg {
    jpeg_decompress_struct info{};
    jpeg_error_mgr errors{};
    jpeg_progress_mgr progress{};
    std::jmp_buf failed{};
    std::array<char, JMSG_LENGTH_MAX> message{};

    Jpeg() = default;
    Jpeg(const Jpeg&) = delete;
    Jpeg& operator=(const Jpeg&) = delete;
    ~Jpeg() { jpeg_destroy_decompress(&info); } // does nothing if nothing was created
};

[[noreturn]] void fail(j_common_ptr info) {
    auto* jpeg = static_cast<Jpeg*>(info->client_data);
    info->err->format_message(info, jpeg->message.data());
    std::longjmp(jpeg->failed, 1);
}

/// Most problems leave a picture with a few wrong pixels. A file that ends too early is refused: libjpeg would invent
/// the rest.
void warn(j_common_ptr info, int level) {
    if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) fail(info);
    if (level < 0) ++info->err->num_warnings;
}

/// Limits the passes over a progressive picture. Encoders make about ten.
void limitScans(j_common_ptr info) {
    constexpr int kMostScans = 64;
    auto* jpeg = static_cast<Jpeg*>(info->client_data);
    if (jpeg->info.input_scan_number <= kMostScans) return;
    std::strncpy(jpeg->message.data(), "it has more than 64 scans", jpeg->message.size() - 1);
    std::longjmp(jpeg->failed, 1);
}

/// Runs a step with libjpeg. @param step neither it nor what it calls may own objects with destructors
/// @return false if libjpeg refused; `message` says why
template <class Step> bool ran(Jpeg& jpeg, const Step& step) {
    if (setjmp(jpeg.failed) != 0) return false;
    step(jpeg.info);
    return true;
}

/// Ink to light. Programs that write four colours store them inverted, as Adobe's do; Pillow and Qt read all files so.
void addInks(const JSAMPLE* inks, int64_t width, uint8_t* rgb) {
    for (int64_t x = 0; x < width; ++x)
        for (int64_t channel = 0; channel < 3; ++channel)
            rgb[x * 3 + channel] = static_cast<uint8_t>((inks[x * 4 + channel] * inks[x * 4 + 3] + 127) / 255);
}

} // namespace

Image decodeJpeg(std::span<const std::byte> file, const std::string& name) {
    Jpeg jpeg;
    const auto require = [&](bool isDone) {
        if (!isDone) refusePicture(name, std::string("cannot be decoded: ") + jpeg.message.data());
    };
    jpeg.info.err = jpeg_std_error(&jpeg.errors);
    jpeg.info.client_data = &jpeg;
    jpeg.errors.error_exit = fail;
    jpeg.errors.emit_message = warn;
    jpeg.progress.progress_monitor = limitScans;
    require(ran(jpeg, [&](jpeg_decompress_struct& info) {
        jpeg_create_decompress(&info);
        info.progress = &jpeg.progress;
        jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), file.size());
        jpeg_read_header(&info, TRUE);
    }));
    Image image{.height = jpeg.info.image_height, .width = jpeg.info.image_width, .rgb = {}};
    constexpr int64_t kBlock = 64, kBitsPerByte = 8;                 // a block of 8 x 8 pixels takes at least a bit
    const int64_t besides = 16 * (image.height + image.width) + 256; // blocks at the right and bottom may be cut
    requirePictureSize(name, image.size(), static_cast<int64_t>(file.size()) * kBitsPerByte * kBlock + besides);

    const bool isInk = jpeg.info.num_components == 4;
    const auto columns = static_cast<size_t>(image.width);
    image.rgb.resize(static_cast<size_t>(image.size().area()) * 3);
    std::vector<JSAMPLE> inks(isInk ? columns * 4 : 0);
    require(ran(jpeg, [&](jpeg_decompress_struct& info) {
        info.out_color_space = isInk ? JCS_CMYK : JCS_RGB;
        jpeg_start_decompress(&info);
        while (info.output_scanline < info.output_height) {
            uint8_t* rgb = image.rgb.data() + info.output_scanline * columns * 3;
            JSAMPROW row = isInk ? inks.data() : rgb;
            jpeg_read_scanlines(&info, &row, 1);
            if (isInk) addInks(row, image.width, rgb);
        }
        jpeg_finish_decompress(&info);
    }));
    image.remark = remarkOnRest(jpeg.info.src->bytes_in_buffer);
    if (jpeg.errors.num_warnings > 0) image.remark = "The file is damaged: some of its pixels may be wrong";
    return image;
}

} // namespace attn
