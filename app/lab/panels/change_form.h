#pragma once

#include "engine/session/edits.h"

#include <QString>

#include <span>
#include <string>
#include <vector>

namespace attn {

/// Where a form's change is made, in the order of its list.
enum class ChangePlace : uint8_t { HeadOutput, AttentionOut, MlpOut, WholeLayer, Stream, Embedding };

/// The change at such a place. @param hooks of the model: a whole layer is its attention and, where it has one, its MLP
/// @param layer of no meaning for the embedding
std::vector<Intervention> changeAtPlace(ChangePlace place, int layer, Intervention change,
                                        std::span<const std::string> hooks);

inline constexpr int kAmountSteps = 100; ///< of the slider of amounts

/// What the slider says: a share from 0 to 1, or a direction's factor, either way.
float amountAt(int step, Intervention::Kind kind);
int firstAmountStep(Intervention::Kind kind); ///< where the slider begins: the whole, or twice the direction
QString amountText(float amount);

} // namespace attn
