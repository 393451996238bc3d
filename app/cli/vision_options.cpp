#include "app/cli/vision_options.h"

#include "app/cli/command.h"
#include "app/figures/read_image.h"
#include "engine/core/error.h"
#include "engine/session/capture_file.h"
#include "engine/session/vision_model.h"

#include <fmt/format.h>

#include <QString>

#include <algorithm>
#include <charconv>

#include <unistd.h>

namespace attn::cli {

void ImageOptions::addTo(Command& command, bool isRequired) {
    command.option("--image FILE", image, "picture for a vision model: PNG, JPEG, PPM, BMP, WebP ...")
        .required(isRequired);
    command
        .option("--size N", size,
                "pixels at which the model reads the picture, for example 224 or 224x336 (height x width); positions "
                "are interpolated")
        .defaultText("the model's own size");
}

Image ImageOptions::read() const {
    auto result = readImage(QString::fromStdString(image));
    if (const auto* failure = std::get_if<Failure>(&result))
        throw Error({.what = failure->what, .where = failure->where, .hint = failure->hint});
    return std::get<Image>(std::move(result));
}

std::optional<ImageSize> ImageOptions::asked() const {
    if (size.empty()) return {};
    const auto number = [](std::string_view text) {
        int64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        return error == std::errc() && end == text.data() + text.size() ? value : 0;
    };
    const std::string_view text = size;
    const size_t by = std::min(text.find('x'), text.size());
    const ImageSize result{number(text.substr(0, by)), number(text.substr(by == text.size() ? 0 : by + 1))};
    constexpr int64_t kMost = 8192;
    if (std::min(result.height, result.width) < 1 || std::max(result.height, result.width) > kMost)
        throw Error({.what = fmt::format("\"{}\" is not a size", size),
                     .where = "--size",
                     .hint = fmt::format(
                         "write for example 224, or 224x336 (height x width); at most {} pixels on a side", kMost)});
    return result;
}

std::unique_ptr<VisionModel> openVision(const ModelOptions& options, const std::optional<ImageSize>& size) {
    const bool showsProgress = isatty(STDERR_FILENO) == 1;
    const auto progress = [&](float fraction, const std::string& what) {
        if (showsProgress)
            fmt::print(stderr, "\r\x1b[Kloading {:3.0f} %  {}", static_cast<double>(fraction) * 100, what);
    };
    auto model = std::make_unique<VisionModel>(
        openVisionSource(options.path, size),
        VisionModel::Options{.device = namedDevice(options.device), .validation = options.validation}, progress);
    if (showsProgress) fmt::print(stderr, "\r\x1b[K");
    for (const std::string& warning : model->info().warnings)
        fmt::print(stderr, "attention-cli: warning: {}\n", warning);
    return model;
}

void captureVision(const ModelOptions& options, const ImageOptions& picture, const std::string& hooks,
                   const std::string& out) {
    const Image image = picture.read();
    const auto model = openVision(options, picture.asked());
    const std::vector<float> patches = model->patchesOf(image);
    const auto captured = model->capture(patches, hooks);
    const int64_t count = model->config().grid().area();
    const WrittenTensor input{
        .name = "patches", .shape = {count, static_cast<int64_t>(patches.size()) / count}, .values = patches};
    writeCapture(out, {.model = model->info().name, .family = model->info().family}, {input}, captured);
    for (const CapturedHook& hook : captured) fmt::print(stderr, "{} {}\n", hook.name, hook.shape.text());
}

} // namespace attn::cli
