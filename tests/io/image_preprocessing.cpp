#include "engine/io/image_preprocessing.h"
#include "tests/io/files.h"

using namespace attn;
using namespace attn::test;

namespace {

/// Every pixel's red is its row, green its column.
Image numbered(int64_t height, int64_t width) {
    Image image{.height = height, .width = width};
    for (int64_t row = 0; row < height; ++row)
        for (int64_t column = 0; column < width; ++column)
            for (int64_t value : {row, column, int64_t{7}}) image.rgb.push_back(static_cast<uint8_t>(value));
    return image;
}

} // namespace

TEST_CASE("image preprocessing: the middle is cut out, and a smaller picture gets a black border", "[io][vision]") {
    const Image cut = fitted(numbered(7, 10), {.crop = ImageSize{4, 4}});
    CHECK(cut.size() == ImageSize{4, 4});
    CHECK(cut.at(0, 0, 0) == 1); // (7 - 4) / 2, rounded down
    CHECK(cut.at(0, 0, 1) == 3);
    const Image bordered = fitted(numbered(3, 10), {.crop = ImageSize{6, 4}});
    CHECK(bordered.at(1, 2, 2) == 0); // the larger half of the border comes first
    CHECK(bordered.at(2, 0, 0) == 0);
    CHECK(bordered.at(2, 0, 1) == 3);
    CHECK(bordered.at(4, 3, 0) == 2);
    CHECK(bordered.at(5, 3, 2) == 0);
}

TEST_CASE("image preprocessing: torchvision rounds half of what is cut off to even, and adds the smaller half first",
          "[io][vision]") {
    const auto begins = [](int64_t height, int64_t width, const ImageSize& size) {
        const Image cut = fitted(numbered(height, width), {.crop = size, .cropRule = CropRule::Torchvision});
        CHECK(cut.size() == size);
        return std::pair(cut.at(0, 0, 0), cut.at(0, 0, 1));
    };
    CHECK(begins(7, 10, {4, 4}) == std::pair<uint8_t, uint8_t>(2, 3));  // round(1.5), round(3.0)
    CHECK(begins(9, 13, {4, 4}) == std::pair<uint8_t, uint8_t>(2, 4));  // round(2.5), round(4.5)
    CHECK(begins(11, 15, {4, 4}) == std::pair<uint8_t, uint8_t>(4, 6)); // round(3.5), round(5.5)
    const Image bordered =
        fitted(numbered(3, 4), {.crop = ImageSize{6, 4}, .cropRule = CropRule::Torchvision, .border = {10, 20, 30}});
    CHECK(bordered.at(0, 2, 1) == 20); // one row of border above, two below
    CHECK(bordered.at(1, 2, 0) == 0);
    CHECK(bordered.at(3, 2, 0) == 2);
    CHECK(bordered.at(4, 2, 2) == 30);
    CHECK(bordered.at(5, 2, 2) == 30);
}

TEST_CASE("image preprocessing: a picture covers a size or fits inside it, with rounded sides", "[io][vision]") {
    // timm's ResizeKeepRatio: round(side / ratio), halves to even.
    CHECK(fitted(numbered(20, 30), {.cover = ImageSize{10, 20}}).size() == ImageSize{13, 20}); // 13.33
    CHECK(fitted(numbered(20, 30), {.inside = ImageSize{10, 20}}).size() == ImageSize{10, 15});
    CHECK(fitted(numbered(20, 45), {.inside = ImageSize{10, 10}}).size() == ImageSize{4, 10}); // 4.44
    CHECK(fitted(numbered(5, 20), {.inside = ImageSize{10, 10}}).size() == ImageSize{2, 10});  // 2.5 to 2
    CHECK(fitted(numbered(1, 100), {.inside = ImageSize{10, 10}}).size() == ImageSize{1, 10});
    const Image kept = fitted(numbered(9, 9), {.crop = ImageSize{7, 7}, .kept = ImageSize{4, 4}});
    CHECK(kept.size() == ImageSize{4, 4});
    CHECK(kept.at(0, 0, 0) == 1); // from the top left of the crop
    const ImagePreprocessing asked =
        ImagePreprocessing{.inside = ImageSize{10, 20}, .crop = ImageSize{9, 18}, .kept = ImageSize{8, 16}}.forSize(
            {18, 36});
    CHECK(asked.inside == ImageSize{20, 40});
    CHECK(!asked.kept);
    Image clear = numbered(2, 2);
    clear.remark = "transparent";
    CHECK(fitted(clear, {.resize = ImageSize{4, 4}, .crop = ImageSize{2, 2}}).remark == "transparent");
}

TEST_CASE("image preprocessing: the shorter side decides and the ratio stays", "[io][vision]") {
    CHECK(fitted(numbered(20, 30), {.shortestEdge = 10}).size() == ImageSize{10, 15});
    CHECK(fitted(numbered(31, 20), {.shortestEdge = 10}).size() == ImageSize{15, 10});
    CHECK(fitted(numbered(20, 30), {.resize = ImageSize{8, 4}}).size() == ImageSize{8, 4});
}

TEST_CASE("image preprocessing: another size keeps the crop's proportion", "[io][vision]") {
    const ImagePreprocessing dino{.shortestEdge = 256, .crop = ImageSize{224, 224}};
    const ImagePreprocessing larger = dino.forSize({448, 448});
    CHECK(larger.shortestEdge == 512);
    CHECK(larger.crop == ImageSize{448, 448});
    const ImagePreprocessing plain{.resize = ImageSize{224, 224}};
    CHECK(plain.forSize({96, 128}).resize == ImageSize{96, 128});
    CHECK(!plain.forSize({96, 128}).crop);
}

TEST_CASE("image preprocessing: numbers are scaled, shifted and divided by channel; grey is luma", "[io][vision]") {
    Image image{.height = 1, .width = 2, .rgb = {255, 0, 51, 10, 20, 30}};
    const std::vector<float> colours = pixelsOf(image, {.mean = {0.5, 0.25, 0}, .deviation = {0.5, 1, 2}});
    REQUIRE(colours.size() == 6); // [channels, height, width]
    CHECK(colours[0] == 1.0f);
    CHECK(colours[2] == -0.25f);
    CHECK(colours[4] == Approx(0.1).margin(1e-6));
    CHECK(pixelsOf(image, {.channels = 1, .factor = 1})[1] == 18.0f); // 2.99 + 11.74 + 3.42
}

TEST_CASE("image preprocessing: patches lie as a convolution's weight does", "[io][vision]") {
    std::vector<float> pixels; // [2,4,6]
    for (int i = 0; i < 48; ++i) pixels.push_back(static_cast<float>(i));
    const std::vector<float> patches = cutPatches(pixels, 2, {4, 6}, 2);
    REQUIRE(patches.size() == 48);
    const std::vector<float> second{2, 3, 8, 9, 26, 27, 32, 33}, fourth{12, 13, 18, 19, 36, 37, 42, 43};
    CHECK(std::vector(patches.begin() + 8, patches.begin() + 16) == second);
    CHECK(std::vector(patches.begin() + 24, patches.begin() + 32) == fourth);
}

TEST_CASE("image preprocessing: what cannot be resized is refused in a sentence", "[io][vision]") {
    CHECK_THAT(sentenceOf([] { fitted({}, {}); }),
               CONTAINS("the picture: 0 x 0 pixels cannot be read; choose one that has pixels"));
    CHECK_THAT(sentenceOf([] { fitted(numbered(1, 200), {.shortestEdge = 224}); }),
               CONTAINS("the picture: 200 x 1 pixels would become 44800 x 224; crop it closer to a square"));
}
