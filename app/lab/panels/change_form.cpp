#include "app/lab/panels/change_form.h"

#include "engine/inference/whole_layer.h"
#include "engine/models/hook_names.h"

#include <algorithm>

namespace attn {
namespace {

constexpr float kMostFactor = 4.0f; ///< largest factor of a direction; the smallest is its negative

} // namespace

std::vector<Intervention> changeAtPlace(ChangePlace place, int layer, Intervention change,
                                        std::span<const std::string> hooks) {
    switch (place) {
    case ChangePlace::HeadOutput:
        change.hook = attentionHook(layer, "z");
        break;
    case ChangePlace::AttentionOut:
        change.hook = inBlock(layer, "hook_attn_out");
        break;
    case ChangePlace::MlpOut:
        change.hook = inBlock(layer, "hook_mlp_out");
        break;
    case ChangePlace::WholeLayer:
        return wholeLayer(std::move(change), layer,
                          std::ranges::find(hooks, inBlock(layer, "hook_mlp_out")) != hooks.end());
    case ChangePlace::Stream:
        change.hook = inBlock(layer, "hook_resid_pre");
        break;
    case ChangePlace::Embedding:
        change.hook = "hook_embed";
        break;
    }
    return {change};
}

float amountAt(int step, Intervention::Kind kind) {
    const float share = static_cast<float>(step) / kAmountSteps;
    return kind == Intervention::Kind::Steer ? (2 * share - 1) * kMostFactor : share;
}

int firstAmountStep(Intervention::Kind kind) {
    return kind == Intervention::Kind::Steer ? kAmountSteps * 3 / 4 : kAmountSteps;
}

QString amountText(float amount) { return QString::number(static_cast<double>(amount), 'f', 2); }

} // namespace attn
