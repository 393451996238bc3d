#include "engine/attention/block/block_flow.h"
#include "engine/attention/catalogue.h"
#include "engine/attention/execution.h"
#include "engine/attention/head_counts.h"
#include "engine/attention/mask/catalogue.h"
#include "engine/core/random_rows.h"
#include "engine/core/rng.h"
#include "engine/inference/changes.h"
#include "engine/inference/language_model.h"
#include "engine/models/memory_source.h"
#include "tests/support/catch.h"
#include "tests/support/farthest.h"

#include <array>

using namespace attn;

namespace {

constexpr int64_t kVocabulary = 11;

/// A small composed decoder with random weights.
std::unique_ptr<LanguageModel> modelOf(const AttentionSpec& spec, int64_t context, bool inspects = true,
                                       size_t layers = 2, float lengthening = 1) {
    const LayerAttention layer{
        .spec = spec, .headWidth = 16 / headCounts(spec).heads, .queryKeyValueBias = true, .outputBias = true};
    auto description = std::make_shared<WeightSet::Model>();
    ModelSpec& config = description->config;
    config.family = "attention-lab";
    config.tokens.vocabulary = kVocabulary;
    config.modelWidth = 16;
    config.context = context;
    config.feedForward = {.width = 32};
    config.layers = std::vector<LayerAttention>(layers, layer);
    auto weights = std::make_shared<WeightSet>();
    weights->model = description;
    const ModelGraph graph = buildForListing(description->config);
    for (const Node* node : storedParameters(*graph.graph)) {
        const Shape& shape = node->outputs.front().shape;
        auto& values = weights->values[node->name];
        values = gaussianRows(shape.rows(), shape.columns(), 0.3, streamSeed(7, node->name));
        if (node->name.find(".ln") != std::string::npos && node->name.ends_with(".w"))
            for (float& value : values) value += 1;
        if (node->name.ends_with("attn.W_Q") || node->name.ends_with("attn.W_K"))
            for (float& value : values) value *= lengthening;
    }
    return std::make_unique<LanguageModel>(
        makeMemorySource(weights),
        LanguageModel::Options{.device = {.softwareThreads = 0, .validation = true}, .inspects = inspects});
}

AttentionSpec specOf(const std::string& text) { return AttentionSpec::parse(text); }

std::vector<int> tokensOf(int count) {
    std::vector<int> tokens;
    for (int i = 0; i < count; ++i) tokens.push_back((i * i + 3 * i + 1) % static_cast<int>(kVocabulary));
    return tokens;
}

/// The logits after every token, by one run of the whole sequence: [T,V].
std::vector<float> wholeLogits(LanguageModel& model, const std::vector<int>& tokens) {
    return model.capture(tokens, "logits").front().values;
}

/// The largest difference of the newest logits and a row of those of a whole run, relative to the larger of 1 and the
/// row's values.
double distanceTo(const LanguageModel& model, const std::vector<float>& whole, size_t row) {
    constexpr auto kCount = static_cast<size_t>(kVocabulary);
    return test::farthest(model.logits(), std::span(whole).subspan(row * kCount, kCount), 1);
}

/// Sums of up to 70 terms in another order, in fp32 through two layers: 70 x 6e-8 x 2 and the norms' magnification.
constexpr double kRounding = 5e-5;

/// The catalogue's part in the nearest spec that can predict the next token; none where no such spec has the part.
std::optional<AttentionSpec> causalSpecWith(const Part& part) {
    AttentionSpec spec;
    setHeads(spec, {2, 2});
    spec.mask = MaskExpression::causal();
    if (part.slot == Slot::Mask)
        spec.mask = spec.mask & MaskExpression::parse(termText(part, initialValues(part)));
    else
        spec.set(part.slot, part.id, part.slot == Slot::Heads ? std::vector{2.0, 1.0} : initialValues(part));
    for (int round = 0; round < 8; ++round) {
        const auto problems = check(spec, {.isCausalTask = true, .headWidth = 8});
        if (problems.empty()) break;
        if (!problems.front().nearest) return {};
        spec = *problems.front().nearest;
    }
    return spec;
}

} // namespace

