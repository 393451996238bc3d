#include "engine/analysis/attention_distance.h"
#include "engine/analysis/attention_rollout.h"
#include "tests/analysis/golden_case.h"

using namespace attn;
using namespace attn::test;

namespace {

std::vector<std::vector<float>> gradientsOf(VisionModel& model, const std::vector<float>& patches, int label) {
    return logitGradients(model, patches, {.token = label}).byLayer;
}

/// A model of its folder, with layers of a composition. Bilinear scores begin as scaled dot products.
class ComposedSource : public ChangedSource {
public:
    ComposedSource(const std::string& name, const std::vector<std::string>& specs)
        : ChangedSource(name, [&](ModelSpec& config) {
              config.patches.windows.clear();
              for (size_t layer = 0; layer < specs.size(); ++layer)
                  config.layers[layer].spec = AttentionSpec::parse(specs[layer]);
          }) {}
    std::string sourceName(const std::string& parameter) const override {
        return isBilinear(parameter) ? std::string() : ChangedSource::sourceName(parameter);
    }
    int64_t read(const std::string& parameter, const Shape& shape, const RowWriter& write) const override {
        if (!isBilinear(parameter)) return ChangedSource::read(parameter, shape, write);
        const auto D = static_cast<size_t>(shape.columns());
        std::vector<float> identity(static_cast<size_t>(shape.elements()), 0); // [H,D,D]
        for (size_t row = 0; row < identity.size() / D; ++row)
            identity[row * D + row % D] = 1 / std::sqrt(static_cast<float>(D));
        writeRows(identity, shape, write);
        return 0;
    }

private:
    static bool isBilinear(const std::string& parameter) { return parameter.ends_with("score.W"); }
};

} // namespace

TEST_CASE("pattern gradients: PyTorch's of a class's logit within 1e-4, and the relevance made of them",
          "[session][vision][gpu]") {
    const char* name = GENERATE("vit", "deit", "dinov2_registers", "timm_registers");
    INFO(name);
    const Golden expected(name, "gradients.safetensors");
    const int label = static_cast<int>(expected.values("class").front());
    VisionModel model(openModelSource((kGoldenRoot / name).string()), {.device = {.validation = true}});
    const std::vector<float> patches = model.patchesOf(Golden(name).image());
    const auto gradients = gradientsOf(model, patches, label);
    REQUIRE(gradients.size() == static_cast<size_t>(model.info().layers));
    double largest = 0;
    for (size_t layer = 0; layer < gradients.size(); ++layer) {
        const std::string tensor = "blocks." + std::to_string(layer) + ".attn.pattern_gradient";
        CHECK(farthest(gradients[layer], expected.values(tensor)) < 1e-4);
        for (const float value : gradients[layer]) largest = std::max(largest, std::abs(static_cast<double>(value)));
    }
    CHECK(largest > 0.1); // 1e-4 tells something
    CHECK(farthest(gradientRollout(model.patternsAndLogits(patches).patterns, gradients).values,
                   expected.values("relevance")) < 1e-4);

    // Another class, then the first again.
    CHECK(farthest(gradientsOf(model, patches, 0)[0], gradients[0]) > 1e-3);
    CHECK(gradientsOf(model, patches, label) == gradients);
}

TEST_CASE("pattern gradients: a composition's are those of the kernel that it stands for, fused or not",
          "[session][vision][gpu]") {
    const Golden expected("vit", "gradients.safetensors");
    const int label = static_cast<int>(expected.values("class").front());
    // The block-sparse kernel stores no cell; bilinear scores form all.
    for (const auto& specs :
         {std::vector<std::string>{"heads=multi_head(3)", "heads=multi_head(3)"},
          std::vector<std::string>{"heads=multi_head(3), score=bilinear", "heads=multi_head(3)"},
          std::vector<std::string>{"heads=multi_head(3), score=bilinear", "heads=multi_head(3), score=bilinear"}}) {
        INFO(specs[0]);
        VisionModel model(std::make_unique<ComposedSource>("vit", specs), {.device = {.validation = true}});
        const auto gradients = gradientsOf(model, model.patchesOf(Golden("vit").image()), label);
        for (size_t layer = 0; layer < gradients.size(); ++layer)
            CHECK(farthest(gradients[layer],
                           expected.values("blocks." + std::to_string(layer) + ".attn.pattern_gradient")) < 1e-4);
    }
}

TEST_CASE("pattern gradients: shifted windows are the composition of a mask and a bias over the whole grid",
          "[session][vision][gpu]") {
    VisionModel windows(openModelSource((kGoldenRoot / "swin").string()), {.device = {.validation = true}});
    const std::string bias = "position=grid_bias(8, 8, 3)", half = "position=grid_bias(4, 4, 3)";
    const std::vector<std::string> specs{"heads=multi_head(2), mask=shifted(8, 8, 4, 0), " + bias,
                                         "heads=multi_head(2), mask=shifted(8, 8, 4, 2), " + bias,
                                         "heads=multi_head(4), " + half, "heads=multi_head(4), " + half};
    VisionModel whole(std::make_unique<ComposedSource>("swin", specs), {.device = {.validation = true}});
    const std::vector<float> patches = windows.patchesOf(Golden("swin").image());
    CHECK(farthest(windows.predict(patches), whole.predict(patches)) < 1e-5);
    const auto rolledOut = [&](VisionModel& model) {
        return gradientRollout(model.patternsAndLogits(patches).patterns, gradientsOf(model, patches, 1));
    };
    const TokenMap byWindows = rolledOut(windows), byMask = rolledOut(whole);
    CHECK(byWindows.rows.tokens == 16);
    CHECK(byWindows.columns.tokens == 64);
    CHECK(farthest(byWindows.values, byMask.values) < 1e-5);
    CHECK(std::ranges::max(byWindows.values) > 0.2501f); // a quarter is what patches bring along
    CHECK(farthest(attentionRollout(windows.patternsAndLogits(patches).patterns).values,
                   attentionRollout(whole.patternsAndLogits(patches).patterns).values) < 1e-5);
    for (size_t layer = 0; layer < 4; ++layer)
        CHECK(farthest(attentionDistances(windows.patternsAndLogits(patches).patterns[layer], 8, 2),
                       attentionDistances(whole.patternsAndLogits(patches).patterns[layer], 8, 2)) < 1e-4);
}

TEST_CASE("pattern gradients: a head behind a gate changes nothing, and a class that is none is refused",
          "[session][vision][gpu]") {
    VisionModel model(openModelSource((kGoldenRoot / "vit").string()), {.device = {.validation = true}});
    const std::vector<float> patches = model.patchesOf(Golden("vit").image());
    model.setGate(1, 2, 0);
    const auto gradients = gradientsOf(model, patches, 3);
    const auto cells = static_cast<size_t>(model.info().tokens() * model.info().tokens());
    const auto isZero = [&](size_t head) {
        return std::ranges::all_of(std::span(gradients[1]).subspan(head * cells, cells),
                                   [](float value) { return value == 0; });
    };
    CHECK(isZero(2));
    CHECK_FALSE(isZero(1));
    CHECK_THROWS_WITH(gradientsOf(model, patches, 7), CONTAINS("7 is not one of the 7 outputs of the model"));
    VisionModel features(openModelSource((kGoldenRoot / "vit_features").string()), {.device = {.validation = true}});
    CHECK_THROWS_WITH(gradientsOf(features, std::vector<float>(25 * 16), 0), CONTAINS("this model has no classifier"));
}
