#include "engine/attention/attention_spec.h"
#include "engine/io/json_file.h"
#include "engine/playground/attention_run.h"
#include "tests/fuzz/fuzz.h"

#include <nlohmann/json.hpp>

using namespace attn;

/// A composition of attention as an expression or as JSON, and the graph of those that combine.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text = fuzz::textOf(data, size);
    fuzz::mayRefuse([&] {
        const AttentionSpec spec =
            text.starts_with('{') ? attentionSpecFromJson(parseJson(text, "spec.json")) : AttentionSpec::parse(text);
        fuzz::require(AttentionSpec::parse(spec.text()) == spec, "a composition is written as it was read");
        fuzz::require(attentionSpecFromJson(spec.text()) == spec, "a composition may stand in JSON");
        for (const bool isCausal : {false, true})
            for (const SpecProblem& problem : check(spec, {.isCausalTask = isCausal, .headWidth = 8}))
                fuzz::require(!problem.sentence.empty(), "a problem has a sentence");
        attentionGraph(spec, {.queries = 8, .keys = 8, .width = 8}, true);
    });
    return 0;
}