TEST_CASE("composed models: every part writes token by token what one run of the whole sequence says",
          "[inference][gpu]") {
    const std::vector<int> tokens = tokensOf(12);
    std::vector<std::pair<const Part*, AttentionSpec>> cases;
    for (const Part* part : partCatalogue()) {
        const std::optional<AttentionSpec> spec = causalSpecWith(*part);
        if (!spec) continue;
        cases.emplace_back(part, *spec);
        for (const Param& param : part->params)
            if (param.kind == Param::Kind::Toggle) {
                cases.push_back(cases.back());
                cases.back().second.setValue(part->slot, param.id, 1 - param.initial);
            } else if (param.id == "factors") {
                cases.push_back(cases.back());
                cases.back().second.setValue(part->slot, param.id, 3);
            }
    }
    CHECK(cases.size() > 75);
    for (const auto& [part, spec] : cases) {
        INFO(nameOf(part->slot) << " " << part->id << ": " << spec.text());
        const auto model = modelOf(spec, 20, true, 1);
        CHECK(model->noCacheReason().empty() == (stepExecution(spec, 20, 8).kind != StepKind::Whole));
        CHECK(model->noCacheReason().empty() == !(part->readsLaterRows || (part->block && part->block->lastKey)));
        if (part->readsLaterRows) continue; // even a row of the whole run changes when tokens follow
        const std::vector<float> whole = wholeLogits(*model, tokens);
        model->truncate(0);
        REQUIRE(model->feed(std::span(tokens).first(6))); // five at once, as 4 and 1, and the newest
        CHECK(distanceTo(*model, whole, 5) <= kRounding);
        for (size_t at = 6; at < tokens.size(); ++at) {
            INFO("token " << at);
            REQUIRE(model->feed(std::span(tokens).subspan(at, 1)));
            CHECK(distanceTo(*model, whole, at) <= kRounding);
        }
    }
}

TEST_CASE("composed models: states hold long keys, token by token and several tokens at once", "[inference][gpu]") {
    const std::vector<int> tokens = tokensOf(80);
    for (const char* text :
         {"normaliser=linear", "normaliser=favor", "normaliser=rfa(unit = 0, sigma = 8)", "normaliser=rfa(gate = 1)",
          "normaliser=efficient_running", "normaliser=aft_simple", "normaliser=aft", "normaliser=aft_conv"}) {
        const bool inspects = text == std::string("normaliser=linear") || text == std::string("normaliser=favor");
        INFO(text);
        const auto model =
            modelOf(specOf(std::string("heads=multi_head(2), mask=causal, ") + text), 90, inspects, 1, 30);
        const std::vector<float> whole = wholeLogits(*model, tokens);
        for (const float logit : whole) REQUIRE(std::isfinite(logit));
        model->truncate(0);
        REQUIRE(model->feed(std::span(tokens).first(71)));
        CHECK(distanceTo(*model, whole, 70) <= 1e-2); // exponents of hundreds lose their last digits
        for (size_t at = 71; at < tokens.size(); ++at) {
            INFO("token " << at);
            REQUIRE(model->feed(std::span(tokens).subspan(at, 1)));
            CHECK(distanceTo(*model, whole, at) <= 1e-2);
        }
    }
}

TEST_CASE("composed models: parts that need all tokens at once say why they run the whole sequence", "[inference]") {
    const auto reasonOf = [](const char* text) {
        const StepExecution how = stepExecution(specOf(text), 64, 8);
        return std::pair(how.kind, how.reason);
    };
    CHECK(reasonOf("normaliser=linformer") ==
          std::pair(StepKind::Whole, std::string("every position contributes to every result of Linformer")));
    CHECK(reasonOf("mask=full").second == "the mask full shows tokens that come later");
    CHECK(reasonOf("heads=shared_query_key(2), normaliser=reformer, mask=causal").second ==
          "with Hash buckets (Reformer), later tokens decide what earlier ones see");
    CHECK(reasonOf("normaliser=routing, mask=causal").second ==
          "with Clusters (Routing Transformer), later tokens decide what earlier ones see");
    CHECK(reasonOf("mask=prefix(4)").first == StepKind::Whole);
    CHECK(reasonOf("mask=causal & prefix(4)").first == StepKind::Kernel); // its rule is that of causal
    CHECK(reasonOf("position=rope, mask=causal & window(9)").first == StepKind::Kernel);
    CHECK(stepExecution(specOf("mask=causal & window(9)"), 64, 16).rule ==
          AttentionRule{.scale = 0.25, .causal = true, .window = 9});
    CHECK(stepExecution(specOf("mask=causal & window(64)"), 64, 16).rule == AttentionRule{.scale = 0.25});
    CHECK(reasonOf("mask=strided(8)").first == StepKind::Cache);
    CHECK(reasonOf("position=alibi, mask=causal").first == StepKind::Cache);
    // The kernel adds what depends on the distance alone.
    CHECK(stepExecution(specOf("position=alibi, mask=causal"), 64, 16).rule == AttentionRule{.scale = 0.25});
    CHECK(stepExecution(specOf("position=t5, mask=causal & window(9)"), 64, 16).rule ==
          AttentionRule{.scale = 0.25, .causal = true, .window = 9});
    CHECK(!stepExecution(specOf("position=shaw, mask=causal"), 64, 16).rule);
    CHECK(reasonOf("normaliser=linear, mask=causal").first == StepKind::State);
    CHECK(reasonOf("mixer=fast_weights, mask=causal & window(64)").first == StepKind::State);
}

