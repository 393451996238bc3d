#include "engine/inference/running_model.h"
#include "engine/models/induction.h"
#include "engine/models/memory_source.h"
#include "tests/models/vision_folder.h"

using namespace attn;
using namespace attn::test;

namespace {

std::string goldenPath(const std::string& name) { return (kGoldenRoot / name).string(); }

std::unique_ptr<RunningModel> loadedFrom(std::unique_ptr<ModelSource> source) {
    return loadModel(std::move(source), {.device = {.softwareThreads = 0, .validation = true}});
}

/// Something that a model can read.
Input anyInputFor(const ModelSpec& spec) {
    if (spec.axis == AxisKind::Patches) {
        std::vector<float> patches(static_cast<size_t>(spec.patches.grid().area() * spec.patches.patchValues()));
        for (size_t i = 0; i < patches.size(); ++i) patches[i] = static_cast<float>(i % 7) / 7 - 0.4f;
        return patches;
    }
    TextInput text{.tokens = {static_cast<int>(spec.startToken), 3, 5}};
    if (spec.encoder) text.source = {4, 2, 6};
    return text;
}

} // namespace

TEST_CASE("one model: texts, pictures and translations open, load and answer by the same calls", "[models][gpu]") {
    const std::string name = GENERATE("gpt2", "bert", "t5_gated", "vit", "swin");
    CAPTURE(name);
    const auto model = loadedFrom(openModelSource(goldenPath(name)));
    const ModelSpec& spec = model->config();
    CHECK(model->info().inputAxis() == spec.axis);
    CHECK(axisOfModel(goldenPath(name)) == spec.axis);
    CHECK(model->source().familyTitle() == model->info().familyTitle);
    CHECK(static_cast<size_t>(model->info().siteCount()) ==
          spec.layers.size() + spec.crossAttention.size() + (spec.encoder ? spec.encoder->layers.size() : 0));
    for (int site = 0; site < model->info().siteCount(); ++site)
        CHECK(model->attentionOf(site).spec == model->info().attentions[static_cast<size_t>(site)]);

    const Input input = anyInputFor(spec);
    const std::vector<float> answer = model->predict(input);
    CHECK(answer.size() == static_cast<size_t>(model->choices()));
    CHECK(loadedFrom(std::make_unique<SameSource>(model->source()))->predict(input) == answer);

    // The parameters of the same model fit, and those of another kind of model do not.
    std::unique_ptr<ModelSource> same = openModelSource(goldenPath(name)),
                                 other = openModelSource(goldenPath(spec.axis == AxisKind::Patches ? "gpt2" : "vit"));
    CHECK_FALSE(model->replaceWeights(other));
    CHECK(other);
    REQUIRE(model->replaceWeights(same));
    CHECK(model->predict(input) == answer);
}

TEST_CASE("one model: a source in memory has what its description has", "[models]") {
    const auto model = std::make_shared<WeightSet::Model>();
    model->config = pictureSpec();
    model->config.readouts.front().labels = {"cat", "dog"};
    model->preprocessing.factor = 2;
    const auto source = makeMemorySource(std::make_shared<const WeightSet>(WeightSet{.model = model}));
    CHECK(source->config() == model->config);
    CHECK(source->preprocessing() == model->preprocessing);
    CHECK_FALSE(source->tokenizer());
    CHECK(source->example().empty());
    CHECK(makeInductionSource()->example() == kInductionExample);
}
