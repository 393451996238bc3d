#pragma once

#include "engine/models/class_activation.h"

#include <string>

namespace attn {

/// Refuses a model that says several labels, or a number: training and its evaluation measure one class of several.
/// @param model its name  @param input what it reads: "text" or "picture"  @param where of the error
/// @throws Error if its activation is not a softmax
void requireOneClass(ClassActivation activation, const std::string& model, const char* input, const std::string& where);

} // namespace attn