TEST_CASE("composed models: a text longer than the keys that a step reads first continues", "[inference][gpu]") {
    const std::vector<int> tokens = tokensOf(70);
    for (const char* text : {"heads=multi_head(2), position=t5(8, 20), mask=causal",
                             "heads=grouped_query(4, 2), position=shaw, mask=strided(7)",
                             "heads=multi_head(2), position=rope, normaliser=linear, mask=causal",
                             "heads=multi_head(2), position=rope, mask=causal & window(30)",
                             "heads=multi_head(2), memory=segments(16), position=transformer_xl, mask=causal"}) {
        INFO(text);
        const auto model = modelOf(specOf(text), 90, false);
        const std::vector<float> whole = wholeLogits(*model, tokens);
        model->truncate(0);
        REQUIRE(model->feed(std::span(tokens).first(62)));
        CHECK(distanceTo(*model, whole, 61) <= kRounding);
        for (size_t at = 62; at < tokens.size(); ++at) REQUIRE(model->feed(std::span(tokens).subspan(at, 1)));
        CHECK(distanceTo(*model, whole, 69) <= kRounding);
    }
}

TEST_CASE("composed models: what the fused kernel serves is drawn from the cache, and equals the formed path",
          "[inference][gpu]") {
    const std::vector<int> tokens = tokensOf(18);
    for (const char* text : {"heads=grouped_query(4, 2), position=rope, mask=causal & window(9)",
                             "heads=multi_head(2), score=dot(0.3), mask=causal & window(40)"}) {
        INFO(text);
        const auto model = modelOf(specOf(text), 30);
        REQUIRE(model->isCached());
        const CapturedHook pattern = model->capture(tokens, "blocks.1.attn.hook_pattern").front(); // [H,T,T]
        model->truncate(0);
        REQUIRE(model->feed(tokens));
        const PatternTile tile = model->patterns().tile({.site = 1, .head = 1});
        CHECK(model->patterns().onDevice({.site = 1, .head = 1}).tile.rows == 18);
        const std::span<const float> head = std::span(pattern.values).subspan(18 * 18, 18 * 18);
        for (size_t cell = 0; cell < head.size(); ++cell)
            CHECK(tile.values[cell] == Approx(head[cell]).margin(1e-6)); // sums of at most 18 terms
        CHECK(distanceTo(*model, model->formedLogits(model->input()), 17) <= kRounding);
    }
    // Parts before or after the kernel need steps of exact sizes. Gates apply to the heads that the output part gives.
    for (const char* text : {"heads=multi_head(2), output=talking, mask=causal",
                             "heads=multi_head(2), position=sinusoidal, mask=causal & window(5)"}) {
        INFO(text);
        const auto model = modelOf(specOf(text), 30);
        CHECK_FALSE(model->isCached());
        model->setGate(0, 1, 0.25f);
        REQUIRE(model->feed(tokens));
        CHECK(distanceTo(*model, model->formedLogits(model->input()), 17) <= kRounding);
    }
}

TEST_CASE("composed models: a text lacks no word of a tree, unless it is still written", "[inference][gpu]") {
    const auto encoder = modelOf(specOf("heads=multi_head(2), position=dependency_tree"), 16, false, 1);
    CHECK_THROWS_WITH(encoder->feed(tokensOf(7)), CONTAINS("the tree ends at token 8, but the text has 7 tokens"));
    CHECK(encoder->tokens().empty());
    CHECK(encoder->feed(tokensOf(8)));
    encoder->truncate(0);
    CHECK(encoder->feed(tokensOf(9)));
    const auto decoder = modelOf(specOf("heads=multi_head(2), position=dependency_tree, mask=causal"), 16, false, 1);
    CHECK(decoder->feed(tokensOf(3)));
}

