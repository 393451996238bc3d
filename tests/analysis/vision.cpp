#include "engine/analysis/head_circuits.h"
#include "engine/analysis/input_attribution.h"
#include "engine/analysis/logit_attribution.h"
#include "engine/analysis/logit_lens.h"
#include "engine/analysis/sweeps.h"
#include "engine/analysis/weighted_attention.h"
#include "engine/models/patch_stream.h"
#include "tests/analysis/golden_case.h"
#include "tests/analysis/vision_golden.h"

// Lenses and valueChanges of vision models against PyTorch: tests/golden/vision_analysis.py.

using namespace attn;
using namespace attn::test;

namespace {

constexpr int kLayer = 1, kHead = 2, kToken = 6, kKey = 3;
constexpr const char* kModels[] = {"vit", "deit", "dinov2_registers", "timm_vit", "timm_registers"};
constexpr const char* kSomePicture = "the other picture";

struct VisionCase : GoldenPicture {
    explicit VisionCase(const std::string& name)
        : GoldenPicture(name), golden(name, "analysis.safetensors"), others(patchesOf(golden.values("other_pixels"))) {}

    template <class Result> std::shared_ptr<Result> run(const Analysis& analysis) {
        return std::static_pointer_cast<Result>(analysis.run(model, {.input = patches, .other = others}));
    }
    std::vector<float> changed(const Changes& edits) {
        model.applyChanges(edits, patches, others);
        std::vector<float> logits = model.predict(patches);
        model.applyChanges({}, {}, {});
        return logits;
    }

    Golden golden;
    std::vector<float> others;
};

std::string hookOf(int layer, const char* end) { return "blocks." + std::to_string(layer) + "." + end; }

} // namespace

TEST_CASE("vision goldens: classes by layer agree with PyTorch, also of single tokens", "[analysis][vision][gpu]") {
    VisionCase vision(GENERATE(from_range(std::begin(kModels), std::end(kModels))));
    LogitLensAnalysis analysis;
    const int classes = vision.model.info().classes;
    analysis.finals = classes;
    const auto lens = vision.run<LogitLens>(analysis);
    // The probabilities of all classes in a row, by class.
    const auto rowOf = [&](const LogitLens::Stage& stage, int row) {
        std::vector<float> shares(static_cast<size_t>(classes));
        for (int at = 0; at < classes; ++at)
            shares[static_cast<size_t>(lens->final[static_cast<size_t>(at)])] =
                stage.finalProbability[static_cast<size_t>(row * classes + at)];
        return shares;
    };
    REQUIRE(lens->stages.size() == 3);
    for (int stage = 0; stage < 3; ++stage) {
        const auto& found = lens->stages[static_cast<size_t>(stage)];
        CHECK(found.layer == stage - 1);
        CHECK(farthest(rowOf(found, 0), vision.golden.values("lens." + std::to_string(stage))) < 1e-4);
        const std::string tokens = "lens.tokens." + std::to_string(stage);
        CHECK((found.rows == 1) == !vision.golden.contains(tokens));
        std::vector<float> byToken;
        for (int row = 1; row < found.rows; ++row) {
            const std::vector<float> shares = rowOf(found, row);
            byToken.insert(byToken.end(), shares.begin(), shares.end());
        }
        if (vision.golden.contains(tokens)) CHECK(farthest(byToken, vision.golden.values(tokens)) < 1e-4);
        // What is said of a row follows from its probabilities.
        const std::vector<float> whole = rowOf(found, 0);
        double entropy = 0;
        for (const float share : whole) entropy -= static_cast<double>(share) * std::log(share);
        CHECK(found.entropy[0] == Approx(entropy).margin(1e-5));
        CHECK(found.probabilities[0] == std::ranges::max(whole));
        CHECK(whole[static_cast<size_t>(found.ids[0])] == found.probabilities[0]);
    }
    // The last stage is what the model says.
    CHECK(farthest(rowOf(lens->stages.back(), 0), probabilitiesOf(vision.model.predict(vision.patches))) < 1e-6);
    CHECK(lens->stages.back().finalRank[0] == 0);
}

