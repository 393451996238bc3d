#include "engine/models/trainable_family.h"

#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/models/config_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace attn {

std::span<const TrainableFamily* const> trainableFamilies() {
    static constexpr std::array kFamilies{&kTrainsBert, &kTrainsGpt2, &kTrainsLlama,  &kTrainsXlnet,
                                          &kTrainsT5,   &kTrainsBart, &kTrainsMarian, &kTrainsVit};
    return kFamilies;
}

const TrainableFamily& trainableFamilyNamed(std::string_view id) {
    const auto families = trainableFamilies();
    const auto found = std::ranges::find(families, id, &TrainableFamily::id);
    if (found == families.end())
        throw Error({.what = fmt::format("cannot train \"{}\"", id),
                     .where = "recipe: family",
                     .hint = "choose one of: " + joined(families, &TrainableFamily::id)});
    return **found;
}

LayerAttention attentionOfLayers(const Architecture& a, MaskExpression mask) {
    return {.spec = plainAttention({a.heads, a.keyValueHeads == 0 ? a.heads : a.keyValueHeads}, std::move(mask)),
            .headWidth = a.width / a.heads,
            .queryKeyValueBias = true,
            .outputBias = true};
}

FeedForwardSpec feedForwardOf(const Architecture& a) {
    const auto activation = findActivation(a.activation);
    if (!activation)
        throw Error({.what = fmt::format("there is no \"{}\"", a.activation), .where = "recipe: activation"});
    return {.width = a.attentionOnly ? 0 : a.feedForward != 0 ? a.feedForward : 4 * a.width, .activation = *activation};
}

ModelSpec withEncoder(ModelSpec decoder, LayerAttention self, const LayerAttention& cross, int64_t layers) {
    const auto count = static_cast<size_t>(layers);
    StreamSpec encoder = decoder.stream();
    encoder.layers.assign(count, self);
    self.spec.mask = MaskExpression::causal();
    decoder.layers.assign(count, self);
    decoder.crossAttention.assign(count, cross);
    decoder.readFrom(std::move(encoder));
    return decoder;
}

} // namespace attn
