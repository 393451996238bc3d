#include "engine/models/preprocessor_config.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

using namespace attn;

/// How pictures are prepared: preprocessor_config.json, or timm's part of a config.json. Small results are computed.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    constexpr int64_t kSmall = 64;
    static const fuzz::Folder huggingFace, timm;
    const std::string_view text = fuzz::textOf(data, size);
    const bool isTimm = text.find("pretrained_cfg") != std::string_view::npos;
    fuzz::mayRefuse([&] {
        ModelSpec model = pictureSpec();
        model.patches.image = {16, 16};
        model.patches.patch = 4;
        if (!isTimm) huggingFace.write("preprocessor_config.json", text);
        ImagePreprocessing read;
        fuzz::withJson(isTimm ? text : "{}", "config.json", [&](const nlohmann::json& config) {
            read = readPreprocessing((isTimm ? timm : huggingFace).path(), config, model).preprocessing;
        });
        for (const ImagePreprocessing& steps : {read, read.forSize({8, 8})}) {
            const ImageSize result = resultSize(steps, model), resized = steps.resize.value_or(ImageSize{}),
                            scaled = steps.cover.value_or(steps.inside.value_or(ImageSize{}));
            const int64_t longest = std::max({result.height, result.width, resized.height, resized.width, scaled.height,
                                              scaled.width, steps.shortestEdge.value_or(0)});
            if (longest > kSmall) continue;
            Image picture{.height = 3, .width = 5, .rgb = {}};
            picture.rgb.assign(45, 100);
            const std::vector<float> pixels = pixelsOf(fitted(picture, steps), steps);
            fuzz::require(!pixels.empty(), "a picture has pixels");
        }
    });
    return 0;
}
