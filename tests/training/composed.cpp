#include "engine/attention/catalogue.h"
#include "engine/attention/mask/catalogue.h"
#include "engine/training/trainer.h"
#include "tests/support/catch.h"

#include <numeric>

using namespace attn;

namespace {

Recipe smallRecipe(const std::string& attention) {
    return {.task = "copy",
            .settings = {.values = {{"length", 3}}, .seed = 1},
            .architecture = {.layers = 1, .heads = 2, .width = 16, .attention = attention, .initialDeviation = 0.1},
            .schedule = {.rate = 5e-3, .finalRate = 5e-3, .warmUp = 5, .steps = 100},
            .batch = 8};
}

/// The part in the nearest spec that a causal task takes; empty if it does not survive.
std::string causalSpecWith(const Part& part) {
    AttentionSpec spec;
    spec.set(Slot::Heads, "multi_head", std::array{2.0});
    spec.set(Slot::Position, "learned", std::array{16.0});
    spec.mask = MaskExpression::parse("causal");
    if (part.slot == Slot::Mask)
        spec.mask = MaskExpression::parse("causal & " + termText(part, initialValues(part)));
    else
        spec.set(part.slot, part.id, part.slot == Slot::Heads ? std::vector{2.0} : initialValues(part));
    for (int round = 0; round < 8; ++round) {
        const auto problems = check(spec, {.isCausalTask = true, .headWidth = 8});
        if (problems.empty()) break;
        if (!problems.front().nearest) return "";
        spec = *problems.front().nearest;
    }
    return spec.text();
}

} // namespace

TEST_CASE("composed attention: every part that a causal task takes lowers the loss in a hundred steps",
          "[training][gpu]") {
    int trained = 0;
    for (const Part* part : partCatalogue()) {
        if (part->slot == Slot::Heads && part->id == "single") continue; // two heads are the model's
        const std::string spec = causalSpecWith(*part);
        if (spec.empty() || attentionProblem(smallRecipe(spec).architecture)) continue; // no cell, or not causal
        INFO(nameOf(part->slot) << " " << part->id << ": " << spec);
        Trainer trainer(smallRecipe(spec), {.softwareThreads = 0});
        double first = 0, last = 0;
        for (int step = 0; step < 100; ++step) {
            const double loss = trainer.step().loss;
            if (step < 5) first += loss / 5;
            if (step >= 95) last += loss / 5;
        }
        CHECK(last < first - 0.1);
        ++trained;
    }
    CHECK(trained >= 60);
}

TEST_CASE("composed attention: the penalty of a span keeps it short", "[training][gpu]") {
    const auto [term, learned] =
        GENERATE(table<const char*, const char*>({{"adaptive_span(8, 4, {})", "blocks.0.attn.mask.span"},
                                                  {"dynamic_span(8, 4, {})", "blocks.0.attn.mask.offset"}}));
    INFO(term);
    const auto meanAfter = [&, term = term, learned = learned](const char* penalty) {
        std::string mask = term;
        mask.replace(mask.find("{}"), 2, penalty);
        Trainer trainer(smallRecipe("position=learned, mask=causal & " + mask), {.softwareThreads = 0});
        for (int step = 0; step < 60; ++step) trainer.step();
        const std::vector<float> values = trainer.read(learned);
        return std::accumulate(values.begin(), values.end(), 0.0f) / static_cast<float>(values.size());
    };
    const float free = meanAfter("0"), penalised = meanAfter("1");
    CHECK(penalised <
          free - 0.05f);  // of adaptive span, a share of the longest; of dynamic span, an argument of sigmoid
    CHECK(penalised < 0); // training begins with half of the longest span
}
