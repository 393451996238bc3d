#include "app/cli/vision_options.h"

#include "app/arguments/numbers.h"
#include "app/cli/command.h"
#include "app/figures/read_image.h"
#include "engine/core/error.h"
#include "engine/inference/capture_file.h"
#include "engine/inference/vision_model.h"

#include <fmt/format.h>

#include <QString>

#include <algorithm>

#include <unistd.h>

namespace attn::cli {
namespace {

std::string readSize(const std::string& text, std::optional<ImageSize>& size) {
    auto sides = wholeNumbers(text, "x");
    if (!sides) sides = wholeNumbers(text, "");
    constexpr int64_t kMost = 8192;
    if (!sides || std::ranges::min(*sides) < 1 || std::ranges::max(*sides) > kMost)
        return fmt::format(
            "\"{}\" is not a size: write for example 224, or 224x336 (height x width); at most {} pixels "
            "on a side",
            text, kMost);
    size = {.height = sides->front(), .width = sides->back()};
    return {};
}

} // namespace

void ImageOptions::addTo(Command& command, bool isRequired) {
    command.option("--image FILE", image, "picture for a vision model: PNG, JPEG, PPM, BMP, WebP ...")
        .required(isRequired);
    command
        .textOption(
            "--size N", [this](const std::string& text) { return readSize(text, asked); },
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

std::unique_ptr<VisionModel> openVision(const ModelOptions& options, const std::optional<ImageSize>& size) {
    const bool showsProgress = isatty(STDERR_FILENO) == 1;
    const auto progress = [&](float fraction, const std::string& what) {
        if (showsProgress)
            fmt::print(stderr, "\r\x1b[Kloading {:3.0f} %  {}", static_cast<double>(fraction) * 100, what);
    };
    auto model = std::make_unique<VisionModel>(
        openVisionSource(options.path, size),
        DeviceChoice{.device = namedDevice(options.device), .validation = options.validation}, progress);
    if (showsProgress) fmt::print(stderr, "\r\x1b[K");
    for (const std::string& warning : model->info().warnings)
        fmt::print(stderr, "attention-cli: warning: {}\n", warning);
    return model;
}

void captureVision(const ModelOptions& options, const ImageOptions& picture, const std::string& hooks,
                   const std::string& out) {
    const Image image = picture.read();
    const auto model = openVision(options, picture.asked);
    const std::vector<float> patches = model->patchesOf(image);
    const auto captured = model->capture(patches, hooks);
    const int64_t count = model->config().grid().area();
    const WrittenTensor input{
        .name = "patches", .shape = {count, static_cast<int64_t>(patches.size()) / count}, .values = patches};
    writeCapture(out, {.model = model->info().name, .family = model->info().family}, {input}, captured);
    for (const CapturedHook& hook : captured) fmt::print(stderr, "{} {}\n", hook.name, hook.shape.text());
}

} // namespace attn::cli
