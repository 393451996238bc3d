#pragma once

#include "engine/core/citation.h"
#include "engine/core/shape.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A matrix of a model before training, for a rule that draws its numbers.
struct InitialMatrix {
    int64_t rows = 1, columns = 1; ///< outputs and inputs; of an embedding, words and features
    bool writesResidual = false;   ///< its result is added to the residual stream
    int64_t layers = 1;
    double deviation = 0.02; ///< of rules that have one
    uint64_t seed = 0;
};

/// A rule for the numbers with which matrices begin. Norms begin as 1 and biases as 0, whatever the rule, and parts of
/// an attention that say how their parameters begin keep to that.
struct Initialisation {
    std::string_view id; ///< "xavier"
    std::string_view title;
    std::string_view idea; ///< one or two sentences
    std::string_view formula;
    Citation source;
    bool hasDeviation; ///< whether it uses InitialMatrix::deviation
    /// @return dense numbers, [rows, columns]
    std::vector<float> (*draw)(const InitialMatrix& matrix);
    // What a run of this program shows of it.
    std::string_view claim;   ///< of the paper, in a sentence
    std::string_view result;  ///< the measurement, in a sentence with numbers
    std::string_view command; ///< prints it
};

/// The rules, in the order in which a reader should meet them. The first is that of a recipe that names none.
std::span<const Initialisation> initialisations();
/// @throws Error with the known rules
const Initialisation& initialisationNamed(std::string_view id);

/// Initial values of a parameter, which depend only on the rule, the seed and its name.
/// @param rule of its matrices  @param deviation of rules that have one; 0.02 in GPT-2
/// @return dense values
std::vector<float> initialWeights(const Initialisation& rule, int64_t layers, const std::string& parameter,
                                  const Shape& shape, double deviation, uint64_t seed);

} // namespace attn