TEST_CASE("weighted attention: of a picture, it follows from the model's values and W_O", "[analysis][vision][gpu]") {
    VisionCase vision("vit");
    WeightedAttentionAnalysis analysis;
    analysis.site = 1;
    analysis.head = 2;
    const auto found = vision.run<WeightedAttention>(analysis);
    const auto captured =
        vision.model.capture(vision.patches, hookOf(1, "attn.hook_v") + "," + hookOf(1, "attn.hook_pattern"));
    const auto valueOf = [&](const char* end) {
        return *std::ranges::find_if(captured, [&](const CapturedHook& hook) { return hook.name.ends_with(end); });
    };
    const CapturedHook v = valueOf("hook_v"), pattern = valueOf("hook_pattern");        // [T,H,D] and [H,T,T]
    const std::vector<float> output = vision.model.store().read(hookOf(1, "attn.W_O")); // [C,C]
    const auto T = static_cast<size_t>(v.shape[0]), H = static_cast<size_t>(v.shape[1]),
               D = static_cast<size_t>(v.shape[2]);
    REQUIRE(found->queries == static_cast<int>(T));
    for (size_t key = 0; key < T; ++key) {
        double squares = 0;
        for (size_t row = 0; row < H * D; ++row) {
            double sum = 0;
            for (size_t i = 0; i < D; ++i)
                sum += static_cast<double>(output[row * H * D + 2 * D + i]) *
                       static_cast<double>(v.values[(key * H + 2) * D + i]);
            squares += sum * sum;
        }
        CHECK(found->outputNorms[key] == Approx(std::sqrt(squares)).margin(1e-4));
        for (size_t query = 0; query < T; ++query)
            CHECK(found->normWeighted[query * T + key] ==
                  Approx(std::sqrt(squares) * static_cast<double>(pattern.values[(2 * T + query) * T + key]))
                      .margin(1e-4));
    }
}

TEST_CASE("composition: heads of a picture read from each other as their matrices say", "[analysis][vision][gpu]") {
    VisionCase vision("vit");
    const auto found = vision.run<CompositionScores>(CompositionScoresAnalysis{});
    const auto width = static_cast<size_t>(vision.model.info().modelWidth), D = width / 3;
    using Matrix = std::vector<double>; // [C,C]
    // The sum over the features of a head of left[i, feature] right[feature, j].
    const auto product = [&](int layer, int head, const char* left, bool isOutput, const char* right) {
        const std::vector<float> a = vision.model.store().read(hookOf(layer, left)),
                                 b = vision.model.store().read(hookOf(layer, right));
        Matrix result(width * width, 0);
        for (size_t feature = static_cast<size_t>(head) * D; feature < (static_cast<size_t>(head) + 1) * D; ++feature)
            for (size_t i = 0; i < width; ++i)
                for (size_t j = 0; j < width; ++j)
                    result[i * width + j] +=
                        static_cast<double>(isOutput ? a[i * width + feature] : a[feature * width + i]) *
                        static_cast<double>(b[feature * width + j]);
        return result;
    };
    const auto norm = [](const Matrix& m) { return std::sqrt(std::inner_product(m.begin(), m.end(), m.begin(), 0.0)); };
    const auto share = [&](const Matrix& reader, bool isTransposed, const Matrix& writer) {
        Matrix both(width * width, 0);
        for (size_t i = 0; i < width; ++i)
            for (size_t k = 0; k < width; ++k)
                for (size_t j = 0; j < width; ++j)
                    both[i * width + j] += reader[isTransposed ? k * width + i : i * width + k] * writer[k * width + j];
        return norm(both) / (norm(reader) * norm(writer));
    };
    using Kind = CompositionScores::Kind;
    const Matrix writer = product(0, 1, "attn.W_O", true, "attn.W_V"),
                 reads = product(1, 2, "attn.W_Q", false, "attn.W_K"),
                 moves = product(1, 2, "attn.W_O", true, "attn.W_V");
    CHECK(found->at(Kind::Query, 1, 2, 0, 1) == Approx(share(reads, true, writer)).margin(1e-4));
    CHECK(found->at(Kind::Key, 1, 2, 0, 1) == Approx(share(reads, false, writer)).margin(1e-4));
    CHECK(found->at(Kind::Value, 1, 2, 0, 1) == Approx(share(moves, false, writer)).margin(1e-4));
    VisionCase merges("swin");
    CHECK_THROWS_WITH(merges.run<CompositionScores>(CompositionScoresAnalysis{}), CONTAINS("merges its tokens"));
}

