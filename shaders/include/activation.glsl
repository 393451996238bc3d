// Activations by number: 0 none, 1 GELU (erf), 2 GELU (tanh), 3 SiLU, 4 ReLU; the order of attn::Activation.

// y, or x where it is NaN: min, max and clamp may lose it. (isnan() may be optimised away.)
vec4 orNotANumber4(vec4 x, vec4 y) { return mix(y, x, greaterThan(floatBitsToUint(x) & uvec4(0x7fffffffu), uvec4(0x7f800000u))); }

// exp that neither overflows in 1 / (1 + exp(-x)) nor relies on infinities.
vec4 sigmoid4(vec4 x) { return orNotANumber4(x, 1.0 / (1.0 + exp(-clamp(x, -80.0, 80.0)))); }

// tanh by the logistic function: the built-in overflows to NaN for large arguments on some drivers.
vec4 tanh4(vec4 x) { return 2.0 * sigmoid4(2.0 * x) - 1.0; }

// The share of a standard normal distribution below x, within 8e-8; `bell` is exp(-x^2 / 2).
// @source Abramowitz and Stegun 1964, 7.1.26, for erfc(|x| / sqrt 2)
vec4 normalBelow4(vec4 x, vec4 bell) {
    const vec4 t = 1.0 / (1.0 + 0.2316418882 * abs(x));
    const vec4 beyond = 0.5 * ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t * bell;
    return mix(1.0 - beyond, beyond, lessThan(x, vec4(0.0)));
}

vec4 activate4(uint kind, vec4 x) {
    switch (kind) {
    case 1u: return x * normalBelow4(x, exp(-0.5 * x * x));
    case 2u: return 0.5 * x * (1.0 + tanh4(0.7978845608 * (x + 0.044715 * x * x * x)));
    case 3u: return x * sigmoid4(x);
    case 4u: return orNotANumber4(x, max(x, vec4(0.0)));
    }
    return x;
}

// The derivative of each.
vec4 activationDerivative4(uint kind, vec4 x) {
    switch (kind) {
    case 1u: {
        const vec4 bell = exp(-0.5 * x * x);
        return normalBelow4(x, bell) + x * 0.3989422804 * bell;
    }
    case 2u: {
        const vec4 t = tanh4(0.7978845608 * (x + 0.044715 * x * x * x));
        return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * 0.7978845608 * (1.0 + 0.134145 * x * x);
    }
    case 3u: {
        const vec4 s = sigmoid4(x);
        return s * (1.0 + x * (1.0 - s));
    }
    case 4u: return vec4(greaterThan(x, vec4(0.0)));
    }
    return vec4(1.0);
}
