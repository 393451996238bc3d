#pragma once

#include "engine/inference/changes.h"

#include <QString>

#include <span>
#include <string>
#include <vector>

namespace attn {

/// Place of a change, in the order of the form's list.
enum class ChangePlace : uint8_t { HeadOutput, AttentionOut, MlpOut, WholeLayer, Stream, Embedding };

/// Sets the hook of a change to the one at a place. A whole layer gives two changes if the layer has an MLP.
/// @param layer ignored for ChangePlace::Embedding
/// @param hooks names of all hooks of the model
std::vector<Intervention> changeAtPlace(ChangePlace place, int layer, Intervention change,
                                        std::span<const std::string> hooks);

inline constexpr int kAmountSteps = 100; ///< steps of the amount slider

/// Amount at a slider step: a share from 0 to 1, or the factor of a direction, from -4 to 4.
float amountAt(int step, Intervention::Kind kind);
int firstAmountStep(Intervention::Kind kind); ///< initial slider step: all of the value, or twice the direction
QString amountText(float amount);

} // namespace attn