TEST_CASE("vision goldens: contributions to a class agree with PyTorch and sum to its logit",
          "[analysis][vision][gpu]") {
    for (const char* name : kModels) {
        INFO(name);
        VisionCase vision(name);
        const auto found = vision.run<LogitAttribution>(LogitAttributionAnalysis{});
        double sum = 0;
        size_t compared = 0;
        using Kind = LogitAttribution::Kind;
        for (const auto& part : found->components) {
            sum += static_cast<double>(part.value);
            const std::string at = std::to_string(part.layer);
            const std::string expected = part.kind == Kind::Embedding  ? "embed"
                                         : part.kind == Kind::Position ? "position"
                                         : part.kind == Kind::Head     ? "head." + at + "." + std::to_string(part.head)
                                         : part.kind == Kind::AttentionBias ? "bias." + at
                                         : part.kind == Kind::FeedForward   ? "mlp." + at
                                         : part.kind == Kind::Bias          ? "final"
                                                                            : "";
            INFO(part.name);
            if (part.kind == Kind::Rest) {
                CHECK(std::abs(part.value) < 1e-4);
                continue;
            }
            REQUIRE_FALSE(expected.empty());
            CHECK(std::abs(part.value - vision.golden.values("attribution." + expected).front()) < 1e-4);
            ++compared;
        }
        CHECK(compared == 2 + 2 * 5 + 1); // two layers of three heads, a bias and an MLP
        CHECK(std::abs(sum - static_cast<double>(found->logit)) < 1e-4);
        CHECK(std::abs(found->logit - vision.model.predict(vision.patches)[static_cast<size_t>(found->target.token)]) <
              1e-5);
    }
}

TEST_CASE("vision: contributions sum to the logit of models that merge, pool or compose", "[analysis][vision][gpu]") {
    const auto check = [](GoldenPicture picture) {
        const auto result = LogitAttributionAnalysis{}.run(picture.model, {.input = picture.patches});
        const auto& found = static_cast<const LogitAttribution&>(*result);
        double sum = 0;
        for (const auto& part : found.components) sum += static_cast<double>(part.value);
        CHECK(std::abs(sum - static_cast<double>(found.logit)) < 1e-4);
        CHECK(found.components.size() > 3);
        const auto lens = LogitLensAnalysis{}.run(picture.model, {.input = picture.patches});
        CHECK_FALSE(static_cast<const LogitLens&>(*lens).stages.empty());
    };
    check(GoldenPicture("swin"));
    check(GoldenPicture("swin_padded"));
    check(GoldenPicture("vit", poolTokens));
}

TEST_CASE("vision goldens: gradients of patches agree with PyTorch and add up", "[analysis][vision][gpu]") {
    VisionCase vision(GENERATE(from_range(std::begin(kModels), std::end(kModels))));
    InputAttributionAnalysis asked;
    asked.steps = asked.mostSteps = 16; // as many nodes as the golden values have
    const auto found = vision.run<InputAttribution>(asked);
    CHECK(found->target.token == vision.golden.integers("class").front());
    CHECK(farthest(found->gradientTimesInput, vision.golden.values("gradient_times_input")) < 1e-4);
    CHECK(farthest(found->integratedGradients, vision.golden.values("integrated_gradients")) < 1e-4);
    CHECK(std::abs(found->baselineLogit - vision.golden.values("baseline").front()) < 1e-4);
    asked.steps = asked.mostSteps = 64;
    const auto fine = vision.run<InputAttribution>(asked);
    const double sum = std::accumulate(fine->integratedGradients.begin(), fine->integratedGradients.end(), 0.0);
    CHECK(sum == Approx(static_cast<double>(fine->logit - fine->baselineLogit)).margin(1e-3));
}

