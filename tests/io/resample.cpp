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
