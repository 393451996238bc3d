#include "engine/inference/memory.h"

#include "engine/core/random_rows.h"
#include "engine/core/rng.h"
#include "engine/inference/beam_search.h"
#include "engine/inference/changes.h"
#include "engine/inference/language_model.h"
#include "engine/models/memory_source.h"
#include "engine/runtime/tensor_store.h"
#include "tests/inference/longer_model.h"
#include "tests/models/hollow_llama.h"
#include "tests/support/catch.h"
#include "tests/support/failing_vulkan.h"
#include "tests/support/farthest.h"

#include <cmath>
#include <iterator>
#include <sstream>
#include <utility>

using namespace attn;
using namespace attn::test;

namespace {

std::vector<int> tokensOf(int count, int vocabulary) {
    std::vector<int> tokens;
    for (int i = 0; i < count; ++i) tokens.push_back((i * i * 7 + 3 * i + 1) % vocabulary);
    return tokens;
}

std::vector<float> newestLogits(const LanguageModel& model) { return {model.logits().begin(), model.logits().end()}; }

/// What views show of the tokens in the cache.
std::vector<std::vector<float>> valuesShownBy(LanguageModel& model) {
    std::vector<std::vector<float>> shown{newestLogits(model), model.patterns().readoutRows().values};
    for (const PatternTile& tile : model.patterns().grid(64).tiles) shown.push_back(tile.values);
    shown.push_back(model.patterns().tile({.site = 1, .head = 1, .detailSize = 100}).values);
    return shown;
}

/// A decoder of linear attention and of full attention, with random weights.
std::unique_ptr<LanguageModel> runningModel() {
    auto description = std::make_shared<WeightSet::Model>();
    const auto layer = [](const char* spec) {
        return LayerAttention{
            .spec = AttentionSpec::parse(spec), .headWidth = 8, .queryKeyValueBias = true, .outputBias = true};
    };
    ModelSpec& config = description->config;
    config.name = "running";
    config.family = "attention-lab";
    config.tokens.vocabulary = 11;
    config.modelWidth = 16;
    config.context = 400;
    config.feedForward = {.width = 32};
    config.layers = {layer("heads=multi_head(2), normaliser=linear, mask=causal"),
                     layer("heads=multi_head(2), position=alibi, mask=causal")};
    auto weights = std::make_shared<WeightSet>();
    weights->model = description;
    const ModelGraph graph = buildForListing(description->config);
    for (const Node* node : storedParameters(*graph.graph)) {
        const Shape& shape = node->outputs.front().shape;
        auto& values = weights->values[node->name];
        values = gaussianRows(shape.rows(), shape.columns(), 0.3, streamSeed(7, node->name));
        if (node->name.find(".ln") != std::string::npos && node->name.ends_with(".w"))
            for (float& value : values) value += 1;
    }
    return std::make_unique<LanguageModel>(makeMemorySource(weights), LanguageModel::Options{});
}

} // namespace

