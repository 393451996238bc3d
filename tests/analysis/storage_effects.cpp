#include "engine/analysis/storage_effects.h"
#include "engine/inference/language_model.h"
#include "engine/models/model_source.h"
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
    CHECK(original.tokensPerSecond > 0);
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
