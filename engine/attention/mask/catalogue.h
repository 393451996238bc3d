#pragma once

#include "engine/attention/part.h"

#include <span>
#include <string>
#include <vector>

namespace attn {

/// The terms of mask expressions, in the order in which a reader should meet them.
std::span<const Part* const> maskParts();

/// The default values of a part: those of its parameters, with its default list in place of the last one if it takes a
/// list.
std::vector<double> initialValues(const Part& part);

/// Writes a term as in an expression: "window(256)", "causal".
/// @param values in the order of Part::params; whole numbers are written without a decimal point
std::string termText(const Part& part, std::span<const double> values);

/// A mask from the literature that is an expression of several terms.
struct MaskRecipe {
    std::string_view title;
    std::string_view idea;       ///< one sentence
    std::string_view expression; ///< with numbers that suit a drawing of 64 tokens
    Citation source;
};
/// Every mask recipe, in the order of listings.
std::span<const MaskRecipe> maskRecipes();

} // namespace attn
