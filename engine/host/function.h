#pragma once

#include <cstdint>

// Functions of single numbers and of pairs of them, by name. Unary and Binary are also the attributes of nodes.

namespace attn {

enum class Unary : uint8_t {
    Exponential,
    Logarithm,
    Tanh,
    Sigmoid,
    Square,
    SquareRoot,
    Reciprocal,
    ReciprocalSquareRoot,
    Absolute, ///< slope 0 at 0
    Sine,
    Cosine,
    Floor,      ///< slope 0
    EluPlusOne, ///< x + 1 above 0, else exp(x). @source Katharopoulos et al. 2020, arXiv:2006.16236, section 3.2.1
    Relu,
    Negate
};

enum class Binary : uint8_t {
    Add,
    Subtract,
    Multiply,
    Divide,
    Maximum, ///< of equal elements, a receives the gradient
    Minimum, ///< of equal elements, a receives the gradient
    Less,    ///< 1 where a < b, else 0; no gradient
    Equal    ///< 1 where a = b, else 0; no gradient
};

namespace host {

/// A function of one number. The last two have parameters.
struct Function {
    enum Kind : uint8_t { Affine = static_cast<uint8_t>(Unary::Negate) + 1, Clamp };
    uint8_t kind = 0;            ///< of Unary, or one of Kind
    float first = 0, second = 0; ///< factor and offset, or the limits
};

// Kernels on rows of `columns` floats. They set the padding of what they write to zero.

/// @param x rows of padded columns, as y
void apply(const Function& function, int64_t rows, int64_t columns, const float* x, float* y);
/// The derivative, times dy. @param known x, or f(x) where the derivative is simpler from there
void applyGradient(const Function& function, int64_t rows, int64_t columns, const float* known, const float* dy,
                   float* dx);

/// Rows of one tensor: each begins `step` floats after the one before, or is the same.
struct Operand {
    const float* data = nullptr;
    int64_t step = 0;
    bool isRepeated = false; ///< it has one column, which counts for all
};
void combine(Binary function, int64_t rows, int64_t columns, Operand a, Operand b, float* out, int64_t outStep);
/// condition != 0 ? a : b
void select(int64_t rows, int64_t columns, Operand condition, Operand a, Operand b, float* out, int64_t outStep);

/// Whole numbers as floats, and floats rounded down, for `count` numbers as in elementwise.h.
void toReal(int64_t count, const int32_t* x, float* y);
void toInteger(int64_t count, const float* x, int32_t* y);

} // namespace host
} // namespace attn
