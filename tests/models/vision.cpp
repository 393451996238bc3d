#include "engine/inference/graph_sources.h"
#include "engine/inference/vision_model.h"
#include "engine/models/patch_stream.h"
#include "engine/runtime/gpu_executor.h"
#include "tests/models/golden_cases.h"
#include "tests/models/vision_folder.h"
#include "tests/support/farthest.h"

// Vision models against PyTorch, from the picture to the logits: tests/golden/README.md.

using namespace attn;
using namespace attn::test;

TEST_CASE("vision goldens: preprocessing, logits, patterns and every hook agree with PyTorch within 1e-4",
          "[models][vision][gpu]") {
    const auto cases = goldenCases("vision_cases.json");
    REQUIRE(cases.size() >= 8);
    for (const auto& [name, family, tokens, classes] : cases) {
        INFO(name);
        VisionModel model(openModelSource((kGoldenRoot / name).string()), {.device = {.validation = true}});
        const ModelInfo& info = model.info();
        CHECK(info.family == family);
        CHECK(info.tokens() == tokens);
        CHECK(info.classes == classes);
        const Golden golden(name);
        const std::vector<float> patches = model.patchesOf(golden.image());
        CHECK(farthest(patches, cutPatches(golden.values("pixels"), model.config().patches.channels,
                                           model.config().patches.image, model.config().patches.patch)) < 1e-5);

        std::string hooks;
        for (const std::string& hook : info.hooks)
            if (golden.contains(hook)) hooks += (hooks.empty() ? "" : ",") + hook;
        int compared = 0;
        for (const CapturedHook& hook : model.capture(patches, hooks)) {
            INFO(hook.name);
            CHECK(hook.shape.extents() == golden.shape(hook.name));
            CHECK(farthest(hook.values, golden.values(hook.name)) < 1e-4);
            ++compared;
        }
        CHECK(compared == golden.hookCount()); // nothing is left out silently
        if (info.classes > 0) CHECK(farthest(model.predict(patches), golden.values("logits")) < 1e-4);
    }
}

TEST_CASE("vision: a batch of pictures gives what each gives alone", "[models][vision][gpu]") {
    // 17 tokens are padded to 20 for the kernel of several sequences; 64, of 63 patches and CLS, are not.
    for (const std::optional<ImageSize>& size : {std::optional<ImageSize>(), std::optional(ImageSize{28, 36})}) {
        const auto source = openModelSource((kGoldenRoot / "vit").string(), size);
        VisionModel model(openModelSource((kGoldenRoot / "vit").string(), size), {.device = {.validation = true}});
        INFO(model.info().tokens());
        const std::vector<float> first = model.patchesOf(Golden("vit").image());
        std::vector<float> second = first;
        std::ranges::reverse(second);

        const ModelGraph batch = buildModel(source->config(), {.images = 2});
        const auto plan = compile(batch.graph, {{"logits_of_both", batch.logits}});
        TensorStore store(model.device());
        for (const ParameterInfo& parameter : model.info().parameters) {
            store.reserve({{parameter.name, Shape(parameter.shape)}});
            source->read(parameter.name, Shape(parameter.shape),
                         [&](const auto& fill) { store.write(parameter.name, fill); });
        }
        writeConstants(store, *plan, batch.partTensors);
        GpuExecutor executor(model.device(), store, plan);
        const auto input = executor.input(vision_names::kPatches);
        std::ranges::copy(first, input.begin());
        std::ranges::copy(second, input.begin() + static_cast<std::ptrdiff_t>(first.size()));
        REQUIRE(executor.hasInput(vision_names::kPadding) == !size.has_value());
        if (!size) writePadding(executor.inputIntegers(vision_names::kPadding), 2, model.info().tokens());
        for (int layer = 0; layer < model.info().layers; ++layer)
            std::ranges::fill(executor.input("blocks." + std::to_string(layer) + ".attn.gates"), 1.0f);
        executor.run({});
        const auto both = executor.result("logits_of_both");
        const auto stride = static_cast<size_t>(Shape{7}.rowStride());
        CHECK(farthest(both.subspan(0, 7), model.predict(first)) < 1e-5);
        CHECK(farthest(both.subspan(stride, 7), model.predict(second)) < 1e-5);
    }
}

