#include "engine/inference/text_batch.h"

#include "engine/core/error.h"
#include "engine/inference/changes.h"
#include "engine/inference/language_model.h"
#include "engine/ops/paged_attention.h"
#include "engine/runtime/tensor_store.h"
#include "tests/inference/longer_model.h"
#include "tests/models/golden_cases.h"
#include "tests/support/failing_vulkan.h"
#include "tests/support/farthest.h"

#include <utility>

using namespace attn;
using namespace attn::test;

namespace {

std::vector<int> tokensOf(size_t count, int vocabulary, int seed = 0) {
    std::vector<int> tokens;
    for (int i = 0; i < static_cast<int>(count); ++i)
        tokens.push_back((i * i * 7 + (3 + seed) * i + 1 + seed) % vocabulary);
    return tokens;
}

std::unique_ptr<LanguageModel> goldenModel(const std::string& name) {
    return std::make_unique<LanguageModel>(openModelSource((kGoldenRoot / name).string()), LanguageModel::Options{});
}

/// The kernels of the processor, and the shaders.
std::vector<GpuExecutorOptions> kernelsOf(const LanguageModel& model) {
    std::vector<GpuExecutorOptions> all{{}};
    KernelTraits traits = model.device().kernelTraits();
    if (std::exchange(traits.usesHost, false)) all.push_back({.traits = traits});
    return all;
}

std::vector<float> logitsOf(const TextBatch& batch, int text) {
    return {batch.logits(text).begin(), batch.logits(text).end()};
}

} // namespace

TEST_CASE("text batch: texts of different lengths in the same steps have PyTorch's logits", "[inference][gpu]") {
    for (const GoldenCase& golden : goldenCases("cases.json")) {
        const Golden expected(golden.name);
        const std::vector<int> tokens = expected.integers("tokens");
        const std::vector<float> logits = expected.values("logits");
        const auto model = goldenModel(golden.name);
        REQUIRE(TextBatch::whyNot(*model).empty());
        for (const GpuExecutorOptions& options : kernelsOf(*model)) {
            INFO(golden.name << (options.traits ? ", shaders" : ""));
            TextBatch batch(*model, {}, options);
            std::vector<TextBatch::Next> next; // text n has the first n tokens at once, then the others one by one
            for (int text = 1; text < static_cast<int>(tokens.size()); text += 3) {
                batch.begin(text);
                next.push_back({text, {tokens.begin(), tokens.begin() + text}});
            }
            while (!next.empty()) {
                batch.feed(next);
                std::vector<TextBatch::Next> later;
                for (const auto& [text, unused] : next) {
                    const size_t length = batch.memory().length(text), width = logits.size() / tokens.size();
                    INFO("text " << text << " with " << length << " tokens");
                    // The tolerance of the logits of these models: fp32 sums of up to 128 terms through three layers.
                    CHECK(farthest(batch.logits(text), std::span(logits).subspan((length - 1) * width, width), 1) <
                          1e-4);
                    if (length < tokens.size()) later.push_back({text, {tokens[length]}});
                }
                next = std::move(later);
            }
        }
    }
}

