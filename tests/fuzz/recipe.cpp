#include "engine/training/recipe.h"
#include "engine/attention/attention_spec.h"
#include "engine/io/json_file.h"
#include "tests/fuzz/fuzz.h"

#include <nlohmann/json.hpp>

using namespace attn;

/// recipe.json, and the fields of a recipe that a lesson gives.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text = fuzz::textOf(data, size);
    fuzz::mayRefuse([&] {
        const Recipe recipe = recipeFromJson(parseJson(text, "recipe.json"), "recipe.json");
        fuzz::require(recipeFromJson(toJson(recipe), "recipe.json") == recipe, "a recipe is written as it was read");
        attentionOf(recipe.architecture);
        attentionProblem(recipe.architecture);
    });
    fuzz::mayRefuse([&] { suggestedRecipeWith(std::string(text)); });
    return 0;
}
