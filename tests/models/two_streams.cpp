#include "engine/inference/language_model.h"
#include "engine/inference/sampling.h"
#include "tests/models/golden_cases.h"
#include "tests/models/model_folder.h"
#include "tests/models/vision_folder.h"
#include "tests/support/farthest.h"

#include <algorithm>

// Models with an encoder and a decoder against PyTorch: tests/golden/README.md.

using namespace attn;
using namespace attn::test;

namespace {

LanguageModel opened(const std::string& name) {
    return {openModelSource((kGoldenRoot / name).string()), {.device = {.validation = true}}};
}

/// The most probable target of a source, token by token.
std::vector<int> written(LanguageModel& model, const std::vector<int>& source, size_t count) {
    model.truncate(0);
    model.setSides({.source = source});
    std::vector<int> tokens{static_cast<int>(model.config().startToken)};
    model.feed(tokens);
    while (tokens.size() <= count) {
        const auto logits = model.logits();
        tokens.push_back(static_cast<int>(std::ranges::max_element(logits) - logits.begin()));
        model.feed(std::span(tokens).last(1));
    }
    return {tokens.begin() + 1, tokens.end()};
}

} // namespace

TEST_CASE("two streams: logits, patterns and every hook on the device agree with PyTorch within 1e-4",
          "[models][gpu]") {
    const auto cases = goldenCases("two_stream_cases.json");
    REQUIRE(cases.size() == 7);
    for (const auto& [name, family, T, classes] : cases) {
        INFO(name);
        LanguageModel model = opened(name);
        CHECK(model.info().family == family);
        const Golden golden(name);
        std::string hooks;
        for (const std::string& hook : model.info().hooks)
            if (golden.contains(hook)) hooks += (hooks.empty() ? "" : ",") + hook;
        const auto captured = model.capture(
            TextInput{.tokens = golden.integers("tokens"), .source = golden.integers("source_tokens")}, hooks);
        for (const auto& hook : captured) {
            INFO(hook.name);
            CHECK(hook.shape.extents() == golden.shape(hook.name));
            // 1e-4: float32 in another order of summation; PyTorch's float32 differs by 6e-6.
            CHECK(farthest(golden.values(hook.name), hook.values) < 1e-4);
        }
        CHECK(static_cast<int>(captured.size()) == golden.hookCount() - 1); // all but three lists of tokens
    }
}

TEST_CASE("two streams: the most probable target is PyTorch's, and another source gives another", "[models][gpu]") {
    for (const std::string name : {"t5", "t5_gated", "mt5", "bart", "marian", "marian_two_tables"}) {
        INFO(name);
        LanguageModel model = opened(name);
        const Golden golden(name);
        const std::vector<int> source = golden.integers("source_tokens"), greedy = golden.integers("greedy");
        CHECK(written(model, source, greedy.size()) == greedy);
        const std::vector<float> before(model.logits().begin(), model.logits().end());
        std::vector<int> other = source;
        std::swap(other[1], other[5]);
        written(model, other, greedy.size());
        CHECK(farthest(before, {model.logits().begin(), model.logits().end()}) > 1e-4);
        CHECK(written(model, source, greedy.size()) == greedy);
    }
}

TEST_CASE("two streams: where the file does not say it, T5 ties its readout and mT5 does not", "[models]") {
    for (const bool isMt5 : {true, false}) {
        ModelFolder folder("mt5"); // whose readout differs from its embedding
        folder.edit("config.json", [&](nlohmann::json& config) {
            config.erase("tie_word_embeddings");
            config["model_type"] = isMt5 ? "mt5" : "t5";
        });
        const ModelSpec config = openModelSource(folder.path().string())->config();
        CHECK(config.tokenReadout().tiedEmbedding == !isMt5);
        CHECK((config.tokenReadout().scale == 1) == isMt5);
    }
}

TEST_CASE("two streams: tokens that come at once give what they give one by one", "[models][gpu]") {
    for (const std::string name : {"t5", "t5_gated", "mt5", "bart", "marian", "marian_two_tables"}) {
        INFO(name);
        LanguageModel model = opened(name);
        model.setSides({.source = Golden(name).integers("source_tokens")});
        const std::vector<int> target{0, 7, 11, 4, 22, 9, 3, 8, 15, 2, 6};
        for (const int token : target) model.feed({&token, 1});
        const std::vector<float> one(model.logits().begin(), model.logits().end());
        model.truncate(0);
        model.feed(target);
        CHECK(farthest(one, {model.logits().begin(), model.logits().end()}) < 1e-5);
    }
}

TEST_CASE("two streams: a model lists its streams, and its three kinds of sites", "[models]") {
    const auto source = openModelSource((kGoldenRoot / "t5_gated").string()); // three layers and one
    const ModelStructure structure = structureOf(source->config(), 64);
    REQUIRE(structure.streams.size() == 2);
    CHECK(structure.streams[0].name == "encoder");
    CHECK(structure.streams[1].name == "decoder");
    std::vector<std::string> names;
    for (const Site& site : structure.sites) names.push_back(site.name);
    CHECK(names == std::vector<std::string>{"encoder.0.attn", "encoder.1.attn", "encoder.2.attn", "decoder.0.attn",
                                            "decoder.0.cross_attn"});
    CHECK(structure.sites.back().queryStream == 1);
    CHECK(structure.sites.back().keyStream == 0);
    CHECK(siteAttention(source->config(), 2).spec.mask == MaskExpression());
    CHECK(siteAttention(source->config(), 3).spec.mask == MaskExpression::causal());
    CHECK(siteAttention(source->config(), 4).spec.id(Slot::Position) == "none");
}

TEST_CASE("two streams: a source is asked for where there is an encoder, and refused elsewhere", "[models][gpu]") {
    using Catch::Matchers::Contains;
    LanguageModel model = opened("bart"), plain = opened("gpt2");
    CHECK_THROWS_WITH(model.predict(TextInput{.tokens = {2, 5}}), Contains("reads a source, and none is given"));
    CHECK_THROWS_WITH(model.predict(TextInput{.tokens = {2}, .source = {5, 99}}),
                      Contains("token 99 of the source is outside the vocabulary of 41"));
    CHECK_THROWS_WITH(model.predict(TextInput{.tokens = {2}, .source = std::vector<int>(29, 5)}),
                      Contains("a source of 29 tokens does not fit: 28 are the most"));
    CHECK_THROWS_WITH(plain.predict(TextInput{.tokens = {2}, .source = {5}}), Contains("has no encoder"));
}
