#pragma once

#include "engine/core/citation.h"
#include "engine/ops/ops.h"

#include <span>
#include <string_view>

namespace attn {

/// How training keeps activations and their gradients, with its card: sentences that explain it.
struct Precision {
    DType dtype = DType::F32; ///< of activations and their gradients
    std::string_view id;      ///< "bf16"
    std::string_view title;
    std::string_view purpose;
    std::string_view approximation; ///< the values that are rounded, and how far
    std::string_view difference;    ///< from the paper; empty: none
    std::string_view result;        ///< the measurement
    std::string_view command;       ///< measures it again
    Citation source;
};

/// The precisions, in the order in which a reader should meet them. The first is that of a recipe that names none.
std::span<const Precision> precisions();
/// @throws Error with the known precisions
const Precision& precisionNamed(std::string_view id);
const Precision& precisionOf(DType dtype);

} // namespace attn
