#include "engine/analysis/patch_embedding.h"

#include "engine/inference/vision_model.h"
#include "engine/models/patch_stream.h"
#include "tests/models/vision_folder.h"

using namespace attn;
using namespace attn::test;

TEST_CASE("similarity: cosines by hand, and a row of zeros is like none", "[session][vision]") {
    const std::vector<float> found = cosineSimilarities(std::vector<float>{3, 4, -6, -8, 4, -3, 0, 0}, 2);
    const std::vector<float> expected{1, -1, 0, 0, -1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0};
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) CHECK(found[i] == Approx(expected[i]).margin(1e-6));
}

TEST_CASE("patch embedding: positions are the patches' own, and filters are what makes a token",
          "[session][vision][gpu]") {
    // CLS has a position in vit and none in timm_registers; dinov2_registers interpolates.
    for (const char* name : {"vit", "timm_registers", "dinov2_registers", "vit_features"}) {
        INFO(name);
        VisionModel model(openModelSource((kGoldenRoot / name).string()), {.device = {.validation = true}});
        const auto result = PatchEmbeddingAnalysis{}.run(model, {.input = {}});
        const auto& found = static_cast<const PatchEmbeddingMaps&>(*result);
        const std::vector<float> all = Golden(name).values("hook_pos_embed"); // of every token
        const auto count = static_cast<size_t>(model.config().patches.grid().area()),
                   width = static_cast<size_t>(model.config().modelWidth);
        const std::vector<float> similarity =
            cosineSimilarities(std::span(all).last(count * width), model.config().modelWidth);
        REQUIRE(found.similarity.size() == count * count);
        for (size_t i = 0; i < similarity.size(); ++i) CHECK(found.similarity[i] == Approx(similarity[i]).margin(1e-4));
        CHECK(found.rawFilters.size() == width * static_cast<size_t>(model.config().patches.patchValues()));
        // As many as the mean leaves free.
        CHECK(found.filters.shares.size() ==
              std::min<size_t>({28, width - 1, static_cast<size_t>(model.config().patches.patchValues())}));
        double sum = 0;
        for (const double share : found.filters.shares) sum += share;
        CHECK(sum == Approx(1).margin(1e-6)); // 23 components are all that 24 filters have
    }
}

TEST_CASE("patch embedding: sinusoids of neighbours are alike, and those of a row as those of a column",
          "[session][vision]") {
    const std::vector<float> table = sinusoidalGrid({5, 5}, 32);
    const std::vector<float> found = cosineSimilarities(table, 32);
    const auto at = [&](size_t a, size_t b) { return static_cast<double>(found[a * 25 + b]); };
    CHECK(at(12, 12) == Approx(1));
    CHECK(at(12, 13) > at(12, 14));
    CHECK(at(12, 13) == Approx(at(12, 17)).margin(1e-6));
}
