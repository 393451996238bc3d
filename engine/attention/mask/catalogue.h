#pragma once

#include "engine/attention/part.h"

#include <span>
#include <string>
#include <vector>

namespace attn {

/// The terms of mask expressions, in the order in which a reader should meet them.
std::span<const Part* const> maskParts();

/// The values a part begins with: what its parameters say, with the list in place of the last one where it takes one.
std::vector<double> initialValues(const Part& part);

/// A term as an expression writes it: "window(256)", "causal".
/// @param values whole numbers are written without a point
std::string termText(const Part& part, std::span<const double> values);

/// A mask of the literature that is an expression of terms.
struct MaskRecipe {
    std::string_view title;
    std::string_view expression; ///< in the proportions of a picture of 64 tokens
    Citation source;
};
std::span<const MaskRecipe> maskRecipes();

} // namespace attn
