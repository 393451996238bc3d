#include "engine/models/family.h"

#include "engine/attention/part.h"
#include "engine/core/error.h"
#include "engine/io/weight_source.h"
#include "engine/models/config_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace attn {

TensorNames::TensorNames(std::vector<std::string> names) : sorted_(std::move(names)) { std::ranges::sort(sorted_); }
TensorNames::TensorNames(const WeightSource& weights) : TensorNames(weights.names()) { weights_ = &weights; }

int64_t TensorNames::rowsOf(const std::string& tensor) const {
    const std::vector<int64_t>& shape = weights_->tensor(tensor).shape;
    return shape.empty() ? 1 : shape.front();
}

bool TensorNames::contains(std::string_view name) const {
    return std::ranges::binary_search(sorted_, name, {}, [](const std::string& s) { return std::string_view(s); });
}

std::string TensorNames::resolve(std::string_view prefix, std::string_view name) const {
    const std::string prefixed = std::string(prefix) + std::string(name);
    return contains(prefixed) ? prefixed : std::string(name);
}

void requireNoProjections(const ConfigReader& read, const AttentionSpec& spec, const std::string& block,
                          const TensorNames& names) {
    const std::string projection = block + ".attn.W_V";
    if (!mixesStream(spec) || !names.contains(projection)) return;
    read.fail("attention",
              fmt::format("names {} for {}, which has no projections, but the weights hold \"{}\"",
                          spec.part(Slot::Mixer).title, block, projection),
              "an older version of this program wrote the model; train it again");
}

bool TiedReadout::asked(const ConfigReader& read) const {
    const bool isLoose = !looseType.empty() && read.text("model_type", "") == looseType;
    return read.flag("tie_word_embeddings", byDefault && !isLoose);
}

bool TiedReadout::inForce(const ConfigReader& read, const TensorNames& names) const {
    const bool isAsked = asked(read);
    return !names.contains(stored) || (isAsked && !prefersStored);
}

WeightRecipe recipeOf(const ModelFamily& family, const ModelSpec& config, const std::string& parameter,
                      const TensorNames& names) {
    WeightRecipe recipe = family.recipe(config, parameter, names);
    if (parameter == "embed.W_E" && config.tokenReadout().tiedEmbedding && !names.contains(recipe.source) &&
        names.contains(family.tie.stored))
        recipe.source = family.tie.stored;
    return recipe;
}

const ModelFamily* familyNamed(std::string_view id) {
    const auto found = std::ranges::find(familyCatalogue(), id, [](const ModelFamily* family) { return family->id; });
    return found == familyCatalogue().end() ? nullptr : *found;
}

const ModelFamily& familyOf(const ConfigReader& read, const TensorNames& names) {
    const auto type = read.has("model_type") ? std::optional(read.text("model_type", "")) : std::nullopt;
    std::vector<std::string_view> known;
    for (const ModelFamily* family : familyCatalogue()) {
        if (type ? std::ranges::count(family->modelTypes, *type) > 0 : family->recognises && family->recognises(names))
            return *family;
        known.insert(known.end(), family->modelTypes.begin(), family->modelTypes.end());
        if (family->modelTypes.empty()) known.push_back(family->id);
    }
    throw Error({.what = type && !type->empty() ? fmt::format("model family \"{}\" is not supported", *type)
                                                : "\"model_type\" is missing, so the family is unknown",
                 .where = read.file(),
                 .hint = fmt::format("supported: {}", fmt::join(known, ", "))});
}

} // namespace attn
