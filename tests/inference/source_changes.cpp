#include "engine/inference/changes.h"
#include "engine/inference/language_model.h"
#include "tests/models/vision_folder.h"
#include "tests/support/catch.h"
#include "tests/support/farthest.h"

#include <algorithm>

using namespace attn;
using namespace attn::test;

namespace {

/// The logits after the last token by a run of the whole text, in a model of its own.
std::vector<float> wholeLogits(const std::string& path, const TextInput& input, const Changes& changes) {
    LanguageModel model(openModelSource(path), {});
    model.setChanges(changes, input);
    const std::vector<float> all = model.formedLogits(input);
    return {all.end() - model.choices(), all.end()};
}

} // namespace

TEST_CASE("changes: a hook of the encoder is changed while changes are on, and only then", "[inference][gpu]") {
    for (const std::string& path :
         {std::string("builtin:numbers-de"), (kGoldenRoot / "t5").string(), (kGoldenRoot / "t5_gated").string(),
          (kGoldenRoot / "bart").string(), (kGoldenRoot / "marian").string()}) {
        CAPTURE(path);
        const Changes changes{.valueChanges = {{.hook = "encoder.0.hook_resid_pre", .position = 1}}};
        for (const bool first : {false, true}) {
            LanguageModel model(openModelSource(path), {});
            const TextInput input{.tokens = {static_cast<int>(model.config().startToken), 4, 6},
                                  .source = {3, 5, 8, 9, 1}};
            const std::vector<float> plain = wholeLogits(path, input, {}), changed = wholeLogits(path, input, changes);
            REQUIRE(farthest(changed, plain, 1) > 1e-3);
            model.setChanges(changes, input);
            for (const bool isBypassed : {first, !first, first, first}) {
                CAPTURE(first, isBypassed);
                model.bypassChanges(isBypassed);
                model.truncate(0);
                model.setSides(input);
                REQUIRE(model.feed(std::span(input.tokens).first(2)));
                REQUIRE(model.feed(std::span(input.tokens).last(1)));
                // fp32 sums in other orders through a few layers.
                CHECK(farthest(model.logits(), isBypassed ? plain : changed, 1) < 1e-4);
                CHECK(farthest(model.predict(input), isBypassed ? plain : changed, 1) < 1e-4);
            }
        }
    }
}