TEST_CASE("vision goldens: sweeps of heads, MLPs and patches agree with PyTorch", "[analysis][vision][gpu]") {
    VisionCase vision(GENERATE(from_range(std::begin(kModels), std::end(kModels))));
    const auto effects = vision.run<AblationSweep>(AblationSweepAnalysis{});
    CHECK(farthest(effects->headEffects, vision.golden.values("effect.heads")) < 1e-4);
    CHECK(farthest(effects->mlpEffects, vision.golden.values("effect.mlps")) < 1e-4);
    vision.model.setHookChanges({});

    const auto sweep = vision.run<PatchSweep>(PatchSweepAnalysis{});
    vision.model.setHookChanges({});
    CHECK(farthest(vision.model.predict(vision.others), vision.golden.values("other.logits")) < 1e-4);
    const std::vector<float> logits = vision.golden.values("patched");
    const auto classes = static_cast<size_t>(vision.model.info().classes);
    REQUIRE(logits.size() == sweep->effects.size() * classes);
    for (size_t at = 0; at < sweep->effects.size(); ++at) {
        const double logit = logitOf(sweep->target, std::span(logits).subspan(at * classes, classes));
        const double share = (logit - static_cast<double>(sweep->own)) /
                             (static_cast<double>(sweep->other) - static_cast<double>(sweep->own));
        const double way = std::abs(static_cast<double>(sweep->other) - static_cast<double>(sweep->own));
        CHECK(std::abs(static_cast<double>(sweep->effects[at]) - share) * way < 1e-4);
    }
}

TEST_CASE("vision goldens: patching of models that merge tokens in windows agrees with PyTorch and with single changes",
          "[analysis][vision][gpu]") {
    VisionCase vision(GENERATE("swin", "swin_padded"));
    const auto sweep = vision.run<PatchSweep>(PatchSweepAnalysis{});
    const ImageSize grid = vision.model.info().grid;
    REQUIRE(sweep->tokens == grid.area());
    const auto classes = static_cast<size_t>(vision.model.info().classes);
    for (int layer = 0; layer < static_cast<int>(sweep->sites.size()); ++layer) {
        INFO("layer " << layer);
        const int64_t side = layer < 2 ? 1 : 2; // patches of a token
        const std::vector<float> logits = vision.golden.values("patched." + std::to_string(layer));
        for (int token = 0; token < sweep->tokens; ++token) {
            const int64_t row = token / grid.width / side, column = token % grid.width / side;
            const int64_t own = row * ((grid.width + side - 1) / side) + column;
            REQUIRE(sweep->rowOf(layer, token) == own);
            const double expected =
                logitOf(sweep->target, std::span(logits).subspan(static_cast<size_t>(own) * classes, classes));
            const auto cell = static_cast<size_t>(layer * sweep->tokens + token);
            CHECK(std::abs(static_cast<double>(sweep->logits[cell]) - expected) < 1e-4);
            CHECK(sweep->effects[cell] * (sweep->other - sweep->own) ==
                  Approx(sweep->logits[cell] - sweep->own).margin(1e-5));
        }
    }
    vision.model.setHookChanges({});
    for (const auto& [layer, token] : {std::pair(0, 20), std::pair(3, 20)}) {
        const std::vector<float> logits = vision.changed({{{.kind = ValueChange::Kind::Patch,
                                                            .hook = hookOf(layer, "hook_resid_pre"),
                                                            .position = sweep->rowOf(layer, token),
                                                            .text = kSomePicture}},
                                                          {}});
        CHECK(sweep->logits[static_cast<size_t>(layer * sweep->tokens + token)] ==
              Approx(logitOf(sweep->target, logits)).margin(1e-5));
    }
}