TEST_CASE("vision: attention that suits a grid builds in the same encoder", "[models][vision]") {
    ModelSpec config = pictureSpec();
    config.patches.image = {16, 16};
    config.patches.patch = 4;
    config.modelWidth = 16;
    config.patches.clsToken = false;
    config.feedForward = {.width = 32, .activation = Activation::GeluErf};
    config.readouts.front().pooling = PatchPooling::Mean;
    config.readouts.front().classes = 3;
    for (const char* text : {"heads=multi_head(2)", "heads=multi_head(2), mask=axial(4, 4)",
                             "heads=multi_head(2), mask=local2d(4, 4, 2, 2, 1, 1)",
                             "heads=multi_head(2), mask=shifted(4, 4, 2, 1)", "heads=multi_head(2), normaliser=xcit",
                             "heads=multi_head(2), normaliser=linformer(4)", "mixer=fnet", "mixer=mlp_mixer"}) {
        INFO(text);
        const AttentionSpec spec = AttentionSpec::parse(text);
        config.layers.assign(2, {.spec = spec, .outputBias = true});
        for (LayerAttention& layer : config.layers) layer.headWidth = 16 / layer.heads().heads;
        for (const Positions positions : {Positions::None, Positions::Learned, Positions::Sinusoidal}) {
            config.positions = positions;
            const ModelGraph encoder = buildModel(config, {.images = 3});
            CHECK(encoder.logits.shape() == Shape{3, 3});
        }
    }
}

TEST_CASE("vision: tokens are pooled by K-means, and what is pooled is drawn where it was", "[models][vision][gpu]") {
    constexpr size_t kTokens = 16, kPooled = 5, kWidth = 24;
    VisionModel model(std::make_unique<ChangedSource>("vit",
                                                      [](ModelSpec& config) {
                                                          config.patches.pools = {{1, kPooled}};
                                                      }),
                      {.device = {.validation = true}});
    const std::vector<float> patches = model.patchesOf(Golden("vit").image());
    std::map<std::string, std::vector<float>> hooks;
    for (const CapturedHook& hook : model.capture(patches, "*hook_resid_post,*hook_resid_pre,*hook_pooled_into"))
        hooks[hook.name] = hook.values;
    const std::vector<float>& before = hooks.at("blocks.0.hook_resid_post");
    const std::vector<float>& after = hooks.at("blocks.1.hook_resid_pre");
    REQUIRE(after.size() == (1 + kPooled) * kWidth);

    const auto token = [&](size_t i) { return std::span(before).subspan((1 + i) * kWidth, kWidth); };
    std::vector<std::vector<double>> centres;
    for (size_t k = 0; k < kPooled; ++k) {
        const auto first = token((2 * k + 1) * kTokens / (2 * kPooled));
        centres.emplace_back(first.begin(), first.end());
    }
    std::vector<size_t> nearest(kTokens);
    for (int round = 0; round < 5; ++round) {
        for (size_t i = 0; i < kTokens; ++i) {
            double best = 1e300;
            for (size_t k = 0; k < kPooled; ++k) {
                double distance = 0;
                for (size_t c = 0; c < kWidth; ++c)
                    distance += std::pow(static_cast<double>(token(i)[c]) - centres[k][c], 2);
                if (distance < best) best = distance, nearest[i] = k;
            }
        }
        for (size_t k = 0; k < kPooled; ++k) {
            const auto count = std::ranges::count(nearest, k);
            if (count == 0) continue;
            std::ranges::fill(centres[k], 0.0);
            for (size_t i = 0; i < kTokens; ++i)
                for (size_t c = 0; c < kWidth && nearest[i] == k; ++c)
                    centres[k][c] += static_cast<double>(token(i)[c]) / static_cast<double>(count);
        }
    }
    CHECK(std::set<size_t>(nearest.begin(), nearest.end()).size() > 1);
    const std::vector<float> found = hooks.at("blocks.1.hook_pooled_into");
    CHECK(std::ranges::equal(found, nearest, [](float a, size_t b) { return a == static_cast<float>(b); }));
    CHECK(farthest(std::span(after).first(kWidth), std::span(before).first(kWidth)) == 0); // CLS
    for (size_t k = 0; k < kPooled; ++k)
        for (size_t c = 0; c < kWidth; ++c)
            CHECK(static_cast<double>(after[(1 + k) * kWidth + c]) == Approx(centres[k][c]).margin(1e-5));

    const auto patterns = model.patternsAndLogits(patches).patterns;
    CHECK(patterns[0].layout.tokens == 1 + kTokens);
    CHECK(patterns[1].layout.tokens == 1 + kPooled);
    for (size_t i = 0; i < kTokens; ++i) CHECK(patterns[1].layout.tokenOf[i] == static_cast<int32_t>(1 + nearest[i]));
}

