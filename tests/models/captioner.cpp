#include "engine/inference/language_model.h"
#include "engine/models/induction.h"
#include "engine/models/memory_source.h"
#include "engine/models/patch_stream.h"
#include "engine/ops/gradient.h"
#include "engine/ops/tensor_ops.h"
#include "engine/ops/training_ops.h"
#include "engine/runtime/dense_result.h"
#include "tests/support/catch.h"
#include "tests/support/farthest.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <numeric>

// A decoder of text that reads the patches of a picture: a model of two axes.

using namespace attn;
using namespace attn::test;

namespace {

using Values = std::map<std::string, std::vector<float>>;

constexpr int kPictures = 4; ///< the bright patch of each is another one

LayerAttention attention(MaskExpression mask) {
    return {
        .spec = plainAttention({2, 2}, std::move(mask)), .headWidth = 8, .queryKeyValueBias = true, .outputBias = true};
}

/// 2 x 2 patches of 4 x 4 grey pixels, after a CLS token.
StreamSpec pictures() {
    StreamSpec stream = pictureSpec().stream();
    stream.patches = {.image = {8, 8}, .patch = 4, .channels = 1};
    stream.modelWidth = 24;
    stream.feedForward = {.width = 32};
    stream.layers.assign(2, attention({}));
    return stream;
}

ModelSpec captioner() {
    ModelSpec spec;
    spec.name = "captioner";
    spec.tokens.vocabulary = 11;
    spec.context = 8;
    spec.modelWidth = 16;
    spec.positions = Positions::Learned;
    spec.feedForward = {.width = 32};
    spec.layers.assign(2, attention(MaskExpression::causal()));
    spec.crossAttention.assign(2, attention({}));
    spec.readFrom(pictures());
    return spec;
}

/// Numbers between -0.4 and 0.4 without a pattern, and factors of norms around 1.
Values someValues(const ModelSpec& spec) {
    Values values;
    uint32_t state = 1;
    const ModelGraph graph = buildForListing(spec);
    for (const Node* node : storedParameters(*graph.graph))
        for (int64_t i = 0; i < node->outputs[0].shape.elements(); ++i) {
            state = state * 1664525 + 1013904223;
            const float drawn = static_cast<float>(state >> 8) / 16777216.0f * 0.8f - 0.4f;
            values[node->name].push_back(drawn + (node->name.ends_with(".w") ? 1 : 0));
        }
    return values;
}

std::unique_ptr<RunningModel> loaded(const ModelSpec& spec, const Values& values) {
    const auto model = std::make_shared<WeightSet::Model>();
    model->config = spec;
    return loadModel(makeMemorySource(std::make_shared<const WeightSet>(WeightSet{.model = model, .values = values})),
                     {.device = {.softwareThreads = 0, .validation = true}});
}

/// @return [4 patches, 16 values]
std::vector<float> picture(int bright) {
    std::vector<float> patches;
    for (int i = 0; i < 64; ++i) patches.push_back(i / 16 == bright ? 1 : static_cast<float>(i % 5) / 20 - 0.3f);
    return patches;
}

Input captioned(int bright, std::vector<int> tokens) {
    return {TextInput{.tokens = std::move(tokens)}, picture(bright)};
}

/// x . W + b of each row. @param weight [out,in]
std::vector<double> linear(const std::vector<double>& x, const std::vector<float>& weight,
                           const std::vector<float>& bias) {
    const size_t out = bias.size(), in = weight.size() / out;
    std::vector<double> y;
    for (size_t row = 0; row < x.size() / in; ++row)
        for (size_t o = 0; o < out; ++o) {
            double sum = bias[o];
            for (size_t i = 0; i < in; ++i) sum += x[row * in + i] * weight[o * in + i];
            y.push_back(sum);
        }
    return y;
}

std::vector<double> normed(const std::vector<float>& x, const std::vector<float>& weight,
                           const std::vector<float>& bias, double epsilon) {
    const size_t width = weight.size();
    std::vector<double> y;
    for (size_t row = 0; row < x.size() / width; ++row) {
        double mean = 0, square = 0;
        for (size_t i = 0; i < width; ++i) mean += static_cast<double>(x[row * width + i]) / static_cast<double>(width);
        for (size_t i = 0; i < width; ++i)
            square += std::pow(x[row * width + i] - mean, 2) / static_cast<double>(width);
        for (size_t i = 0; i < width; ++i)
            y.push_back((x[row * width + i] - mean) / std::sqrt(square + epsilon) * weight[i] + bias[i]);
    }
    return y;
}

} // namespace