TEST_CASE("vision: only what differs between two pictures can be patched", "[analysis][vision][gpu]") {
    for (const char* name : {"deit", "swin", "swin_padded"}) {
        INFO(name);
        VisionCase vision(name);
        const PatchSweepAnalysis asked;
        CHECK_THROWS_WITH(asked.run(vision.model, {.input = vision.patches, .other = vision.patches}),
                          CONTAINS("both pictures are the same"));
        std::vector<float> other = vision.patches;
        other.back() += 1; // in the last patch
        const auto result = asked.run(vision.model, {.input = vision.patches, .other = other});
        const auto& sweep = static_cast<const PatchSweep&>(*result);
        // Hooks that are edited are planned otherwise, and may round otherwise.
        for (int token = 0; token + 1 < sweep.tokens; ++token)
            CHECK(sweep.logits[static_cast<size_t>(token)] == Approx(sweep.own).margin(1e-5));
    }
}

TEST_CASE("vision: what cannot be patched token by token is a sentence", "[analysis][vision][gpu]") {
    const auto refuses = [](GoldenPicture& picture, const char* hook, const char* what, bool hasOther = true) {
        const std::vector<float>& patches = picture.patches;
        PatchSweepAnalysis asked;
        asked.hook = hook;
        std::vector<float> other = patches;
        other.back() += 1;
        CHECK_THROWS_WITH(asked.run(picture.model,
                                    {.input = patches, .other = hasOther ? std::optional<Input>(other) : std::nullopt}),
                          CONTAINS(what));
    };
    GoldenPicture swin("swin"), vit("vit"), pooled("vit", poolTokens);
    refuses(swin, "attn.hook_z", "the tokens of attn.hook_z are in the order of the windows");
    refuses(vit, "attn.hook_attn_scores", "attn.hook_attn_scores cannot be patched token by token");
    refuses(vit, "hook_resid_pre", "there is no other picture to patch values from; choose another picture", false);
    refuses(pooled, "hook_resid_pre", "pools tokens by content");
}

TEST_CASE("vision goldens: every kind of change agrees with PyTorch", "[analysis][vision][gpu]") {
    using Kind = ValueChange::Kind;
    for (const char* name : kModels) {
        INFO(name);
        VisionCase vision(name);
        const std::vector<float> plain = vision.model.predict(vision.patches);
        const std::string z = hookOf(kLayer, "attn.hook_z"), mlp = hookOf(0, "hook_mlp_out");
        const auto check = [&](const Changes& edits, const char* what) {
            INFO(what);
            const std::vector<float> logits = vision.changed(edits);
            CHECK(farthest(logits, vision.golden.values(what)) < 1e-4);
            CHECK(farthest(logits, plain) > 1e-4);
        };
        check({{{.kind = Kind::Mean, .hook = z, .head = kHead, .amount = 0.75f, .text = kSomePicture}}, {}},
              "changed.mean");
        check({{{.kind = Kind::Patch, .hook = hookOf(0, "hook_resid_post"), .position = kToken, .text = kSomePicture}},
               {}},
              "changed.patch");
        check({{{.kind = Kind::Steer, .hook = mlp, .amount = 2, .text = kSomePicture, .contrast = "this one"}}, {}},
              "changed.steer");
        check({{}, {{.site = kLayer, .head = kHead, .kind = PatternChange::Kind::Pin, .key = kKey}}}, "changed.pin");
        check({{}, {{.site = kLayer, .head = kHead, .kind = PatternChange::Kind::Uniform}}}, "changed.uniform");
        PatternChange painted{.site = 0, .head = kHead}; // of the last layer no patch reaches the head
        painted.rows[kToken].resize(kKey + 2);
        painted.rows[kToken][kKey] = 0.25f;
        painted.rows[kToken][kKey + 1] = 0.75f;
        check({{}, {painted}}, "changed.painted");
        CHECK(vision.model.predict(vision.patches) == plain); // everything is as it was
    }
}