TEST_CASE("vision: windows, merges and pools that do not fit are refused", "[models][vision]") {
    ModelSpec config = pictureSpec();
    config.name = "small";
    config.patches.image = {16, 16};
    config.patches.patch = 4;
    config.modelWidth = 8;
    config.patches.clsToken = false;
    config.readouts.front().pooling = PatchPooling::Mean;
    config.layers.assign(2, {.spec = plainAttention({2, 2}, {}), .headWidth = 4, .outputBias = true});
    const auto problem = [&](const std::function<void(ModelSpec&)>& change) {
        ModelSpec changed = config;
        change(changed);
        return sentenceOf([&] { buildModel(changed); });
    };
    CHECK_THAT(problem([](ModelSpec& c) {
                   c.patches.pools = {{1, 16}};
               }),
               CONTAINS("16 tokens cannot be pooled into 16"));
    CHECK_THAT(problem([](ModelSpec& c) { c.patches.pools = {{2, 4}}; }), CONTAINS("before layer 2"));
    CHECK_THAT(problem([](ModelSpec& c) { c.patches.pools = {{1, 4}, {1, 3}}; }), CONTAINS("list each layer once"));
    for (const char* block : {"heads=multi_head(2), layers=shared", "heads=multi_head(2), residual=reversible"})
        CHECK_THAT(problem([&](ModelSpec& c) {
                       c.patches.merges = {1};
                       for (LayerAttention& layer : c.layers) layer.spec = AttentionSpec::parse(block);
                       c.layers[1].headWidth = 8;
                   }),
                   CONTAINS("remove merges"));
    CHECK_THAT(problem([](ModelSpec& c) {
                   c.patches.clsToken = true;
                   c.patches.windows.assign(2, {.size = 2});
               }),
               CONTAINS("need a model without a CLS token and registers"));
    CHECK_THAT(problem([](ModelSpec& c) {
                   c.patches.merges = {1};
                   c.patches.pools = {{1, 3}};
               }),
               CONTAINS("pooled tokens have none"));
}

TEST_CASE("vision: sinusoids of a grid are unit pairs that tell rows from columns", "[models][vision]") {
    const std::vector<float> table = sinusoidalGrid({2, 3}, 8);
    REQUIRE(table.size() == 6 * 8);
    const auto at = [&](int64_t row, int64_t column, int64_t feature) {
        return table[static_cast<size_t>((row * 3 + column) * 8 + feature)];
    };
    CHECK(at(0, 2, 0) == Approx(std::sin(2.0)));
    CHECK(at(0, 2, 2) == Approx(std::cos(2.0)));
    CHECK(at(1, 2, 4) == Approx(std::sin(1.0)));
    CHECK(at(1, 2, 7) == Approx(std::cos(1e-4)));
}

TEST_CASE("vision: a gate at zero takes a head out, and the same hooks plan nothing again", "[models][vision][gpu]") {
    VisionModel model(openModelSource((kGoldenRoot / "vit").string()), {.device = {.validation = true}});
    const std::vector<float> patches = model.patchesOf(Golden("vit").image());
    const std::vector<float> before = model.predict(patches);
    model.capture(patches, "blocks.0.attn.hook_z");
    model.setGate(0, 1, 0);
    const uint64_t recorded = GpuExecutor::recordings();
    const CapturedHook z = model.capture(patches, "blocks.0.attn.hook_z").front(); // [T,H,D]
    CHECK(farthest(model.predict(patches), before) > 1e-3);
    CHECK(GpuExecutor::recordings() == recorded);
    const int64_t H = z.shape[1], D = z.shape[2];
    CHECK(std::ranges::all_of(std::span(z.values).subspan(static_cast<size_t>(D), static_cast<size_t>(D)),
                              [](float value) { return value == 0; }));
    CHECK(z.values[static_cast<size_t>(2 * H * D)] != 0);
    model.setGate(-1, -1, 1);
    CHECK(farthest(model.predict(patches), before) == 0);
}

TEST_CASE("vision: positions are interpolated to the size that is asked for", "[models][vision][gpu]") {
    const auto source = openModelSource((kGoldenRoot / "vit").string(), ImageSize{24, 32});
    CHECK(source->config().patches.grid() == ImageSize{6, 8});
    CHECK_THAT(source->warnings().front(), CONTAINS("positions of 4 x 4 patches are interpolated to 8 x 6"));
    VisionModel model(openModelSource((kGoldenRoot / "vit").string(), ImageSize{24, 32}),
                      {.device = {.validation = true}});
    const auto captured = model.capture(model.patchesOf(Golden("vit").image()), "hook_pos_embed,logits");
    CHECK(captured[0].shape == Shape{49, 24});
    const auto trained = Golden("vit").values("hook_pos_embed");
    CHECK(std::equal(trained.begin(), trained.begin() + 24, captured[0].values.begin())); // CLS stays
    const std::vector<float> grid =
        resampledGrid(std::span(trained).subspan(24), {4, 4}, {6, 8}, 24, GridFilter::Bicubic);
    CHECK(farthest(std::span(captured[0].values).subspan(24), grid) < 1e-6);
}