TEST_CASE("captioner: a decoder of text attends to the patches of a picture", "[models][gpu]") {
    const ModelSpec spec = captioner();
    const Values values = someValues(spec);
    const auto model = loaded(spec, values);
    const ModelStructure& structure = model->info().structure;
    REQUIRE(model->info().siteCount() == 6);
    CHECK(model->info().inputAxis() == AxisKind::Tokens);
    CHECK_FALSE(model->info().readsSource); // no text as a source
    CHECK(structure.sites[5].name == "decoder.1.cross_attn");
    CHECK(structure.queryAxis(5).kind == AxisKind::Tokens);
    CHECK(structure.keyAxis(5) == Axis{AxisKind::Patches, 5});
    CHECK(structure.labelOf(0) == "Encoder L0");
    CHECK(structure.labelOf(5) == "Cross L1");

    const Input input = captioned(2, {1, 4, 7});
    const auto captured = model->capture(input, "*");
    const auto hook = [&](const std::string& name) -> const CapturedHook& {
        return *std::ranges::find(captured, name, &CapturedHook::name);
    };
    const CapturedHook& pattern = hook("decoder.1.cross_attn.hook_pattern");
    REQUIRE(pattern.shape == Shape{2, 3, 5});

    // The pattern by plain loops, from the rows of both streams before it.
    const std::vector<double> keys =
        linear(normed(hook("encoder.1.hook_resid_post").values, values.at("encoder.ln_final.w"),
                      values.at("encoder.ln_final.b"), 1e-6),
               values.at("decoder.1.cross_attn.W_K"), values.at("decoder.1.cross_attn.b_K"));
    const std::vector<double> queries =
        linear(normed(hook("decoder.1.hook_resid_mid").values, values.at("decoder.1.ln_cross.w"),
                      values.at("decoder.1.ln_cross.b"), 1e-5),
               values.at("decoder.1.cross_attn.W_Q"), values.at("decoder.1.cross_attn.b_Q"));
    std::vector<double> expected;
    for (size_t head = 0; head < 2; ++head)
        for (size_t query = 0; query < 3; ++query) {
            std::vector<double> row(5);
            for (size_t key = 0; key < 5; ++key) {
                double score = 0;
                for (size_t i = head * 8; i < head * 8 + 8; ++i) score += queries[query * 16 + i] * keys[key * 16 + i];
                row[key] = std::exp(score / std::sqrt(8.0));
            }
            const double sum = std::accumulate(row.begin(), row.end(), 0.0);
            for (const double each : row) expected.push_back(each / sum);
        }
    CHECK(farthest(pattern.values, expected) < 1e-5);

    // The patches go through the encoder as through a model of pictures with the same parameters.
    ModelSpec alone = pictureSpec();
    static_cast<StreamSpec&>(alone) = pictures();
    Values own;
    for (const auto& [name, value] : values)
        if (name.starts_with("encoder.")) own[(std::isdigit(name[8]) != 0 ? "blocks." : "") + name.substr(8)] = value;
    const auto rows = loaded(alone, own)->capture(picture(2), "blocks.1.hook_resid_post");
    CHECK(farthest(hook("encoder.1.hook_resid_post").values, rows.front().values) < 1e-6);
}

TEST_CASE("captioner: steps over kept keys of patches say what a whole run says, for each picture", "[models][gpu]") {
    const ModelSpec spec = captioner();
    const auto model = loaded(spec, someValues(spec));
    const std::vector<int> tokens{1, 4, 7, 2};
    const std::vector<float> answer = model->predict(captioned(0, tokens));
    const std::vector<float> whole = model->formedLogits(captioned(0, tokens));
    CHECK(farthest(answer, std::vector<float>(whole.end() - 11, whole.end())) < 1e-5);

    LanguageModel& steps = languageModel(*model);
    steps.truncate(0);
    steps.setSides(captioned(0, {}));
    for (const int token : tokens) steps.feed({&token, 1});
    CHECK(farthest({steps.logits().begin(), steps.logits().end()}, answer) < 1e-5);
    CHECK(farthest(model->predict(captioned(1, tokens)), answer) > 1e-3);
    CHECK(model->predict(captioned(0, tokens)) == answer);

    using Catch::Matchers::Contains;
    CHECK_THROWS_WITH(model->predict(TextInput{.tokens = tokens}), Contains("0 values are not 4 patches of 16 values"));
    CHECK_THROWS_WITH(model->predict(picture(0)), Contains("reads text, not pictures"));
    CHECK_THROWS_WITH(loadModel(makeInductionSource(), {})->predict(captioned(0, tokens)),
                      Contains("reads text, not pictures"));
}