TEST_CASE("composed models: every step reads the tree that comes with a text", "[inference][gpu]") {
    const auto decoder = modelOf(specOf("heads=multi_head(2), position=dependency_tree, mask=causal"), 16, false, 2);
    REQUIRE(decoder->noCacheReason().empty());
    const std::vector<int> tokens = tokensOf(12);
    decoder->setSides({.parents = {2, 4, 2, 0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}}); // of a text that continues
    REQUIRE(decoder->feed(std::span(tokens).first(3)));
    for (const int token : std::span(tokens).subspan(3)) REQUIRE(decoder->feed(std::array{token}));
    CHECK(distanceTo(*decoder, decoder->formedLogits(decoder->input()), 11) <= kRounding);
    const std::vector<float> own(decoder->logits().begin(), decoder->logits().end());
    decoder->setSides({.parents = {}});
    CHECK(decoder->tokens().empty());
    REQUIRE(decoder->feed(tokens));
    CHECK(distanceTo(*decoder, own, 0) > 100 * kRounding);
}

TEST_CASE("composed models: an encoder does not see the rows that fill up a run", "[inference][gpu]") {
    const auto model = modelOf(specOf("heads=multi_head(2), position=rope"), 30);
    CHECK(model->noCacheReason() == "in an encoder, every token changes those before it");
    REQUIRE(model->feed(tokensOf(11)));                                              // in 16 rows
    CHECK(distanceTo(*model, model->formedLogits(model->input()), 10) <= kRounding); // in 11 rows
}

TEST_CASE("composed models: a running state goes back by reading the text again", "[inference][gpu]") {
    const std::vector<int> tokens = tokensOf(12);
    for (const char* text :
         {"normaliser=linear, mask=causal", "normaliser=aft_simple, mask=causal", "position=alibi, mask=causal"}) {
        INFO(text);
        const auto model = modelOf(specOf(text), 20);
        const std::vector<float> whole = wholeLogits(*model, tokens);
        model->truncate(0);
        REQUIRE(model->feed(tokens));
        model->truncate(7);
        REQUIRE(model->feed(std::span(tokens).subspan(7, 2)));
        CHECK(model->tokens() == std::vector<int>(tokens.begin(), tokens.begin() + 9));
        CHECK(distanceTo(*model, whole, 8) <= kRounding);

        CHECK_FALSE(model->feed(std::span(tokens).subspan(9), [] { return true; }));
        CHECK(model->tokens().size() == 9);
        REQUIRE(model->feed(std::span(tokens).subspan(9)));
        CHECK(distanceTo(*model, whole, 11) <= kRounding);
    }
}

TEST_CASE("composed models: a step of linear attention is the same plan at every length", "[inference][gpu]") {
    const auto model = modelOf(specOf("position=rope, normaliser=linear, mask=causal"), 700, false);
    const std::vector<int> tokens = tokensOf(600);
    for (size_t at = 0; at < 3; ++at) REQUIRE(model->feed(std::span(tokens).subspan(at, 1)));
    const int64_t bytes = model->planBytes();
    for (size_t at = 3; at < 200; ++at) REQUIRE(model->feed(std::span(tokens).subspan(at, 1)));
    CHECK(model->planBytes() == bytes);
}

TEST_CASE("composed models: the newest rows of a step are those of the pattern of a whole run", "[inference][gpu]") {
    const std::vector<int> tokens = tokensOf(9);
    for (const char* text : {"heads=multi_head(2), normaliser=linear, mask=causal", "heads=multi_head(2), mask=causal",
                             "heads=multi_head(2), normaliser=rfa(16, 2, gate = 1), mask=causal",
                             "heads=multi_head(2), position=t5, mask=causal & window(3)"}) {
        INFO(text);
        const auto model = modelOf(specOf(text), 20);
        const std::vector<float> pattern = model->capture(tokens, "blocks.1.attn.hook_pattern").front().values;
        model->truncate(0);
        REQUIRE(model->feed(tokens));
        const ReadoutRows rows = model->patterns().readoutRows();
        const PatternTile tile = model->patterns().tile({.site = 1, .head = 1});
        for (size_t key = 0; key < 9; ++key) {
            CHECK(rows.values[3 * 9 + key] == Approx(pattern[9 * 9 + 8 * 9 + key]).margin(1e-5));
            CHECK(tile.at(8, static_cast<int>(key)) == Approx(pattern[9 * 9 + 8 * 9 + key]).margin(1e-5));
        }
    }
}

