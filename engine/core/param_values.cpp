#include "engine/core/param_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <stdexcept>

namespace attn {

ParamValues::ParamValues(std::span<const Param> params, std::span<const double> values)
    : params_(params), values_(values) {
    assert(values.size() >= params.size());
}

size_t ParamValues::indexOf(std::string_view id) const {
    const auto found = std::ranges::find(params_, id, &Param::id);
    if (found == params_.end()) throw std::logic_error(fmt::format("there is no parameter \"{}\"", id));
    return static_cast<size_t>(found - params_.begin());
}

} // namespace attn
