#include "engine/inference/cell_explainer.h"
#include "engine/inference/language_model.h"
#include "engine/inference/sampling.h"
#include "engine/io/weight_source.h"
#include "tests/models/golden_cases.h"
#include "tests/models/vision_folder.h"
#include "tests/support/farthest.h"

// Logits, every attention pattern and every other hook against PyTorch, for every family: tests/golden/README.md.

using namespace attn;

TEST_CASE("goldens: logits, patterns and every hook agree with PyTorch within 1e-4", "[models][gpu]") {
    const auto cases = test::goldenCases("cases.json");
    REQUIRE(cases.size() >= 15);
    for (const auto& [name, family, T, classes] : cases) {
        INFO(name);
        LanguageModel model(openModelSource((test::kGoldenRoot / name).string()), {.device = {.validation = true}});
        CHECK(model.info().family == family);
        const test::Golden golden(name);
        const std::vector<int> tokens = golden.integers("tokens");

        std::string hooks;
        for (const std::string& hook : model.info().hooks)
            if (golden.contains(hook)) hooks += (hooks.empty() ? "" : ",") + hook;
        int compared = 0;
        for (const auto& hook : model.capture(tokens, hooks)) {
            INFO(hook.name);
            CHECK(hook.shape.extents() == golden.shape(hook.name));
            const auto withMasked = [](std::vector<float> values) { // alike, whatever stands for minus infinity
                for (float& value : values) value = std::max(value, -1e29f);
                return values;
            };
            CHECK(test::farthest(withMasked(hook.values), withMasked(golden.values(hook.name))) < 1e-4);
            ++compared;
        }
        CHECK(compared > 10 * model.info().layers); // nothing is left out silently

        // The cached path: prompt, then greedy tokens one by one.
        model.truncate(0);
        REQUIRE(model.feed(tokens));
        std::vector<int> written;
        const std::vector<int> greedy = golden.integers("greedy");
        for (size_t i = 0; i < greedy.size(); ++i) {
            written.push_back(sampleToken(model.logits(), {}, {}, 0).token);
            REQUIRE(model.feed(std::span(written).last(1)));
        }
        CHECK(written == greedy);
    }
}

TEST_CASE("stories260k writes its story and encodes as Hugging Face does", "[models][gpu]") {
    const std::filesystem::path folder = std::filesystem::path(ATTN_SHARED_DIR) / "models" / "stories260k";
    if (!std::filesystem::exists(folder)) {
        WARN("skipped: " << folder << " is not there");
        return;
    }
    LanguageModel model(openModelSource(folder.string()), {.device = {.validation = true}});
    const Tokenizer& tokenizer = *model.tokenizer();
    CHECK(tokenizer.encode("Once upon a time").ids == std::vector<int>{1, 403, 407, 261, 378});
    CHECK(tokenizer.encode("naïve 世界\n x").ids ==
          std::vector<int>{1, 297, 412, 198, 178, 360, 410, 231, 187, 153, 234, 152, 143, 13, 410, 444});
    std::vector<int> tokens = tokenizer.encode("Once upon a time").ids;
    REQUIRE(model.feed(tokens));
    for (int i = 0; i < 75; ++i) {
        tokens.push_back(sampleToken(model.logits(), {}, {}, 0).token);
        REQUIRE(model.feed(std::span(tokens).last(1)));
    }
    CHECK_THAT(tokenizer.decode(tokens, true),
               Catch::Matchers::StartsWith("Once upon a time, there was a little girl named Lily. She loved to play "
                                           "outside in the park. One day, she saw a big, "
                                           "red ball. She wanted to play with it, but it was too high."));
    // The terms of a cell sum to what the heatmap shows, with rotary positions and grouped queries.
    for (int head = 0; head < model.info().heads; ++head) {
        const CellExplanation cell = explainCell(model, {.site = 2, .head = head, .query = 40, .key = 12});
        double dot = 0;
        for (float product : cell.products) dot += static_cast<double>(product);
        CHECK(std::exp(dot * static_cast<double>(cell.scale) - static_cast<double>(cell.rowMaximum)) /
                  static_cast<double>(cell.rowSum) ==
              Approx(cell.displayed).margin(1e-5));
        CHECK(cell.keyValueHead == head / 2);
    }
}