TEST_CASE("text batch: texts over several pages have the logits that each has alone", "[inference][gpu]") {
    const TemporaryFolder folders;
    for (const char* name : {"llama_gqa", "mistral"}) {
        LanguageModel model(openModelSource(longerModel(folders.path(), name, 600).string()), {});
        const int vocabulary = model.info().vocabulary;
        const std::vector<size_t> lengths{31, 32, 33, 200, 1, 96};
        std::vector<std::vector<float>> alone;
        for (size_t text = 0; text < lengths.size(); ++text) {
            const std::vector<int> all = tokensOf(lengths[text] + 3, vocabulary, static_cast<int>(text));
            REQUIRE(model.hold(all, 3));
            alone.emplace_back(model.logits().begin(), model.logits().end());
        }
        const std::vector<int> held = model.tokens();
        for (const GpuExecutorOptions& options : kernelsOf(model)) {
            INFO(name << (options.traits ? ", shaders" : ""));
            TextBatch batch(model, {}, options); // the memory grows
            for (size_t written = 0; written <= 3; ++written) {
                std::vector<TextBatch::Next> next;
                for (size_t text = 0; text < lengths.size(); ++text) {
                    const int number = static_cast<int>(text);
                    const std::vector<int> all = tokensOf(lengths[text] + 3, vocabulary, number);
                    if (written == 0) batch.begin(number);
                    const auto begin =
                        all.begin() + static_cast<std::ptrdiff_t>(written == 0 ? 0 : lengths[text] + written - 1);
                    next.push_back(
                        {number, {begin, all.begin() + static_cast<std::ptrdiff_t>(lengths[text] + written)}});
                }
                batch.feed(next);
            }
            for (size_t text = 0; text < lengths.size(); ++text) {
                INFO("text " << text);
                // The same sums of up to 203 terms in fp32 in another order, through two layers.
                CHECK(farthest(batch.logits(static_cast<int>(text)), alone[text], 1) < 1e-4);
            }
        }
        CHECK(model.tokens() == held); // what the model holds stays
        REQUIRE(model.hold(held, 3));
        CHECK(std::vector<float>(model.logits().begin(), model.logits().end()) == alone.back());
    }
}

TEST_CASE("text batch: a text has the same bits whatever texts run beside it", "[inference][gpu]") {
    const TemporaryFolder folders;
    LanguageModel model(openModelSource(longerModel(folders.path(), "llama_gqa", 600).string()), {});
    if (!model.device().kernelTraits().usesHost) return; // only the kernels of the processor promise it
    const int vocabulary = model.info().vocabulary;
    const std::vector<int> text = tokensOf(77, vocabulary);
    const auto written = [&](int others) {
        TextBatch batch(model);
        std::vector<TextBatch::Next> next;
        for (int other = 1; other <= others; ++other) { // before it, so that its pages lie elsewhere
            batch.begin(other);
            next.push_back({other, tokensOf(static_cast<size_t>(5 * other), vocabulary, other)});
        }
        batch.begin(0);
        next.push_back({0, {text.begin(), text.begin() + 70}});
        batch.feed(next);
        std::vector<std::vector<float>> shown{logitsOf(batch, 0)};
        for (size_t i = 70; i < text.size(); ++i) {
            for (auto& [number, tokens] : next) tokens = {number == 0 ? text[i] : 3};
            batch.feed(next);
            shown.push_back(logitsOf(batch, 0));
        }
        return shown;
    };
    const auto alone = written(0);
    CHECK((written(1) == alone));
    CHECK((written(14) == alone));
    const auto inManyRows = written(40);
    REQUIRE(inManyRows.size() == alone.size());
    CHECK(inManyRows.front() == alone.front()); // the prompt has many rows, always
    for (size_t i = 0; i < alone.size(); ++i)
        CHECK(farthest(inManyRows[i], alone[i], 1) < 1e-5); // one product is summed in another order
}

TEST_CASE("text batch: texts share the pages of their beginning", "[inference][gpu]") {
    const TemporaryFolder folders;
    LanguageModel model(openModelSource(longerModel(folders.path(), "mistral", 600).string()), {});
    const int vocabulary = model.info().vocabulary;
    const auto rows = static_cast<size_t>(kPageRows);
    for (const size_t length : {rows - 1, rows, 2 * rows + 5}) {
        const std::vector<int> beginning = tokensOf(length, vocabulary);
        TextBatch batch(model, {.texts = 4, .tokens = rows});
        batch.begin(0);
        batch.feed(std::vector<TextBatch::Next>{{0, beginning}});
        const int64_t free = batch.memory().freePages();
        batch.copy(0, 1);
        INFO(length << " tokens");
        CHECK(batch.memory().freePages() == free - (length % rows > 0 ? 1 : 0));
        CHECK(logitsOf(batch, 1) == logitsOf(batch, 0));
        batch.feed(std::vector<TextBatch::Next>{{0, {5, 6}}, {1, {9, 2, 3}}});
        batch.begin(2); // the same as text 1, without sharing
        std::vector<int> all = beginning;
        all.insert(all.end(), {9, 2, 3});
        batch.feed(std::vector<TextBatch::Next>{{2, all}});
        CHECK(farthest(batch.logits(1), batch.logits(2), 1) < 1e-5); // the device may sum in other orders
        batch.drop(0);
        batch.feed(std::vector<TextBatch::Next>{{1, {4}}, {2, {4}}}); // pages that were shared are still there
        CHECK(farthest(batch.logits(1), batch.logits(2), 1) < 1e-5);
        batch.drop(1);
        batch.drop(2);
        CHECK(batch.memory().freePages() * kPageRows == batch.memory().rows());
    }
}