TEST_CASE("composed models: changes act on steps as on a run of the whole sequence", "[inference][gpu]") {
    const std::vector<int> tokens = tokensOf(9);
    for (const char* text : {"heads=multi_head(2), normaliser=linear, mask=causal", "heads=multi_head(2), mask=causal",
                             "heads=multi_head(2), normaliser=rfa(16, 2, gate = 1), mask=causal",
                             "heads=multi_head(2), position=alibi, mask=causal"}) {
        INFO(text);
        const auto model = modelOf(specOf(text), 20);
        const std::vector<float> plain = wholeLogits(*model, tokens);
        PatternChange pin{.site = 0, .head = 1, .kind = PatternChange::Kind::Pin, .key = 2};
        Changes changes{.valueChanges = {{.hook = "blocks.1.hook_mlp_out", .amount = 0.5f}}, .patterns = {pin}};
        changes.setGate(1, 0, 0.25f);
        model->setChanges(changes, tokens);
        const std::vector<float> whole = wholeLogits(*model, tokens);
        CHECK(whole != plain);
        model->truncate(0);
        REQUIRE(model->feed(std::span(tokens).first(5)));
        for (size_t at = 5; at < tokens.size(); ++at) REQUIRE(model->feed(std::span(tokens).subspan(at, 1)));
        CHECK(distanceTo(*model, whole, 8) <= kRounding);
    }
}

TEST_CASE("composed models: the formed path gives the logits of caches and states", "[inference][gpu]") {
    const std::vector<int> tokens = tokensOf(9);
    for (const char* text : {"normaliser=favor(16), mask=causal", "position=rope, mask=causal & window(4)"}) {
        INFO(text);
        const auto model = modelOf(specOf(text), 20);
        REQUIRE(model->feed(tokens));
        CHECK(distanceTo(*model, model->formedLogits(model->input()), 8) <= kRounding);
    }
}

TEST_CASE("composed models: with an outer and an inner decoder no pixel changes what predicts it or an earlier one",
          "[inference][gpu]") {
    constexpr size_t kRows = 3, kColumns = 4, kPixels = kRows * kColumns;
    const auto model = modelOf(
        specOf(
            "heads=multi_head(2), position=learned_2d(3, 4, 1), residual=axial(3, 4, 2, 1), mask=per_layer("
            "row(3, 4, 1) & (causal | ~global(1)), causal & column(3, 4, 1), causal & blocks(4), causal & blocks(4))"),
        1 + kPixels, true, 4);
    CHECK(model->noCacheReason() ==
          "with Outer and inner decoder, Axial Transformer, later tokens decide what earlier ones see");
    const std::vector<int> tokens = tokensOf(1 + kPixels);
    const std::vector<float> before = wholeLogits(*model, tokens);
    const auto rowOf = [](const std::vector<float>& logits, size_t t) {
        return std::span(logits).subspan(t * kVocabulary, kVocabulary);
    };
    for (size_t pixel = 0; pixel < kPixels; ++pixel) {
        std::vector<int> other = tokens;
        int& changed = other[pixel + 1];
        changed = (changed + 4) % static_cast<int>(kVocabulary);
        const std::vector<float> after = wholeLogits(*model, other);
        INFO("pixel " << pixel);
        for (size_t t = 0; t < kPixels; ++t) { // position t predicts pixel t
            INFO("position " << t);
            const double moved = test::farthest(rowOf(after, t), rowOf(before, t), 1);
            if (t <= pixel)
                CHECK(moved == 0);
            else // all later pixels of the row, and those of the rows below
                CHECK(moved > 1e-4);
        }
    }
}

TEST_CASE("composed models: a text that came in steps has the bits of one that came at once", "[inference][gpu]") {
    const std::vector<int> tokens = tokensOf(90);
    for (const char* text :
         {"heads=multi_head(2), normaliser=linear, mask=causal", "heads=multi_head(2), mask=causal",
          "heads=multi_head(2), position=rope, output=talking, mask=causal",
          "heads=grouped_query(4, 2), position=rope, mask=causal & window(9)", "position=t5(8, 20), mask=causal",
          "heads=multi_head(2), normaliser=aft(factors = 3), mask=causal", "normaliser=favor(16), mask=causal",
          "position=alibi, mask=causal"})
        for (const bool inspects : {true, false}) {
            INFO(text << (inspects ? ", with patterns" : ""));
            const auto model = modelOf(specOf(text), 100, inspects), other = modelOf(specOf(text), 100, inspects);
            for (const size_t length : {1, 2, 3, 4, 6, 5, 17, 18, 19, 40, 66, 65, 81, 90, 30}) {
                INFO(length << " tokens");
                REQUIRE(model->hold(std::span(tokens).first(length)));
                other->truncate(0);
                REQUIRE(other->feed(std::span(tokens).first(length)));
                CHECK(std::ranges::equal(model->logits(), other->logits()));
                if (inspects) CHECK(model->patterns().readoutRows().values == other->patterns().readoutRows().values);
            }
        }
}
