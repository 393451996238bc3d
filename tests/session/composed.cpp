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

TEST_CASE("composed models: a cell is explained by terms that sum to its score, and its weight is the one shown",
          "[session][gpu]") {
    const std::pair<const char*, std::vector<std::string>> cases[]{
        {"mask=causal", {}},
        {"position=alibi, mask=causal & window(3)", {"position_bias"}},
        {"heads=multi_query(2), position=t5, score=dot, mask=causal", {"position_bias"}},
        {"position=shaw, mask=causal", {"shaw_keys"}},
        {"position=transformer_xl, mask=causal", {"xl_content_position", "xl_global_content", "xl_global_position"}},
        {"position=rope, mask=causal & adaptive_span(2, 2, 0.01)", {"mask_factor"}},
        {"heads=shared_query_key(2), position=toeplitz, mask=causal", {"heads_self", "position_bias"}},
        {"position=rope, mask=causal, layers=shared", {}}};
    for (const auto& [attention, names] : cases) {
        INFO(attention);
        const TemporaryFolder folder;
        const auto model = trained(folder, attention);
        const std::vector<int> tokens{1, 3, 2, 5, 4};
        REQUIRE(model->feed(tokens));
        for (const int key : {1, 3, 4}) {
            INFO("key " << key);
            const CellExplanation cell = model->explain({.layer = 1, .head = 1, .query = 3, .key = key});
            CHECK(cell.remark.empty());
            REQUIRE(cell.terms.size() == names.size());
            double sum = 0;
            for (float product : cell.products) sum += static_cast<double>(product) * static_cast<double>(cell.scale);
            for (size_t i = 0; i < names.size(); ++i) {
                CHECK(cell.terms[i].name == names[i]);
                sum += static_cast<double>(cell.terms[i].value);
            }
            CHECK(cell.score == Approx(sum).margin(1e-4));
            CHECK(cell.probability == Approx(cell.displayed).margin(1e-5));
            if (cell.isMasked) CHECK(cell.displayed == 0);
            CHECK(cell.isMasked == (key == 4 || !cell.maskReason.empty()));
            CHECK(cell.rowProbabilities.size() == tokens.size());
            CHECK(cell.residualContribution.size() == 16);
        }
        CHECK(model->tokens() == tokens);
    }
}

TEST_CASE("composed models: what a layer writes is the sum of what its cells contribute", "[session][gpu]") {
    for (const char* attention : {"position=alibi, mask=causal", "heads=multi_query(2), position=shaw, mask=causal"}) {
        INFO(attention);
        const TemporaryFolder folder;
        const auto model = trained(folder, attention);
        const std::vector<int> tokens{1, 3, 2, 5, 4};
        REQUIRE(model->feed(tokens));
        std::vector<double> sum(8, 0); // of head 0 for query 4
        for (int key = 0; key < 5; ++key) {
            const CellExplanation cell = model->explain({.layer = 0, .head = 0, .query = 4, .key = key});
            REQUIRE(cell.contribution.size() == sum.size());
            for (size_t d = 0; d < sum.size(); ++d) sum[d] += static_cast<double>(cell.contribution[d]);
        }
        const auto z = model->capture(tokens, "blocks.0.attn.hook_z");
        for (size_t d = 0; d < sum.size(); ++d) // [T,H,D]
            CHECK(z.front().values[4 * 2 * 8 + d] == Approx(sum[d]).margin(1e-5));
    }
}

TEST_CASE("composed models: what has no such arithmetic says so in a sentence", "[session][gpu]") {
    const std::pair<const char*, const char*> cases[]{{"normaliser=linear, mask=causal", "no softmax"},
                                                      {"score=additive, mask=causal", "Additive"},
                                                      {"position=distance_aware, mask=causal", "multiplies"},
                                                      {"heads=talking(2), mask=causal", "all heads"},
                                                      {"normaliser=aft_simple, mask=causal", "no softmax"}};
    for (const auto& [attention, words] : cases) {
        INFO(attention);
        const TemporaryFolder folder;
        const auto model = trained(folder, attention);
        REQUIRE(model->feed(std::array{1, 3, 2}));
        const CellExplanation cell = model->explain({.layer = 0, .head = 0, .query = 2, .key = 1});
        CHECK_THAT(cell.remark, CONTAINS(words));
        CHECK(cell.q.empty());
        CHECK(std::isnan(cell.displayed) == (std::string_view(attention).starts_with("normaliser=aft")));
    }
}

TEST_CASE("composed models: views of an effective pattern come from its factors", "[session][gpu]") {
    for (const char* attention :
         {"position=rope, normaliser=linear, mask=causal", "normaliser=favor(16, 0), mask=causal"}) {
        INFO(attention);
        const TemporaryFolder folder;
        const auto model = trained(folder, attention);
        const std::vector<int> tokens{1, 3, 2, 5, 4};
        REQUIRE(model->feed(tokens));
        const PatternTile tile =
            model->patternTile({.layer = 1, .head = 1, .queryBegin = 1, .queryEnd = 5, .keyBegin = 0, .keyEnd = 4});
        REQUIRE(tile.rows == 4);
        REQUIRE(tile.columns == 4);
        const auto whole = model->capture(tokens, "blocks.1.attn.hook_pattern").front(); // [H,T,S]
        for (size_t i = 0; i < 4; ++i)
            for (size_t j = 0; j < 4; ++j)
                CHECK(tile.values[i * 4 + j] == Approx(whole.values[25 + (i + 1) * 5 + j]).margin(1e-6));
    }
}
