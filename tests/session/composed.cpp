#include "engine/models/model_source.h"
#include "engine/session/language_model.h"
#include "engine/training/run.h"
#include "tests/io/files.h"
#include "tests/support/catch.h"

#include <cmath>

using namespace attn;
using attn::test::TemporaryFolder;

namespace {

/// A model of composed attention after a few steps, opened from its run's folder.
std::unique_ptr<LanguageModel> trained(const TemporaryFolder& folder, const std::string& attention) {
    Recipe recipe{.task = "reverse", .batch = 4};
    recipe.architecture = {.layers = 2, .heads = 2, .width = 16, .attention = attention, .initialDeviation = 0.2};
    recipe.schedule = {.rate = 3e-3, .warmUp = 2, .steps = 3};
    TrainingRun run(folder.path() / "run", recipe, {.softwareThreads = 0, .validation = true}, false);
    while (!run.isFinished()) run.advance();
    run.finish();
    return std::make_unique<LanguageModel>(
        openModelSource((folder.path() / "run").string()),
        LanguageModel::Options{.softwareThreads = 0, .validation = true, .inspects = true});
}

} // namespace

TEST_CASE("composed models: a run opens, and feeding in pieces gives the same logits as at once", "[session][gpu]") {
    for (const char* attention :
         {"position=transformer_xl, mask=causal", "normaliser=aft, mask=causal; position=alibi, mask=causal",
          "position=rope, normaliser=linear, mask=causal", "heads=multi_query(2), position=t5, mask=causal"}) {
        INFO(attention);
        const TemporaryFolder folder;
        const auto model = trained(folder, attention);
        CHECK(model->isComposed());
        CHECK(model->info().family == "attention-lab");
        const std::vector<int> tokens{1, 3, 2, 5};
        REQUIRE(model->feed(tokens));
        const std::vector<float> whole(model->logits().begin(), model->logits().end());
        CHECK(model->tokens() == tokens);
        model->truncate(0);
        for (int token : tokens) REQUIRE(model->feed(std::array{token}));
        const std::vector<float> pieces(model->logits().begin(), model->logits().end());
        CHECK(whole == pieces);
        for (float value : whole) CHECK(std::isfinite(value));
    }
}

TEST_CASE("composed models: views show the patterns that were formed", "[session][gpu]") {
    const TemporaryFolder folder;
    const auto model = trained(folder, "position=alibi, mask=causal & window(2)");
    const std::vector<int> tokens{1, 3, 2, 5, 4};
    REQUIRE(model->feed(tokens));
    const PatternTile tile = model->patternTile({.layer = 1, .head = 1, .detailSize = 64});
    REQUIRE(tile.rows == 5);
    REQUIRE(tile.columns == 5);
    for (size_t query = 0; query < 5; ++query) {
        float sum = 0;
        for (size_t key = 0; key < 5; ++key) {
            const float weight = tile.values[query * 5 + key];
            CHECK((weight > 0) == (key <= query && query - key < 2));
            sum += weight;
        }
        CHECK(sum == Approx(1).margin(1e-5));
    }
    const NewestRows rows = model->newestRows();
    REQUIRE(rows.values.size() == 2 * 2 * 5);
    CHECK(rows.values[3 * 5 + 4] == Approx(tile.values[24]));
    const PatternGrid grid = model->patternGrid(32);
    REQUIRE(grid.tiles.size() == 4);
    CHECK(grid.at(1, 1).values == tile.values);
    const auto hooks = model->capture(tokens, "blocks.1.attn.hook_pattern,logits");
    REQUIRE(hooks.size() == 2);
    CHECK(hooks[0].shape == Shape{2, 5, 5});
    CHECK(std::vector<float>(hooks[0].values.begin() + 25, hooks[0].values.end()) == tile.values);
}
