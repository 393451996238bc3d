#pragma once

#include "engine/core/param.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace attn {

/// Reads the checked values of parameters by name: `values.integer("window")`. A view: the parameters and the values
/// must outlive it.
///
/// Every accessor throws std::logic_error if there is no parameter of that name, which is a mistake in the program.
class ParamValues {
public:
    ParamValues() = default;
    /// @param params what each value means
    /// @param values in the order of `params`, all present and in range. More values than parameters are a list that
    ///        the last parameter describes
    ParamValues(std::span<const Param> params, std::span<const double> values);

    int integer(std::string_view id) const { return static_cast<int>(values_[indexOf(id)]); }
    double real(std::string_view id) const { return values_[indexOf(id)]; }
    bool flag(std::string_view id) const { return values_[indexOf(id)] != 0; }
    /// The parameter "seed", whose range may be larger than an int's.
    uint64_t seed() const { return static_cast<uint64_t>(real("seed")); }
    /// The list that the last parameter describes. @param id of that parameter
    std::span<const double> list(std::string_view id) const { return values_.subspan(indexOf(id)); }

private:
    size_t indexOf(std::string_view id) const;

    std::span<const Param> params_{};
    std::span<const double> values_{};
};

} // namespace attn
