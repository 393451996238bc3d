#pragma once

#include <cstdint>
#include <vector>

namespace attn {

class ConfigReader;

/// The fields of config.json by which a family sets rotary positions where "rope_parameters" and "rope_scaling" do not.
struct RotaryFields {
    const char* base = "rope_theta";                ///< an older name may stand beside "rope_theta"
    const char* fraction = "partial_rotary_factor"; ///< the same
    double usualFraction = 1;                       ///< of the features that are rotated
    bool mayRotatePart = false;                     ///< else the family rotates all features of a head
};

/// The values of the part "rope": from "rope_parameters" (transformers 5), "rope_scaling" and "rope_theta" (earlier),
/// or a family's own fields. Files may give parameters for each type of layers, if they are the same for all.
/// @throws Error naming a field that is unusable, contradicts another, or names a scaling that is not supported
std::vector<double> rotaryValues(const ConfigReader& read, const RotaryFields& fields, int64_t headWidth);

} // namespace attn
