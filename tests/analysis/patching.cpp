#include "engine/analysis/sweeps.h"
#include "engine/inference/hook_changes.h"
#include "engine/models/bundled.h"
#include "tests/analysis/golden_case.h"
#include "tests/session/trained_model.h"

// Patch sweeps of texts: every hook of every text model.

using namespace attn;
using namespace attn::test;
namespace fs = std::filesystem;

namespace {

std::unique_ptr<LanguageModel> opened(const std::string& path) {
    return std::make_unique<LanguageModel>(
        openModelSource(path), LanguageModel::Options{.device = {.softwareThreads = 0, .validation = true}});
}

/// Hooks without their block, each once; those outside the blocks as they are.
std::set<std::string> hookKinds(const LanguageModel& model) {
    std::set<std::string> kinds;
    const std::vector<std::string> blocks = model.info().structure.blocks();
    for (const std::string& hook : model.info().hooks) {
        const auto block =
            std::ranges::find_if(blocks, [&](const std::string& each) { return hook.starts_with(each + "."); });
        kinds.insert(block == blocks.end() ? hook : hook.substr(block->size() + 1));
    }
    return kinds;
}

/// Two texts that the model reads as equally many tokens, and not as the same; of a model that reads a source, two
/// sources of a target that has just begun.
struct Texts {
    std::string own, other;
    std::vector<int> ownTokens, otherTokens;
    std::vector<int> target{};

    Input input(const std::vector<int>& tokens) const {
        return target.empty() ? Input(tokens) : Input(TextInput{.tokens = target, .source = tokens});
    }
};
Texts texts(const LanguageModel& model, int count) {
    Texts texts;
    if (model.info().readsSource) texts.target = {static_cast<int>(model.config().startToken)};
    if (!model.tokenizer()) {
        for (int at = 0; at < count; ++at) {
            texts.ownTokens.push_back((3 + 2 * at) % model.info().vocabulary);
            texts.otherTokens.push_back((4 + 3 * at) % model.info().vocabulary);
        }
        texts.own = textOf(texts.ownTokens);
        texts.other = textOf(texts.otherTokens);
        return texts;
    }
    if (model.info().readsSource) {
        texts.own = model.info().name == "numbers-de" ? "three hundred twelve" : "the cat sat";
        texts.other = model.info().name == "numbers-de" ? "four hundred twelve" : "the sat cat";
        texts.ownTokens = sourceTokensOf(model, texts.own);
        texts.otherTokens = sourceTokensOf(model, texts.other);
        return texts;
    }
    texts.own = model.source().example();
    texts.other = {texts.own.rbegin(), texts.own.rend()};
    if (texts.own.empty()) texts = {.own = "the cat sat", .other = "the dog ran"}; // the folder has no example
    if (const std::string& name = model.info().name; name == "english" || name == "stories" || name == "masked")
        texts = {.own = "Lily had a dog. She", .other = "Lily had a cat. She"};
    if (model.info().writtenPicture) texts = {.own = "triangle 0 1 2 3", .other = "circle 3 2 1 0"};
    if (model.info().family == "roberta") texts = {.own = "the cat sat", .other = "the cat bat"}; // with its merges
    texts.ownTokens = tokensOf(model, texts.own);
    texts.otherTokens = tokensOf(model, texts.other);
    return texts;
}

std::shared_ptr<PatchSweep> swept(LanguageModel& model, const Texts& texts, const std::string& hook) {
    PatchSweepAnalysis analysis;
    analysis.hook = hook;
    analysis.text = texts.other;
    const HookChanges before = model.hookChanges();
    auto result = std::static_pointer_cast<PatchSweep>(analysis.run(model, {.input = texts.input(texts.ownTokens)}));
    model.setHookChanges(before);
    return result;
}

/// Every hook gives finite numbers of the right shape or a refusal that names the hooks that can be patched.
void checkHooks(LanguageModel& model, int count) {
    const Texts both = texts(model, count);
    REQUIRE(both.ownTokens.size() == both.otherTokens.size());
    REQUIRE(both.ownTokens != both.otherTokens);
    const Input own = both.input(both.ownTokens), other = both.input(both.otherTokens);
    const size_t rows = both.ownTokens.size() + both.target.size();
    const std::vector<std::string> possible = patchableHooks(model);
    CHECK(std::ranges::find(possible, "hook_resid_pre") != possible.end());
    for (const std::string& hook : hookKinds(model)) {
        INFO(hook);
        if (std::ranges::find(possible, hook) != possible.end()) {
            const auto found = swept(model, both, hook);
            const size_t cells = found->sites.size() * rows;
            REQUIRE(found->logits.size() == cells);
            REQUIRE(found->effects.size() == cells);
            for (size_t cell = 0; cell < cells; ++cell) {
                CHECK(std::isfinite(found->logits[cell]) == (found->rows[cell] >= 0));
                CHECK(std::isfinite(found->effects[cell]) == (found->rows[cell] >= 0));
            }
            continue;
        }
        try {
            swept(model, both, hook);
            FAIL("patched");
        } catch (const Error& error) {
            for (const std::string& name : possible) CHECK(error.hint().find(name) != std::string::npos);
        }
    }
    // All tokens of the first stream make the run the other one.
    const std::vector<float> before = model.predict(own), there = model.predict(other);
    const std::string first = model.info().site(0).inBlock("hook_resid_pre");
    model.applyChanges({{{.kind = ValueChange::Kind::Patch, .hook = first, .text = both.other}}, {}}, own);
    const std::vector<float> replaced = model.predict(own);
    CHECK(farthest(replaced, there) < 1e-4); // 1e-4: the same numbers by kernels of another length
    CHECK(farthest(before, there) > 1e-3);
    model.applyChanges({}, own);
}

} // namespace