TEST_CASE("vision: a value taken from the picture itself changes no bit", "[analysis][vision][gpu]") {
    GoldenPicture picture(GENERATE("vit", "dinov2_registers", "swin"));
    VisionModel& model = picture.model;
    const std::vector<float>& patches = picture.patches;
    for (const char* end : {"hook_resid_pre", "attn.hook_z", "attn.hook_v", "hook_attn_out", "hook_mlp_out"}) {
        INFO(end);
        const std::string hook = hookOf(1, end);
        model.applyChanges({{{.kind = ValueChange::Kind::Zero, .hook = hook, .amount = 0}}, {}}, patches, {});
        const std::vector<float> same = model.predict(patches);
        model.applyChanges({{{.kind = ValueChange::Kind::Patch, .hook = hook}}, {}}, patches, {});
        CHECK(model.predict(patches) == same);
        model.applyChanges({{{.kind = ValueChange::Kind::Zero, .hook = hook}}, {}}, patches, {});
        CHECK(model.predict(patches) != same);
    }
}

TEST_CASE("vision: gates hold under a pattern that is set by hand", "[analysis][vision][gpu]") {
    VisionCase vision("vit");
    vision.model.setGate(kLayer, 0, 0.25f);
    const std::vector<float> gated = vision.model.predict(vision.patches);
    PatternChange untouched{.site = kLayer, .head = kHead}; // the layer forms its pattern, and no row is changed
    CHECK(farthest(vision.changed({{}, {untouched}}), gated) < 1e-5);
    vision.model.setGate(kLayer, kHead, 0);
    const std::vector<float> closed = vision.model.predict(vision.patches);
    untouched.kind = PatternChange::Kind::Uniform;
    CHECK(farthest(vision.changed({{}, {untouched}}), closed) < 1e-5); // a closed head looks nowhere
}

TEST_CASE("vision: what cannot be changed is a sentence", "[analysis][vision][gpu]") {
    const auto refuses = [](const char* name, const Changes& edits, const char* what) {
        GoldenPicture picture(name);
        CHECK_THROWS_WITH(picture.model.applyChanges(edits, picture.patches, {}), CONTAINS(what));
    };
    using Kind = ValueChange::Kind;
    refuses("vit", {{{.hook = "blocks.9.hook_mlp_out"}}, {}}, "there is no hook \"blocks.9.hook_mlp_out\"");
    refuses("vit", {{{.hook = "blocks.0.attn.hook_z", .head = 3}}, {}}, "has no head 3");
    refuses("vit", {{{.kind = Kind::Patch, .hook = "hook_embed", .text = kSomePicture}}, {}},
            "there is no other picture to patch values from");
    refuses("vit", {{}, {{.site = 2, .head = 0}}}, "there is no head 0 in layer 2");
    refuses("swin", {{{.hook = "blocks.0.attn.hook_z", .position = 999}}, {}}, "has no token 999");
    VisionCase features("vit");
    LogitTarget none{.token = 7};
    LogitAttributionAnalysis asked;
    asked.target = none;
    CHECK_THROWS_WITH(features.run<LogitAttribution>(asked), CONTAINS("7 is not one of the 7"));
}

TEST_CASE("vision goldens: what a head looks for and writes by its matrices agrees with PyTorch",
          "[analysis][vision][gpu]") {
    for (const char* name : kModels) {
        INFO(name);
        VisionCase vision(name);
        HeadCircuitsAnalysis analysis;
        analysis.site = kLayer;
        analysis.head = kHead;
        const auto found = vision.run<HeadCircuits>(analysis);
        CHECK(farthest(found->scores, vision.golden.values("circuit.scores")) < 1e-4);
        const size_t rows = found->tokens.size();
        REQUIRE(rows * rows == found->scores.size());
        for (const auto& [pairs, expected] : {std::pair(&found->reads, vision.golden.values("circuit.scores")),
                                              std::pair(&found->writes, vision.golden.values("circuit.writes"))})
            for (size_t row = 0; row < rows; ++row) {
                const size_t width = expected.size() / rows, at = row * pairs->choices;
                const auto of = std::span(expected).subspan(row * width, width);
                CHECK(pairs->values[at] == Approx(std::ranges::max(of)).margin(1e-4));
                for (size_t choice = at; choice < at + pairs->choices; ++choice)
                    CHECK(pairs->values[choice] == Approx(of[static_cast<size_t>(pairs->ids[choice])]).margin(1e-4));
            }
    }
}
