#include "engine/analysis/storage_effects.h"
#include "engine/inference/language_model.h"
#include "engine/inference/vision_model.h"
#include "engine/io/decode_image.h"
#include "engine/models/model_source.h"
#include "tests/analysis/vision_golden.h"
#include "tests/support/catch.h"

#include <algorithm>
#include <cmath>

using namespace attn;

namespace {

std::shared_ptr<const StorageEffects> effectsOf(const std::string& path, const std::string& prompt) {
    LanguageModel model(openModelSource(path), {});
    TextInput input;
    input.tokens = model.tokenizer()->encode(prompt).ids;
    return std::static_pointer_cast<const StorageEffects>(StorageEffectsAnalysis{}.run(model, {.input = input}));
}

StorageEffectsAnalysis analysisOf(std::vector<Storage> storages) {
    StorageEffectsAnalysis analysis;
    analysis.storages = std::move(storages);
    return analysis;
}

} // namespace

TEST_CASE("storage effects: fewer bits take less memory and change the patterns more", "[analysis][gpu]") {
    const auto found = effectsOf("builtin:stories", "Once upon a time there was a little girl who had a red ball.");
    REQUIRE(found->effects.size() == std::size(kStorages));
    const auto of = [&](Storage storage) {
        return *std::ranges::find(found->effects, storage, &StorageEffects::Effect::storage);
    };
    const StorageEffects::Effect original = of(Storage::F32);
    CHECK(original.largestChange == 0);
    CHECK(original.meanDivergence() < 1e-9);
    CHECK(original.perSecond > 0);
    for (const Storage storage : {Storage::F16, Storage::BF16, Storage::Q8_0, Storage::Q4_0, Storage::Q4_K}) {
        INFO(storageName(storage));
        const StorageEffects::Effect effect = of(storage);
        CHECK(effect.parameterBytes < original.parameterBytes);
        CHECK(effect.meanDivergence() > 0);
        CHECK(std::abs(effect.loss - original.loss) < 0.3);
        CHECK(effect.divergence.size() == original.divergence.size());
    }
    CHECK(of(Storage::F16).meanDivergence() < of(Storage::Q8_0).meanDivergence());
    CHECK(of(Storage::Q8_0).meanDivergence() < of(Storage::Q4_0).meanDivergence());
    CHECK(of(Storage::Q4_0).parameterBytes < of(Storage::Q8_0).parameterBytes);
}

TEST_CASE("storage effects: of a picture, the probabilities of the classes take the place of perplexity",
          "[analysis][vision][gpu]") {
    VisionModel model(openModelSource("builtin:vit-shapes"), {});
    const std::vector<std::filesystem::path> examples = examplePictures("builtin:vit-shapes");
    REQUIRE_FALSE(examples.empty());
    const Input picture(model.patchesOf(decodeImage(examples.front())));
    const auto found = std::static_pointer_cast<const StorageEffects>(
        analysisOf({Storage::F16, Storage::Q4_0}).run(model, {.input = picture}));
    REQUIRE(found->effects.size() == 3);
    const auto probabilities = [&](Storage storage) {
        VisionModel other(openModelSource("builtin:vit-shapes"), {.storage = storage});
        return probabilitiesOf(other.predict(picture));
    };
    const std::vector<float> exact = probabilities(Storage::F32);
    for (const StorageEffects::Effect& effect : found->effects) {
        INFO(storageName(effect.storage));
        CHECK(std::isnan(effect.perplexity));
        CHECK(effect.perSecond > 0);
        CHECK(effect.divergence.size() == model.info().structure.sites.size());
        // The divergence by its definition, of the probabilities of a model of its own.
        const std::vector<float> rounded = probabilities(effect.storage);
        double bits = 0, largest = 0;
        for (size_t i = 0; i < exact.size(); ++i) {
            const double p = static_cast<double>(exact[i]), q = static_cast<double>(rounded[i]), m = (p + q) / 2;
            if (p > 0) bits += p * std::log2(p / m) / 2;
            if (q > 0) bits += q * std::log2(q / m) / 2;
            largest = std::max(largest, std::abs(p - q));
        }
        CHECK(effect.predictionDivergence == Approx(bits).margin(1e-9));
        CHECK(static_cast<double>(effect.largestChange) == Approx(largest).margin(1e-7));
    }
    CHECK(found->effects[0].predictionDivergence == 0);
    CHECK(found->effects[2].predictionDivergence > found->effects[1].predictionDivergence);
    CHECK(found->effects[2].meanDivergence() > found->effects[1].meanDivergence());
}

TEST_CASE("storage effects: of a model of pictures without a classifier only the patterns are compared",
          "[analysis][vision][gpu]") {
    test::GoldenPicture golden("vit_features");
    const auto found = std::static_pointer_cast<const StorageEffects>(
        analysisOf({Storage::BF16}).run(golden.model, {.input = golden.patches}));
    for (const StorageEffects::Effect& effect : found->effects) {
        CHECK(std::isnan(effect.predictionDivergence));
        CHECK(std::isnan(effect.largestChange));
        CHECK(effect.perSecond > 0);
    }
    CHECK(found->effects[0].meanDivergence() == 0);
    CHECK(found->effects[1].meanDivergence() == 0); // rows of 24 weights fit no other storage
    CHECK(found->effects[1].parameterBytes == found->effects[0].parameterBytes);
}