TEST_CASE("memory: a cache that grows has the same bits as one that was large at first", "[inference][gpu]") {
    TemporaryFolder folders;
    const Changes uniform{.valueChanges = {},
                          .patterns = {{.site = 1, .head = 2, .kind = PatternChange::Kind::Uniform}}};
    for (const char* name : {"llama_gqa", "mistral"})
        for (const Changes& changes : {Changes(), uniform}) {
            CAPTURE(std::string(name), changes.patterns.size());
            const fs::path path = longerModel(folders.path() / std::to_string(changes.patterns.size()), name, 600);
            LanguageModel grown(openModelSource(path.string()), {.cacheRows = 64}),
                large(openModelSource(path.string()), {});
            CHECK(grown.capacity() == 600);
            CHECK(large.cacheRows() == 600);
            const std::vector<int> tokens = tokensOf(560, grown.info().vocabulary);
            for (LanguageModel* each : {&grown, &large}) each->setChanges(changes, TextInput{.tokens = tokens});
            const auto check = [&](size_t count, size_t written, int64_t rows) {
                INFO(count << " tokens");
                REQUIRE(grown.hold(std::span(tokens).first(count), written));
                large.truncate(0);
                REQUIRE(large.hold(std::span(tokens).first(count), written));
                CHECK(grown.cacheRows() == rows);
                CHECK((valuesShownBy(grown) == valuesShownBy(large)));
            };
            check(60, 0, 64);
            check(64, 2, 64);
            check(66, 4, 128); // one that is written makes it grow
            CHECK(grown.firstRun() > 60);
            check(300, 0, 512);
            check(560, 3, 600); // the context is the end
            const uint64_t changed = grown.roomChanges();
            grown.capture(std::vector(tokens.begin(), tokens.begin() + 560), "blocks.1.hook_resid_post");
            CHECK(grown.cacheRows() == 600);
            grown.capture(std::vector(tokens.begin(), tokens.begin() + 550), "blocks.1.hook_resid_post");
            CHECK(grown.roomChanges() == changed); // a room of the same size would drop all plans
            check(70, 0, 128);                     // a short text gives back what it does not need
            check(72, 2, 128);
            const uint64_t before = grown.roomChanges();
            check(560, 0, 600);
            check(72, 2, 128); // as much room as before, in other memory
            CHECK(grown.roomChanges() == before + 2);
        }
}

TEST_CASE("memory: after more than 4,096 tokens the logits are those of PyTorch", "[inference][gpu]") {
    TemporaryFolder folders;
    std::istringstream golden(readTextFile(kGoldenRoot / "long_text.txt", 1 << 20));
    std::unique_ptr<LanguageModel> model; // of the first rows without limit, then in a sliding window
    std::string opened;
    for (std::string line; std::getline(golden, line);) {
        std::istringstream fields(line);
        std::string name;
        size_t row = 0;
        fields >> name >> row;
        const std::vector<double> expected{std::istream_iterator<double>(fields), {}};
        CAPTURE(name, row);
        if (name != std::exchange(opened, name)) {
            model = std::make_unique<LanguageModel>(openModelSource(longerModel(folders.path(), name, 8192).string()),
                                                    LanguageModel::Options{.inspects = false});
            REQUIRE(model->capacity() == 8192);
        }
        const std::vector<int> tokens = tokensOf(static_cast<int>(row + 1), model->info().vocabulary);
        REQUIRE(model->hold(tokens));
        // bf16 weights are exact floats; sums of up to 4,500 terms in fp32 through two layers.
        CHECK(farthest(model->logits(), expected, 1) < 2e-4);
        CHECK(model->cacheRows() == (row < 4096 ? 4096 : 8192));
    }
    REQUIRE(model);
    REQUIRE(model->hold(tokensOf(100, model->info().vocabulary)));
    CHECK(model->cacheRows() == 4096);
}

