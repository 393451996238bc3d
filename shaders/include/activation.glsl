// Activations by number: 0 none, 1 GELU (erf), 2 GELU (tanh), 3 SiLU, 4 ReLU; the order of attn::Activation.

// exp that neither overflows in 1 / (1 + exp(-x)) nor relies on infinities.
vec4 sigmoid4(vec4 x) { return 1.0 / (1.0 + exp(-clamp(x, -80.0, 80.0))); }

// tanh by the logistic function: the built-in overflows to NaN for large arguments on some drivers.
vec4 tanh4(vec4 x) { return 2.0 * sigmoid4(2.0 * x) - 1.0; }

// erf for all x within 2e-7. Below 1 the Maclaurin series, above it W. J. Cody-style rational tails are costly, so:
// Abramowitz and Stegun 1964, 7.1.26 is 1.5e-7 absolute, enough where erf is near 1; near 0 the series keeps relative accuracy.
vec4 erf4(vec4 x) {
    const vec4 a = abs(x);
    const vec4 t = 1.0 / (1.0 + 0.3275911 * a);
    const vec4 tail =
        1.0 - ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t * exp(-a * a);
    const vec4 s = a * a;
    const vec4 series = 1.1283791671 * a * (1.0 - s * (1.0 / 3.0 - s * (0.1 - s * (1.0 / 42.0 - s * (1.0 / 216.0 - s / 1320.0)))));
    return sign(x) * mix(tail, series, lessThan(a, vec4(0.5)));
}

vec4 activate4(uint kind, vec4 x) {
    switch (kind) {
    case 1u: return 0.5 * x * (1.0 + erf4(x * 0.70710678118));
    case 2u: return 0.5 * x * (1.0 + tanh4(0.7978845608 * (x + 0.044715 * x * x * x)));
    case 3u: return x * sigmoid4(x);
    case 4u: return max(x, vec4(0.0));
    }
    return x;
}

// The derivative of each.
vec4 activationDerivative4(uint kind, vec4 x) {
    switch (kind) {
    case 1u: return 0.5 * (1.0 + erf4(x * 0.70710678118)) + x * 0.3989422804 * exp(-0.5 * x * x);
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
