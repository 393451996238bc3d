#include "engine/inference/cell_explainer.h"
#include "engine/inference/changes.h"
#include "engine/inference/language_model.h"
#include "engine/models/model_source.h"
#include "tests/session/trained_model.h"

using namespace attn;
using attn::test::TrainedModel;

TEST_CASE("composed models: a run opens, and feeding in pieces gives the same logits as at once", "[session][gpu]") {
    const char* attention =
        GENERATE("position=transformer_xl, mask=causal", "normaliser=aft, mask=causal; position=alibi, mask=causal",
                 "position=rope, normaliser=linear, mask=causal", "heads=multi_query(2), position=t5, mask=causal");
    INFO(attention);
    TrainedModel model(attention);
    CHECK_FALSE(model->isCached());
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

TEST_CASE("composed models: views show the patterns that were formed", "[session][gpu]") {
    TrainedModel model("position=alibi, mask=causal & window(2)");
    const std::vector<int> tokens{1, 3, 2, 5, 4};
    REQUIRE(model->feed(tokens));
    const PatternTile tile = model->patterns().tile({.site = 1, .head = 1, .detailSize = 64});
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
    const ReadoutRows rows = model->patterns().readoutRows();
    REQUIRE(rows.values.size() == 2 * 2 * 5);
    CHECK(rows.values[3 * 5 + 4] == Approx(tile.values[24]));
    const PatternGrid grid = model->patterns().grid(32);
    REQUIRE(grid.tiles.size() == 4);
    CHECK(grid.at(1, 1).values == tile.values);
    const auto hooks = model->capture(tokens, "blocks.1.attn.hook_pattern,logits");
    REQUIRE(hooks.size() == 2);
    CHECK(hooks[0].shape == Shape{2, 5, 5});
    CHECK(std::vector<float>(hooks[0].values.begin() + 25, hooks[0].values.end()) == tile.values);
}

TEST_CASE("composed models: pooled pictures leave out the first token exactly", "[session][gpu]") {
    TrainedModel model("position=alibi, mask=causal");
    REQUIRE(model->feed(std::vector<int>{1, 3, 2, 5, 4, 2}));
    const PatternTile cells = model->patterns().tile({.site = 1, .head = 1, .hidesFirst = true});
    CHECK_FALSE(cells.leavesOutFirst); // cell by cell whoever shows it leaves it out
    REQUIRE(cells.rows == 6);
    const PatternTile pooled = model->patterns().tile({.site = 1, .head = 1, .detailSize = 3, .hidesFirst = true});
    CHECK(pooled.leavesOutFirst);
    REQUIRE(pooled.rows == 3);
    for (int row = 0; row < 3; ++row)
        for (int column = 0; column < 3; ++column) {
            float largest = 0;
            for (int query = std::max(2 * row, 1); query < 2 * row + 2; ++query)
                for (int key = std::max(2 * column, 1); key < 2 * column + 2; ++key)
                    largest = std::max(largest, cells.at(query, key) / (1 - cells.at(query, 0)));
            CHECK(pooled.at(row, column) == Approx(largest).margin(1e-5));
        }
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
        {"position=alibi, mask=causal & dynamic_span(2, 2, 0.01)", {"position_bias", "mask_factor"}},
        {"heads=shared_query_key(2), position=toeplitz, mask=causal", {"heads_self", "position_bias"}},
        {"position=rope, mask=causal, layers=shared", {}}};
    for (const auto& [attention, names] : cases) {
        INFO(attention);
        TrainedModel model(attention);
        const std::vector<int> tokens{1, 3, 2, 5, 4};
        REQUIRE(model->feed(tokens));
        for (const int key : {1, 3, 4}) {
            INFO("key " << key);
            const CellExplanation cell = explainCell(*model, {.site = 1, .head = 1, .query = 3, .key = key});
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
    const char* attention = GENERATE("position=alibi, mask=causal", "heads=multi_query(2), position=shaw, mask=causal");
    INFO(attention);
    TrainedModel model(attention);
    const std::vector<int> tokens{1, 3, 2, 5, 4};
    REQUIRE(model->feed(tokens));
    std::vector<double> sum(8, 0); // of head 0 for query 4
    for (int key = 0; key < 5; ++key) {
        const CellExplanation cell = explainCell(*model, {.site = 0, .head = 0, .query = 4, .key = key});
        REQUIRE(cell.contribution.size() == sum.size());
        for (size_t d = 0; d < sum.size(); ++d) sum[d] += static_cast<double>(cell.contribution[d]);
    }
    const auto z = model->capture(tokens, "blocks.0.attn.hook_z");
    for (size_t d = 0; d < sum.size(); ++d) // [T,H,D]
        CHECK(z.front().values[4 * 2 * 8 + d] == Approx(sum[d]).margin(1e-5));
}

TEST_CASE("composed models: what has no such arithmetic says so in a sentence", "[session][gpu]") {
    const std::pair<const char*, const char*> cases[]{{"normaliser=linear, mask=causal", "not a softmax"},
                                                      {"score=additive, mask=causal", "Additive"},
                                                      {"position=distance_aware, mask=causal", "multiplies"},
                                                      {"heads=talking(2), mask=causal", "all heads"},
                                                      {"mask=causal & local_p(2)", "after the softmax"},
                                                      {"normaliser=aft_simple, mask=causal", "not a softmax"}};
    for (const auto& [attention, words] : cases) {
        INFO(attention);
        TrainedModel model(attention);
        REQUIRE(model->feed(std::array{1, 3, 2}));
        const CellExplanation cell = explainCell(*model, {.site = 0, .head = 0, .query = 2, .key = 1});
        CHECK_THAT(cell.remark, CONTAINS(words));
        CHECK(cell.q.empty());
        CHECK(std::isnan(cell.displayed) == (std::string_view(attention).starts_with("normaliser=aft")));
    }
}

TEST_CASE("composed models: views of an effective pattern come from its factors", "[session][gpu]") {
    const char* attention =
        GENERATE("position=rope, normaliser=linear, mask=causal", "normaliser=favor(16, 0), mask=causal");
    INFO(attention);
    TrainedModel model(attention);
    const std::vector<int> tokens{1, 3, 2, 5, 4};
    REQUIRE(model->feed(tokens));
    const PatternTile tile =
        model->patterns().tile({.site = 1, .head = 1, .queryBegin = 1, .queryEnd = 5, .keyBegin = 0, .keyEnd = 4});
    REQUIRE(tile.rows == 4);
    REQUIRE(tile.columns == 4);
    const auto whole = model->capture(tokens, "blocks.1.attn.hook_pattern").front(); // [H,T,S]
    for (size_t i = 0; i < 4; ++i)
        for (size_t j = 0; j < 4; ++j)
            CHECK(tile.values[i * 4 + j] == Approx(whole.values[25 + (i + 1) * 5 + j]).margin(1e-6));
}

TEST_CASE("composed models: the rest of the model runs on a pattern that is set by hand", "[session][gpu]") {
    // With and without a pattern in memory, with heads that share keys, and with masks of many kinds.
    for (const char* attention :
         {"mask=causal", "position=alibi, mask=causal & window(2)", "heads=multi_query(2), position=t5, mask=causal",
          "position=rope, normaliser=linear, mask=causal", "normaliser=favor(16, 0), mask=causal",
          "heads=talking(2), mask=causal", "memory=segments(2), mask=causal"}) {
        INFO(attention);
        TrainedModel model(attention);
        const std::vector<int> tokens{1, 3, 2, 5, 4};
        const std::string hooks = "blocks.0.attn.hook_v,blocks.0.attn.hook_pattern,blocks.0.attn.hook_z,logits";
        const auto own = model->capture(tokens, hooks);
        PatternChange edit{.site = 0, .head = 1}; // the head's own weights: nothing is changed
        for (int query = 0; query < 5; ++query)
            for (int key = 0; key < 5; ++key)
                edit.rows[query].push_back(own[1].values[static_cast<size_t>(25 + query * 5 + key)]);
        model->applyChanges({{}, {edit}}, tokens);
        const auto same = model->capture(tokens, hooks);
        for (size_t i = 0; i < own[3].values.size(); ++i)
            CHECK(same[3].values[i] == Approx(own[3].values[i]).margin(1e-4));

        edit.rows = {{4, {0, 0, 0, 0.25f, 0.75f}}};
        model->applyChanges({{}, {edit, {.site = 0, .head = 0, .kind = PatternChange::Kind::Pin, .key = 3}}}, tokens);
        const auto changed = model->capture(tokens, hooks);
        const auto& pattern = changed[1].values; // [H,T,S]
        const auto& v = changed[0];              // [T,G,D]
        const auto groups = static_cast<size_t>(v.shape[1]);
        for (size_t head = 0; head < 2; ++head)
            for (size_t query = 0; query < 5; ++query) {
                const size_t row = head * 25 + query * 5;
                const bool isSet = head == 1 ? query == 4 : query >= 3;
                for (size_t key = 0; key < 5; ++key) {
                    INFO("head " << head << ", query " << query << ", key " << key);
                    const float expected = !isSet      ? own[1].values[row + key]
                                           : head == 0 ? (key == 3 ? 1.0f : 0.0f)
                                                       : edit.rows[4][key];
                    CHECK(pattern[row + key] == expected);
                }
                for (size_t d = 0; d < 8; ++d) {
                    double z = 0;
                    for (size_t key = 0; key < 5; ++key)
                        z += static_cast<double>(pattern[row + key]) *
                             static_cast<double>(v.values[(key * groups + head * groups / 2) * 8 + d]);
                    CHECK(changed[2].values[(query * 2 + head) * 8 + d] == Approx(z).margin(1e-4));
                }
            }
        CHECK(changed[3].values != own[3].values);

        REQUIRE(model->feed(tokens));
        const PatternTile tile = model->patterns().tile({.site = 0, .head = 1});
        CHECK(tile.at(4, 3) == 0.25f);
        CHECK(model->patterns().grid(32).at(0, 0).at(4, 3) == 1);
        const CellExplanation cell = explainCell(*model, {.site = 0, .head = 1, .query = 4, .key = 4});
        CHECK(cell.displayed == 0.75f);
        CHECK_FALSE(cell.remark.empty());
        model->setGate(0, 1, 0);
        const auto closed = model->capture(tokens, hooks);
        for (size_t query = 0; query < 5; ++query) CHECK(closed[2].values[(query * 2 + 1) * 8] == 0);
        model->setGate(0, 1, 1);
        model->applyChanges({}, tokens);
        CHECK(model->capture(tokens, hooks)[3].values == own[3].values);
    }
}

TEST_CASE("composed models: what is set by hand keeps to what the mask shows", "[session][gpu]") {
    TrainedModel model("mask=causal & window(2)");
    const std::vector<int> tokens{1, 3, 2, 5, 4};
    const auto rowOf = [&](const PatternChange& edit, size_t query) {
        model->applyChanges({{}, {edit}}, tokens);
        const auto pattern = model->capture(tokens, "blocks.1.attn.hook_pattern").front();
        const auto begin = pattern.values.begin() + static_cast<std::ptrdiff_t>(query * 5);
        return std::vector<float>(begin, begin + 5);
    };
    PatternChange edit{.site = 1, .head = 0};
    const std::vector<float> own = rowOf({.site = 1, .head = 1}, 4);
    edit.rows = {{4, {0.5f, 0, 0, 0.25f, 0.25f}}}; // what it gives to a token that is hidden goes to the others
    CHECK(rowOf(edit, 4) == std::vector<float>{0, 0, 0, 0.5f, 0.5f});
    edit.rows = {{4, {1}}}; // it sees none of what it is given
    CHECK(rowOf(edit, 4) == own);
    edit.kind = PatternChange::Kind::Uniform;
    CHECK(rowOf(edit, 4) == std::vector<float>{0, 0, 0, 0.5f, 0.5f});
    CHECK(rowOf(edit, 0) == std::vector<float>{1, 0, 0, 0, 0});
    edit.kind = PatternChange::Kind::Pin;
    edit.key = 2;
    CHECK(rowOf(edit, 4) == own);
    CHECK(rowOf(edit, 3) == std::vector<float>{0, 0, 1, 0, 0});
}

TEST_CASE("composed models: attention without a pattern says that none can be set", "[session][gpu]") {
    TrainedModel model("normaliser=aft, mask=causal");
    CHECK_THROWS_WITH(model->applyChanges({{}, {{.site = 0, .head = 0}}}, std::vector{1, 3}),
                      CONTAINS("the attention of L0 forms no pattern"));
}