TEST_CASE("memory: what would grow with the square of a long text is refused", "[inference][gpu]") {
    TemporaryFolder folders;
    LanguageModel model(openModelSource(longerModel(folders.path(), "llama_gqa", 8192).string()), {});
    const std::vector<int> tokens = tokensOf(4200, model.info().vocabulary);
    CHECK(model.wholeCapacity() == 4096);
    const auto refusal = [](const auto& work) {
        try {
            work();
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("nothing");
    };
    CHECK_THAT(refusal([&] { model.capture(tokens, "blocks.1.attn.hook_pattern"); }),
               CONTAINS("at most 4,096 tokens, and there are 4,200"));
    CHECK_THAT(refusal([&] { model.formedLogits(tokens); }), CONTAINS("takes at most 4,096 tokens, and there are"));
    CHECK(model.capture(tokens, "blocks.1.hook_resid_post").front().shape == Shape{4200, 40});
    // A thumbnail has a pixel for each 512 tokens at least, so that it shows all of them.
    REQUIRE(model.hold(tokens));
    const PatternGrid grid = model.patterns().grid(8);
    const PatternTile small = grid.at(1, 3), exact = model.patterns().tile({.site = 1, .head = 3, .detailSize = 9});
    CHECK(small.rows == 9);
    CHECK(small.values == exact.values);
    CHECK(exact.queryEnd >= 4200);
    // What was long does not make later captures large.
    model.capture(std::vector(tokens.begin(), tokens.begin() + 10), "blocks.1.attn.hook_pattern");
    CHECK(model.cacheRows() == 4096);
}

TEST_CASE("memory: the longest text is what the memory of the device allows", "[inference][gpu]") {
    TemporaryFolder folder;
    constexpr int64_t kContext = int64_t{1} << 30;
    REQUIRE(HollowLlama{.layers = 4, .width = 1024, .heads = 16, .vocabulary = 32, .context = kContext}.write(
        folder.path()));
    LanguageModel model(openModelSource(folder.path().string()), {});
    CHECK(model.info().cacheTokenBytes == 4 * 3 * 1024 * 4 + 4); // keys, values and queries of each layer, positions
    CHECK(model.cacheBytes(1000) == 1000 * static_cast<uint64_t>(model.info().cacheTokenBytes));
    CHECK(model.info().contextLength == model.capacity());
    CHECK(model.info().ownContext == kContext);
    CHECK(model.capacity() >= 4096);
    CHECK(model.capacity() <= 1 << 19); // 24 GiB
    if (model.capacity() < 1 << 19) CHECK_THAT(model.whyNoMore(), CONTAINS(" MiB on "));
    const LanguageModel shaders(openModelSource(folder.path().string()), {.device = {.kernels = Kernels::Shader}});
    if (shaders.device().traits().isSoftware) { // it ends their loops after 65,535 rounds
        CHECK(shaders.capacity() == 4096);
        CHECK_THAT(shaders.whyNoMore(), CONTAINS("shaders of software Vulkan"));
    }
    const std::vector<int> tokens(static_cast<size_t>(model.capacity()) + 1, 1);
    CHECK_THROWS_AS(model.hold(tokens), Error);
    CHECK(model.cacheRows() == 4096);
}

TEST_CASE("memory: a running state goes back to a copy of it", "[inference][gpu]") {
    const auto model = runningModel(), other = runningModel();
    const std::vector<int> tokens = tokensOf(120, 11);
    const auto check = [&](size_t count, size_t written, size_t firstRun) {
        INFO(count << " tokens, " << written << " written");
        REQUIRE(model->hold(std::span(tokens).first(count), written));
        CHECK(model->firstRun() == firstRun);
        other->truncate(0);
        REQUIRE(other->hold(std::span(tokens).first(count), written));
        CHECK(newestLogits(*model) == newestLogits(*other));
    };
    check(100, 0, 0);
    check(101, 1, 100); // a written one
    check(105, 5, 101);
    check(103, 3, 102); // undone: the last one that stays runs again for its logits
    check(104, 4, 103);
    check(100, 0, 99);
    check(103, 0, 96); // a longer text: the pieces of 64, 16 and 16 tokens are those of both
    check(40, 0, 0);   // its pieces are others
    check(120, 0, 0);
    REQUIRE(model->hold(tokens));
    // A run that is stopped may have written anything.
    CHECK_FALSE(model->feed(std::span(tokens).first(1), [] { return true; }));
    CHECK(model->tokens() == tokens);
    REQUIRE(model->feed(std::span(tokens).first(1)));
    CHECK(model->firstRun() == 120);
    other->truncate(0);
    REQUIRE(other->hold(tokens));
    REQUIRE(other->feed(std::span(tokens).first(1)));
    CHECK(newestLogits(*model) == newestLogits(*other));
    for (int i = 0; i < 60; ++i) REQUIRE(model->feed(std::span(tokens).first(1))); // more than there are copies
    REQUIRE(model->hold(tokens));
    other->truncate(0);
    REQUIRE(other->hold(tokens));
    CHECK(newestLogits(*model) == newestLogits(*other));
}

TEST_CASE("memory: the rows of a text that was left come back", "[inference][gpu]") {
    const auto device = Device::shared({});
    TensorStore store(*device);
    Memory memory(store);
    memory.allocate({{"a.cache_k", {12, 1, 3}}, {"cache_positions", {12}}}, 12);
    std::vector<int> tokens;
    const auto run = [&](const std::vector<int>& next, bool isAlone) { // a row of the cache is three times its token
        std::vector<float> rows = store.read("a.cache_k");
        for (const int token : next) {
            std::fill_n(rows.begin() + static_cast<std::ptrdiff_t>(3 * tokens.size()), 3, static_cast<float>(token));
            tokens.push_back(token);
        }
        store.writeDense("a.cache_k", rows);
        memory.keep(next.size());
        memory.endPiece(next.size(), isAlone);
    };
    const auto goTo = [&](const std::vector<int>& text, size_t common, size_t together = 2) {
        memory.leave(tokens, common);
        memory.drop(common);
        tokens.assign(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(memory.bringBack(text, together)));
        const std::vector<float> rows = store.read("a.cache_k");
        for (size_t i = 0; i < 3 * tokens.size(); ++i) CHECK(rows[i] == static_cast<float>(tokens[i / 3]));
        return tokens.size();
    };
    run({1, 2}, false);
    for (const int token : {3, 4, 5}) run({token}, true);
    CHECK(goTo({1, 2, 3, 6}, 3) == 3);
    run({6}, true);
    CHECK(goTo({1, 2, 3, 4, 5}, 3) == 5);
    CHECK(memory.written() == 3);
    CHECK(goTo({1, 2, 3, 6, 7}, 3) == 4);
    CHECK(goTo({1, 2, 7, 8}, 2) == 2);    // nothing is known of these
    CHECK(goTo({1, 2, 3, 4}, 2, 3) == 2); // a text in which the third token runs with others
    CHECK(goTo({1, 2, 3, 4}, 2) == 4);
    for (const int token : {10, 11, 12, 13, 14}) run({token}, true); // they need the room of what was left
    CHECK(goTo({1, 2, 3, 6}, 3) == 3);
    CHECK(goTo({1, 2, 3, 4, 5}, 3) == 5); // which still had room
    CHECK(goTo({1, 9}, 1) == 1);
    run({2}, false);
    CHECK(goTo({1, 2, 3}, 2) == 2); // what followed another beginning is gone
}

TEST_CASE("memory: a step that is cancelled has overwritten what was left", "[inference][gpu]") {
    const auto device = Device::shared({});
    TensorStore store(*device);
    Memory memory(store);
    memory.allocate({{"a.cache_k", {12, 1, 3}}, {"cache_positions", {12}}}, 12);
    memory.keep(2);
    memory.endPiece(2, false);
    const std::vector<int> text{1, 2, 3, 4, 5};
    const auto leave = [&](size_t running) { // rows of the last three tokens go to the end of the room
        for (size_t i = 0; i < 3; ++i) {
            memory.keep(1);
            memory.endPiece(1, true);
        }
        memory.leave(text, 3);
        memory.drop(3);
        memory.prepare(running);
        memory.drop(3);
        const size_t known = memory.bringBack(text, 2);
        memory.drop(2);
        return known;
    };
    CHECK(leave(6) == 5);
    CHECK(leave(7) == 3); // it reached the first of them
}

TEST_CASE("memory: a run that fails leaves the model as it was", "[inference][gpu]") {
    const auto llama = [] {
        return std::make_unique<LanguageModel>(openModelSource((kGoldenRoot / "llama_gqa").string()),
                                               LanguageModel::Options{});
    };
    for (const bool isRunning : {false, true}) {
        const auto model = isRunning ? runningModel() : llama(), other = isRunning ? runningModel() : llama();
        const std::vector<int> tokens = tokensOf(40, 11), text(tokens.begin(), tokens.begin() + 20);
        const auto rest = std::span(tokens).subspan(20);
        int all = 0;
        REQUIRE(other->hold(text));
        REQUIRE(other->feed(rest, [&] { return ++all == 0; }));
        for (const int calls : {0, all / 2, all - 1}) {
            CAPTURE(isRunning, calls);
            REQUIRE(model->hold(text));
            const std::vector<float> logits = newestLogits(*model);
            int left = calls;
            const auto fail = [&]() -> bool {
                if (left-- == 0) throw Error({.what = "the device is full", .where = {}, .hint = "wait"});
                return false;
            };
            CHECK_THROWS_AS(model->feed(rest, fail), Error);
            CHECK(model->tokens() == text);
            CHECK(newestLogits(*model) == logits);
            REQUIRE(model->feed(rest));
            other->truncate(0);
            REQUIRE(other->hold(text));
            REQUIRE(other->feed(rest));
            CHECK(newestLogits(*model) == newestLogits(*other));
        }
    }
}

TEST_CASE("memory: on a full device, a cache that finds no room keeps the text that it had", "[inference][gpu]") {
    const TemporaryFolder folders;
    const std::string path = longerModel(folders.path(), "llama_gqa", 600).string();
    LanguageModel model(openModelSource(path), {.cacheRows = 64}), other(openModelSource(path), {.cacheRows = 64});
    const std::vector<int> tokens = tokensOf(300, model.info().vocabulary), text(tokens.begin(), tokens.begin() + 60);
    REQUIRE(other.hold(text));
    const auto expected = valuesShownBy(other);
    REQUIRE(model.hold(text));
    const int enough = onFullDevice([&] { model.hold(tokens); },
                                    [&] {
                                        REQUIRE(model.hold(text)); // gives the room of the long text back
                                        CHECK(model.cacheRows() == 64);
                                        CHECK((valuesShownBy(model) == expected));
                                    });
    CHECK(enough > 7); // keys, values and queries of two layers, positions, and the plan of a step
    REQUIRE(other.hold(tokens));
    CHECK((valuesShownBy(model) == valuesShownBy(other)));
}

TEST_CASE("memory: beams have the scores of texts that are written token by token", "[inference][gpu]") {
    for (const char* path : {"builtin:stories", "builtin:numbers-de", "builtin:induction"}) {
        CAPTURE(std::string(path));
        LanguageModel model(openModelSource(path), {}), other(openModelSource(path), {});
        const bool isTranslation = model.info().readsSource;
        const std::vector<int> words = (isTranslation ? model.sourceTokenizer() : model.tokenizer())
                                           ->encode(isTranslation ? "three hundred" : "abcab")
                                           .ids;
        const std::vector<int> text =
            isTranslation ? std::vector<int>{static_cast<int>(model.config().startToken)} : words;
        for (LanguageModel* each : {&model, &other})
            each->setSides({.source = isTranslation ? words : std::vector<int>()});
        REQUIRE(model.hold(text));
        const BeamResult found = beamSearch(model, {.width = 5, .maxTokens = 12});
        REQUIRE(found.hypotheses.size() == 5);
        for (const Hypothesis& each : found.hypotheses) {
            other.truncate(0);
            REQUIRE(other.hold(text));
            double sum = 0;
            for (const int token : each.tokens) {
                const std::vector<float> logits = newestLogits(other);
                const auto largest = static_cast<double>(*std::ranges::max_element(logits));
                double all = 0;
                for (const float logit : logits) all += std::exp(static_cast<double>(logit) - largest);
                sum += static_cast<double>(logits[static_cast<size_t>(token)]) - (largest + std::log(all));
                if (static_cast<int>(other.tokens().size()) < other.capacity())
                    REQUIRE(other.feed(std::span(&token, 1)));
            }
            CHECK(sum == each.logProbability);
        }
    }
}
