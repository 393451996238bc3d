#include "engine/io/resample.h"
#include "engine/io/safetensors.h"
#include "tests/support/catch.h"
#include "tests/support/farthest.h"

// Pictures and grids against Pillow and PyTorch: tests/golden/make_vision_models.py.

using namespace attn;

namespace {

std::vector<float> valuesOf(const SafetensorsFile& file, const std::string& name) {
    const StoredTensor& tensor = file.tensors().at(name);
    std::vector<float> values(static_cast<size_t>(tensor.elements()));
    file.read(tensor, 0, values);
    return values;
}

Image imageOf(const SafetensorsFile& file, const std::string& name) {
    const std::vector<float> values = valuesOf(file, name);
    const std::vector<int64_t>& shape = file.tensors().at(name).shape;
    return {.height = shape[0], .width = shape[1], .rgb = {values.begin(), values.end()}};
}

const std::filesystem::path kGoldens = std::filesystem::path(ATTN_TEST_DIR) / "golden" / "vision_pictures.safetensors";

} // namespace

TEST_CASE("resample: pictures are Pillow's to the bit, with every filter, smaller and larger", "[io][vision]") {
    const SafetensorsFile goldens(kGoldens);
    const Image source = imageOf(goldens, "source");
    int compared = 0;
    for (const auto& [name, filter] :
         {std::pair{"nearest", ResampleFilter::Nearest}, std::pair{"lanczos", ResampleFilter::Lanczos},
          std::pair{"bilinear", ResampleFilter::Bilinear}, std::pair{"bicubic", ResampleFilter::Bicubic}})
        for (const auto& [stored, tensor] : goldens.tensors()) {
            if (!stored.starts_with(std::string(name) + ".")) continue;
            INFO(stored);
            const Image expected = imageOf(goldens, stored);
            CHECK(resampled(source, expected.size(), filter) == expected);
            ++compared;
        }
    CHECK(compared == 20);
}

TEST_CASE("resample: grids are PyTorch's bicubic interpolation, with and without antialiasing", "[io][vision]") {
    const SafetensorsFile goldens(kGoldens);
    const std::vector<float> source = valuesOf(goldens, "grid");
    int compared = 0;
    for (const auto& [stored, tensor] : goldens.tensors()) {
        if (!stored.starts_with("grid.")) continue;
        INFO(stored);
        const bool isWide = stored.starts_with("grid.antialias.");
        const std::vector<float> expected = valuesOf(goldens, stored);
        const std::vector<float> found = resampledGrid(source, {5, 7}, {tensor.shape[0], tensor.shape[1]}, 3,
                                                       isWide ? GridFilter::AntialiasedBicubic : GridFilter::Bicubic);
        CHECK(test::farthest(found, expected) < 1e-6);
        ++compared;
    }
    CHECK(compared == 8);
}

TEST_CASE("resample: box and Hamming filters are Pillow's", "[io][vision]") {
    Image source{.height = 1, .width = 11};
    for (int i = 0; i < 11; ++i)
        for (int channel = 0; channel < 3; ++channel)
            source.rgb.push_back(static_cast<uint8_t>((37 * i * i + 11 * i) % 256));
    const auto check = [&](ResampleFilter filter, const std::vector<int>& expected) { // of Pillow 9.4
        const Image found = resampled(source, {1, std::ssize(expected)}, filter);
        for (size_t i = 0; i < expected.size(); ++i) CHECK(found.rgb[3 * i] == expected[i]);
    };
    check(ResampleFilter::Box, {73, 149, 108, 134});
    check(ResampleFilter::Box, {24, 170, 117, 212, 108, 152, 125});
    check(ResampleFilter::Box, {0, 48, 48, 170, 110, 110, 124, 212, 212, 118, 98, 98, 152, 24, 24, 226});
    check(ResampleFilter::Hamming, {63, 136, 128, 115});
    check(ResampleFilter::Hamming, {16, 141, 117, 190, 107, 122, 161});
    check(ResampleFilter::Hamming, {0, 27, 55, 169, 128, 111, 124, 196, 195, 118, 100, 114, 151, 31, 110, 226});
}
