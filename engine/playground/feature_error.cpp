#include "engine/playground/feature_error.h"

#include "engine/attention/parts.h"
#include "engine/core/error.h"
#include "engine/playground/playground_input.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace attn {
namespace {

/// The attention that the random features of a composition approximate.
AttentionSpec approximated(AttentionSpec spec) {
    const Part& part = spec.part(Slot::Normaliser);
    if (!part.mix.approximatesSoftmax)
        throw Error({.what = fmt::format("{} approximates no softmax", part.title),
                     .where = spec.text(),
                     .hint = "choose FAVOR+ or random feature attention"});
    if (&part == &kRandomFeatureNormaliser) {
        const PartValues values = spec.values(Slot::Normaliser);
        const double square = values.real("sigma") * values.real("sigma");
        const bool isUnit = values.flag("unit");
        if (values.flag("gate"))
            throw Error({.what = "a gate weighs the keys, so no softmax is approximated",
                         .where = spec.text(),
                         .hint = "set gate to 0"});
        if (isUnit)
            spec.put(Slot::Score, "cosine", {square});
        else
            spec.put(Slot::Score, "dot", {1 / square});
    }
    spec.reset(Slot::Normaliser);
    return spec;
}

std::vector<float> outputOf(Device& device, const AttentionSpec& spec, const AttentionSizes& sizes,
                            const AttentionNumbers& numbers) {
    const std::array<std::string, 1> wanted{"z"};
    AttentionRun run(device, spec, sizes, wanted);
    run.setInputs(numbers.q, numbers.k, numbers.v);
    run.run();
    return run.result("z").values;
}

} // namespace

std::vector<FeatureError> featureErrors(Device& device, const AttentionSpec& spec, const AttentionSizes& sizes,
                                        double deviation, const std::vector<int64_t>& counts, int draws,
                                        const std::function<void()>& drawn) {
    const AttentionSpec exact = approximated(spec);
    AttentionNumbers numbers = randomNumbers({.tokens = sizes.queries, .width = sizes.width, .keys = sizes.keys}, 0);
    for (std::vector<float>* each : {&numbers.q, &numbers.k})
        for (float& number : *each) number *= static_cast<float>(deviation);
    const std::vector<float> target = outputOf(device, exact, sizes, numbers);
    std::vector<FeatureError> errors;
    for (const int64_t count : counts) {
        double sum = 0;
        for (int draw = 0; draw < draws; ++draw) {
            AttentionSpec random = spec;
            random.setValue(Slot::Normaliser, "features", static_cast<double>(count));
            random.setValue(Slot::Normaliser, "seed", draw);
            const std::vector<float> found = outputOf(device, random, sizes, numbers);
            for (size_t i = 0; i < target.size(); ++i) sum += std::pow(static_cast<double>(found[i] - target[i]), 2);
            if (drawn) drawn();
        }
        errors.push_back({count, std::sqrt(sum / static_cast<double>(target.size()) / draws)});
    }
    return errors;
}

} // namespace attn