TEST_CASE("text batch: a text that is made shorter gives its pages back", "[inference][gpu]") {
    const auto device = Device::shared({});
    TensorStore store(*device);
    const auto rows = static_cast<size_t>(kPageRows);
    {
        PagedMemory memory(store, {{"a.pages_k", {kPageRows, 2}}}, 4);
        memory.begin(0);
        memory.keep(0, rows + 3);
        memory.copy(0, 1);
        const int64_t free = memory.freePages();
        memory.keep(1, 2 * rows);
        memory.shorten(1, rows + 3);
        CHECK(memory.length(1) == rows + 3);
        CHECK(memory.pages(1).size() == 2);
        memory.drop(0);
        memory.drop(1);
        CHECK(memory.freePages() * kPageRows == memory.rows());
        CHECK(memory.freePages() >= free);
    }
    CHECK(store.bytes() == 0);
}

TEST_CASE("text batch: a text that cannot be copied or continued takes no page", "[inference][gpu]") {
    const auto device = Device::shared({});
    TensorStore store(*device);
    const auto rows = static_cast<size_t>(kPageRows);
    const PagedMemory::States states{{"a.pages_k", {kPageRows, 2}}, {"a.pages_v", {kPageRows, 2}}};
    PagedMemory memory(store, states, 4);
    memory.begin(0);
    memory.keep(0, rows + 3);
    const int64_t free = memory.freePages();
    store.release(states); // so that the rows cannot be copied
    CHECK_THROWS_AS(memory.copy(0, 1), Error);
    CHECK_FALSE(memory.has(1));
    CHECK(memory.freePages() == free);
    store.reserve({{"a.pages_k", {memory.rows(), 2}}, {"a.pages_v", {memory.rows(), 2}}});
    memory.copy(0, 1);
    memory.begin(2);
    memory.keep(2, rows);
    REQUIRE(memory.freePages() == 0);
    const auto isAsBefore = [&] {
        CHECK_FALSE(memory.has(3));
        CHECK(memory.length(2) == rows);
        CHECK(memory.pages(2).size() == 1);
        CHECK(memory.freePages() * kPageRows == memory.rows() - 4 * kPageRows);
    };
    CHECK(onFullDevice([&] { memory.copy(1, 3); }, isAsBefore) == 2);
    memory.drop(3);
    // The pages that are free, and more than there will be after the memory has doubled.
    const size_t more = 9 * rows;
    CHECK(onFullDevice([&] { memory.keep(2, more); }, isAsBefore) > 0);
    CHECK(memory.length(2) == rows + more);
    for (const int text : {0, 1, 2}) memory.drop(text);
    CHECK(memory.freePages() * kPageRows == memory.rows());
}

