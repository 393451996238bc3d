#include "engine/analysis/token_values.h"

#include "tests/session/trained_model.h"
#include "tests/support/catch.h"

#include <algorithm>

using namespace attn;
using attn::test::TrainedModel;

namespace {

const TextInput kText{.tokens = {1, 3, 2, 5, 4}};

std::shared_ptr<const TokenValues> valuesOf(RunningModel& model, const Input& input, int site,
                                            const std::string& hook = {}) {
    TokenValuesAnalysis analysis;
    analysis.site = site;
    analysis.hook = hook;
    return std::static_pointer_cast<const TokenValues>(runAnalysis(analysis, model, {.input = input}));
}

} // namespace

TEST_CASE("values by token: the states and gates of two LSTM layers are what their equations say", "[analysis][gpu]") {
    TrainedModel model("mixer=lstm, mask=causal");
    for (const int site : {0, 1}) {
        const auto of = [&](const std::string& name) {
            const auto found = valuesOf(*model, kText, site, model->info().site(site).hook(name));
            CHECK(found->rows == 5);
            CHECK(found->units == 16);
            return found->values;
        };
        const auto state = of("state"), cell = of("cell"), in = of("input_gate"), forget = of("forget_gate"),
                   candidate = of("candidate"), out = of("output_gate");
        CHECK(valuesOf(*model, kText, site)->values == state); // what it begins with
        for (size_t at = 0; at < 5 * 16; ++at) {
            const float before = at < 16 ? 0 : cell[at - 16];
            CHECK(cell[at] == Approx(forget[at] * before + in[at] * candidate[at]).margin(1e-6));
            CHECK(state[at] == Approx(out[at] * std::tanh(cell[at])).margin(1e-6));
        }
        CHECK(of("z") == state); // its gate is 1
    }
}

TEST_CASE("values by token: a layer of attention has those around it", "[analysis][gpu]") {
    TrainedModel model("position=learned, mask=causal");
    const std::vector<std::string> hooks = tokenHooks(model->info(), 1);
    CHECK(hooks.front() == "blocks.1.hook_resid_post");
    CHECK(std::ranges::find(hooks, "blocks.1.attn.hook_pattern") == hooks.end());
    for (const std::string& hook : hooks) {
        INFO(hook);
        const CapturedHook expected = model->capture(kText, hook).front();
        CHECK(valuesOf(*model, kText, 1, hook)->values == expected.values);
    }
    CHECK_THROWS_WITH(valuesOf(*model, kText, 1, "blocks.1.attn.hook_pattern"),
                      CONTAINS("has no hook blocks.1.attn.hook_pattern with numbers by token"));
    CHECK_THROWS_WITH(valuesOf(*model, kText, 2), CONTAINS("layer 2"));
}