TEST_CASE("captioner: it learns a word for each of several pictures", "[models][gpu]") {
    constexpr int64_t T = 8;
    const ModelSpec spec = captioner();
    const auto model = loaded(spec, someValues(spec));
    const ModelGraph graph =
        buildModel(spec, {.queries = kPictures * T, .sequence = T, .isTraining = true, .needsGradients = true});
    const Tensor targets = graph.graph->input("targets", {.shape = {kPictures * T}, .dtype = DType::I32}),
                 losses = crossEntropy(graph.logits, targets, fill(*graph.graph, {kPictures * T}, 1.0 / kPictures)),
                 loss = reduce(losses, Reduction::Sum, {0});
    std::vector<Tensor> parameters;
    for (const auto& parameter : model->info().parameters)
        parameters.push_back(graph.graph->parameter(parameter.name, Shape(parameter.shape)));
    std::map<std::string, Tensor> outputs{{"loss", loss}, {"said", affine(graph.logits, 1, 0)}};
    const std::vector<Tensor> gradients = gradient(loss, parameters);
    for (size_t i = 0; i < parameters.size(); ++i)
        if (gradients[i]) outputs["slope of " + model->info().parameters[i].name] = gradients[i];
    CHECK(outputs.contains("slope of encoder.embed.W_E")); // the gradient reaches the patches

    const auto executor = model->executorOf(graph, outputs);
    const auto ids = executor->inputIntegers("tokens"), positions = executor->inputIntegers("positions"),
               wanted = executor->inputIntegers("targets");
    std::vector<float> patches;
    for (int64_t row = 0; row < kPictures * T; ++row) {
        const auto at = static_cast<size_t>(row);
        positions[at] = static_cast<int32_t>(row % T);
        ids[at] = row % T == 0 ? 1 : 0;
        wanted[at] = row % T == 0 ? static_cast<int32_t>(3 + row / T) : -1;
    }
    for (int bright = 0; bright < kPictures; ++bright) std::ranges::copy(picture(bright), std::back_inserter(patches));
    writeRows(patches, {kPictures * 4, 16},
              [&](const auto& fill) { fill(0, executor->input("source." + std::string(vision_names::kPatches))); });
    writePadding(executor->inputIntegers("source." + std::string(vision_names::kPadding)), kPictures, 5);

    for (const Site& site : model->info().structure.sites)
        std::ranges::fill(executor->input(site.inSite("gates")), 1.0f);

    // Each picture of the batch, which has rows of padding, says what it says alone.
    executor->run({});
    const std::vector<float> said = denseResult(*executor, "said");
    for (int bright = 0; bright < kPictures; ++bright) {
        const auto first = said.begin() + bright * T * 11;
        CHECK(farthest(std::vector<float>(first, first + 11), model->predict(captioned(bright, {1}))) < 1e-5);
    }

    std::map<std::string, std::vector<float>> velocity;
    float last = 0;
    for (int step = 0; step < 80; ++step) { // gradient descent with momentum, in steps that stay small whatever rounds
        executor->run({});
        last = executor->result("loss").front();
        for (size_t at = 0; at < parameters.size(); ++at) {
            if (!gradients[at]) continue;
            const std::string& name = model->info().parameters[at].name;
            std::vector<float> weights = model->store().read(name), &speed = velocity[name];
            const std::vector<float> slope = denseResult(*executor, "slope of " + name);
            speed.resize(weights.size());
            for (size_t i = 0; i < weights.size(); ++i) weights[i] -= 0.01f * (speed[i] = 0.9f * speed[i] + slope[i]);
            writeRows(weights, parameters[at].shape(), [&](const auto& fill) { model->store().write(name, fill); });
        }
    }
    CHECK(last < 0.1 * std::log(kPictures)); // who does not see the picture cannot get below log 4
    for (int bright = 0; bright < kPictures; ++bright) {
        const std::vector<float> logits = model->predict(captioned(bright, {1}));
        CHECK(std::ranges::max_element(logits) - logits.begin() == 3 + bright);
    }
}