TEST_CASE("text batch: texts continue after a copy that found no room", "[inference][gpu]") {
    const TemporaryFolder folders;
    LanguageModel model(openModelSource(longerModel(folders.path(), "llama_gqa", 600).string()), {});
    const int vocabulary = model.info().vocabulary;
    const std::vector<int> text = tokensOf(static_cast<size_t>(kPageRows) - 1, vocabulary);
    std::vector<std::vector<float>> expected;
    {
        TextBatch batch(model);
        batch.begin(0);
        for (const int token : text) {
            batch.feed(std::vector<TextBatch::Next>{{0, {token}}});
            expected.push_back(logitsOf(batch, 0));
        }
    }
    TextBatch batch(model); // of one page
    batch.begin(0);
    size_t fed = 0;
    const auto feed = [&] {
        REQUIRE(fed < text.size());
        batch.feed(std::vector<TextBatch::Next>{{0, {text[fed]}}});
        CHECK(farthest(batch.logits(0), expected[fed], 1) < 1e-5); // the device may sum in other orders
        ++fed;
    };
    feed();
    REQUIRE(batch.memory().freePages() == 0);
    const int enough = onFullDevice([&] { batch.copy(0, 1); },
                                    [&] {
                                        CHECK_FALSE(batch.memory().has(1));
                                        CHECK(batch.memory().freePages() == 0);
                                        feed();
                                    });
    CHECK(enough > 1); // several states find room one by one
    CHECK(logitsOf(batch, 1) == logitsOf(batch, 0));
    feed();
}

TEST_CASE("text batch: what cannot share steps is named, and what does not fit refused", "[inference][gpu]") {
    CHECK(TextBatch::whyNot(*goldenModel("bert")) == "in an encoder, every token changes those before it");
    CHECK(TextBatch::whyNot(*goldenModel("t5")) == "the fused kernel does not compute all of its attention");
    CHECK_THROWS_WITH(TextBatch(*goldenModel("t5")), CONTAINS("run one by one: the fused kernel does not"));
    const auto model = goldenModel("gpt2");
    const std::vector<int> tokens = tokensOf(49, model->info().vocabulary);
    {
        TextBatch batch(*model);
        batch.begin(0);
        CHECK_THROWS_WITH(batch.feed(std::vector<TextBatch::Next>{{0, tokens}}), CONTAINS("49 tokens do not fit"));
        CHECK_THROWS_WITH(batch.feed(std::vector<TextBatch::Next>{{0, {61}}}), CONTAINS("outside the vocabulary"));
        batch.feed(std::vector<TextBatch::Next>{{0, {tokens.begin(), tokens.begin() + 48}}});
        CHECK_THROWS_WITH(batch.feed(std::vector<TextBatch::Next>{{0, {1}}}), CONTAINS("49 tokens do not fit"));
    }
    const uint64_t bytes = model->store().bytes();
    {
        TextBatch batch(*model, {.texts = 4, .tokens = 48});
        batch.begin(0);
        batch.feed(std::vector<TextBatch::Next>{{0, {1, 2, 3}}});
        const std::vector<float> logits = logitsOf(batch, 0);
        model->setChanges({.valueChanges = {{.hook = "blocks.0.hook_resid_pre"}}}, TextInput{.tokens = {1}});
        CHECK_THROWS_WITH(batch.feed(std::vector<TextBatch::Next>{{0, {4}}}), CONTAINS("changed at some hooks"));
        CHECK(batch.memory().length(0) == 3);
        CHECK(logitsOf(batch, 0) == logits);
        model->setChanges({}, TextInput{.tokens = {1}});
    }
    CHECK(model->store().bytes() == bytes); // the memory is free again
    model->setGate(0, 1, 0);                // gates are obeyed
    const std::vector<int> text(tokens.begin(), tokens.begin() + 9);
    REQUIRE(model->hold(text));
    TextBatch batch(*model);
    batch.begin(0);
    batch.feed(std::vector<TextBatch::Next>{{0, text}});
    CHECK(farthest(batch.logits(0), model->logits(), 1) < 1e-5);
    model->setChanges({.valueChanges = {{.hook = "blocks.0.hook_resid_post"}}}, TextInput{.tokens = text});
    CHECK(TextBatch::whyNot(*model) == "its runs are changed at some hooks");
}
