#include "engine/core/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attn {

int64_t Shape::elements() const { return rows() * columns(); }

int64_t Shape::rows() const {
    int64_t product = 1;
    for (int axis = 0; axis + 1 < rank(); ++axis) product *= (*this)[axis];
    return product;
}

std::string Shape::text() const { return fmt::format("[{}]", fmt::join(extents_, ", ")); }

} // namespace attn
