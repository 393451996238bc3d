#pragma once

#include "engine/graph/op.h"

#include <functional>
#include <string_view>
#include <vector>

// How kernels and references step through tensors of several axes.

namespace attn {

/// Converts an axis that may be negative. @return the axis, counted from the first
/// @throws Error if a tensor of this rank has no such axis
int axisOf(int axis, int rank, std::string_view op);

/// The shape to which both are broadcast, with axes aligned at the last. @throws Error if there is none
Shape broadcastShape(const Shape& a, const Shape& b, std::string_view op);

/// The number of floats from one index of each axis to the next, on the device and in references.
std::vector<int64_t> stepsOf(const Shape& shape);
/// The steps of a tensor that is read as if it had the shape `to`: 0 along axes on which it is repeated.
std::vector<int64_t> broadcastSteps(const Shape& shape, const Shape& to);

/// Calls visit(index) for every index of the shape, in order.
void forEachIndex(const Shape& shape, const std::function<void(const std::vector<int64_t>&)>& visit);
/// The offset of an index: the sum of index * step.
int64_t offsetOf(const std::vector<int64_t>& steps, const std::vector<int64_t>& index);

/// The product of the extents of axes [first, end).
int64_t extentOf(const Shape& shape, int first, int end);

/// A walk through several tensors at once. Each has its own start and its own step along each axis.
struct Walk {
    std::vector<int64_t> extents;
    std::vector<std::vector<int64_t>> steps; ///< per tensor
    std::vector<int64_t> starts;             ///< per tensor
};
/// Rewrites a walk with exactly `axes` axes, the longest first: drops axes of extent 1 and joins axes that every tensor
/// steps through as if they were one. If more than `axes` remain, several walks make up the whole.
std::vector<Walk> splitWalk(const Walk& walk, size_t axes);

/// The grid of a kernel that includes rows.glsl.
struct RowGrid {
    GridAxis x, y, z;
    uint32_t lanes; ///< the constant
};
/// @param rows along x  @param units per row  @throws Error if a row is too long for a kernel's loop
RowGrid rowGrid(int64_t rows, int64_t y, int64_t z, int64_t units);

struct RowLaunch {
    RowGrid grid;
    std::vector<uint32_t> push; ///< ROWS_PUSH
};
/// Splits a walk into the launches of a kernel that includes rows.glsl.
/// @param walk over all axes but the last, in the unit of the kernel  @param units per row
std::vector<RowLaunch> rowLaunches(const Walk& walk, int64_t units);

/// The grid of a kernel whose invocations repeat in steps of the whole grid until all work is done. It has enough
/// workgroups to fill a device, but so few that their work outweighs their start. @param others workgroups along the
/// other axes
GridAxis repeatedGrid(int64_t count, int64_t perGroup, int64_t others = 1);

} // namespace attn