TEST_CASE("patch sweep: every hook of every bundled text model gives numbers or a refusal", "[analysis][gpu]") {
    std::vector<std::string> paths{"builtin:induction"};
    for (const BundledModel& each : bundledModels())
        if (axisOfModel(each.path) != AxisKind::Patches) paths.push_back(each.path);
    CHECK(paths.size() >= 5);
    for (const std::string& path : paths) {
        INFO(path);
        const auto model = opened(path);
        checkHooks(*model, 5);
    }
}

TEST_CASE("patch sweep: every hook of every text family gives numbers or a refusal", "[analysis][gpu]") {
    for (const auto& folder : fs::directory_iterator(fs::path(ATTN_TEST_DIR) / "golden")) {
        if (!fs::exists(folder.path() / "config.json") || axisOfModel(folder.path().string()) == AxisKind::Patches)
            continue;
        INFO(folder.path().string());
        const auto model = opened(folder.path().string());
        if (model->info().structure.readouts.empty()) continue; // an encoder without its head predicts nothing
        // 3: as many as a pattern of three tokens has rows and columns.
        checkHooks(*model, 3);
    }
}

TEST_CASE("patch sweep: every hook of composed models gives numbers or a refusal", "[analysis][gpu]") {
    const char* attention =
        GENERATE("position=alibi, mask=causal", "position=rope, normaliser=linear, mask=causal",
                 "heads=multi_query(2), position=transformer_xl, mask=causal; normaliser=aft, mask=causal");
    INFO(attention);
    TrainedModel model(attention);
    CHECK(model->tokens().empty());
    checkHooks(*model, 4);
}

TEST_CASE("patch sweep: a query's row of the pattern is taken for all heads at once", "[analysis][gpu]") {
    const int count = GENERATE(3, 7);
    INFO(count);
    const auto model = opened((fs::path(ATTN_TEST_DIR) / "golden" / "llama_gqa").string());
    const Texts both = texts(*model, count);
    const auto& [own, other] = std::tie(both.ownTokens, both.otherTokens);
    const auto size = static_cast<size_t>(count);
    const auto found = swept(*model, both, "attn.hook_pattern");
    for (int layer = 0; layer < model->info().layers; ++layer) {
        const std::string hook = "blocks." + std::to_string(layer) + ".attn.hook_pattern";
        const std::vector<float> pattern = model->capture(other, hook).front().values; // [H,T,T]
        for (size_t token = 0; token < size; ++token) {
            Changes edits;
            for (int head = 0; head < model->info().heads; ++head) {
                const auto row =
                    pattern.begin() + static_cast<std::ptrdiff_t>((static_cast<size_t>(head) * size + token) * size);
                PatternChange edit{.site = layer, .head = head};
                edit.rows[static_cast<int>(token)] = {row, row + count};
                edits.patterns.push_back(std::move(edit));
            }
            model->applyChanges(edits, own);
            INFO("layer " << layer << ", token " << token);
            CHECK(found->logits[static_cast<size_t>(layer) * size + token] ==
                  Approx(logitOf(found->target, model->predict(own))).margin(1e-4));
            model->applyChanges({}, own);
        }
    }
    // The first token sees itself alone in both runs.
    for (int layer = 0; layer < model->info().layers; ++layer)
        CHECK(std::abs(found->effects[static_cast<size_t>(layer) * size]) < 1e-3);
}

TEST_CASE("patch sweep: runs between which there is no gap are refused", "[analysis][gpu]") {
    const auto opening = opened("builtin:english");
    LanguageModel& model = *opening;
    const std::string text = "Lily had a dog. She";
    const Input input = tokensOf(model, text);
    PatchSweepAnalysis analysis;
    analysis.text = text;
    CHECK_THROWS_WITH(analysis.run(model, {.input = input}), Catch::Matchers::Contains("both texts are the same"));
    analysis.text = "Lily had a dog. She went";
    CHECK_THROWS_WITH(analysis.run(model, {.input = input}),
                      Catch::Matchers::Contains("the prompt with its continuation has"));
    analysis.text = "Lily had a cat. She";
    CHECK_NOTHROW(analysis.run(model, {.input = input}));
}

TEST_CASE("patch effects: two logits have a gap unless they are the same number", "[analysis]") {
    PatchEffects effects;
    effects.own = effects.other = 2;
    CHECK_FALSE(effects.hasGap());
    effects.other = 3;
    CHECK(effects.hasGap());
    CHECK(effects.shareOf(2.5) == Approx(0.5));
}
