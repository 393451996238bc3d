#include "engine/training/one_class.h"

#include "engine/core/error.h"

#include <fmt/format.h>

namespace attn {

void requireOneClass(ClassActivation activation, const std::string& model, const char* input,
                     const std::string& where) {
    if (activation == ClassActivation::Softmax) return;
    throw Error({.what = fmt::format("{} says {} of a {}; a task teaches and measures one class of several", model,
                                     activation == ClassActivation::Sigmoid ? "several labels" : "a number", input),
                 .where = where,
                 .hint = fmt::format(
                     "choose a model with one class for a {} (problem_type: single_label_classification)", input)});
}

} // namespace attn
