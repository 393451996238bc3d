#include "engine/core/shape.h"

#include "engine/core/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>

namespace attn {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 60; // their bytes as float32 fit 62 bits

/// @param shape for the message
int64_t product(std::span<const int64_t> extents, const Shape& shape) {
    int64_t result = 1;
    for (const int64_t extent : extents) {
        if (extent < 0 || result > kMostElements / std::max<int64_t>(extent, 1))
            throw Error({.what = fmt::format("a tensor of the shape {} is not possible: an extent is negative or there "
                                             "are too many elements",
                                             shape.text()),
                         .where = {},
                         .hint = "choose smaller sizes"});
        result *= std::max<int64_t>(extent, 1); // an axis without elements hides no overflow
    }
    return std::ranges::find(extents, 0) == extents.end() ? result : 0;
}

} // namespace

int64_t Shape::elements() const { return product(extents_, *this); }

int64_t Shape::rows() const {
    return product(std::span(extents_).first(extents_.empty() ? 0 : extents_.size() - 1), *this);
}

int64_t Shape::paddedElements() const {
    elements(); // checks the extents from which the stride is computed
    return product(std::array{rows(), rowStride()}, *this);
}

void Shape::requireUsable(const std::string& name) const {
    if (std::ranges::any_of(extents_, [](int64_t extent) { return extent < 1; }))
        throw Error({.what = fmt::format("has the shape {}, but every extent must be at least 1", text()),
                     .where = name,
                     .hint = "give every axis at least one element"});
    paddedElements();
}

std::string Shape::text() const { return fmt::format("[{}]", fmt::join(extents_, ", ")); }

} // namespace attn
