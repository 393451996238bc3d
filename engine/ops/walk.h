#pragma once

#include "engine/graph/op.h"

#include <functional>
#include <string_view>
#include <vector>

// How kernels and references step through tensors of several axes.

namespace attn {

/// The axis counted from the first. @throws Error if a tensor of this rank has no such axis
int axisOf(int axis, int rank, std::string_view op);

/// The shape to which both are broadcast, axes aligned at the last. @throws Error
Shape broadcastShape(const Shape& a, const Shape& b, std::string_view op);

/// Floats from one index of each axis to the next, on the device and in references.
std::vector<int64_t> stepsOf(const Shape& shape);
/// Likewise for a tensor that is read as if it had the shape `to`: 0 along axes in which it is repeated.
std::vector<int64_t> broadcastSteps(const Shape& shape, const Shape& to);

/// Calls visit(index) for every index of the shape, in order.
void forEachIndex(const Shape& shape, const std::function<void(const std::vector<int64_t>&)>& visit);
/// Where an index lies: the sum of index * step.
int64_t offsetOf(const std::vector<int64_t>& steps, const std::vector<int64_t>& index);

/// The product of the extents of axes [first, end).
int64_t extentOf(const Shape& shape, int first, int end);

/// A walk through several tensors at once: each starts somewhere and goes its own step along each axis.
struct Walk {
    std::vector<int64_t> extents;
    std::vector<std::vector<int64_t>> steps; ///< of each tensor
    std::vector<int64_t> starts;             ///< of each tensor
};
/// The same walk by exactly `axes` axes, the longest first: axes of one index are dropped and axes that every tensor
/// steps through as through one are joined. Where more than `axes` remain, several walks make up the whole.
std::vector<Walk> splitWalk(const Walk& walk, size_t axes);

/// The grid of a kernel that includes rows.glsl.
struct RowGrid {
    GridAxis x, y, z;
    uint32_t lanes; ///< the constant
};
/// @param rows along x  @param units of each row  @throws Error if rows are longer than a kernel's loop may be
RowGrid rowGrid(int64_t rows, int64_t y, int64_t z, int64_t units);

struct RowLaunch {
    RowGrid grid;
    std::vector<uint32_t> push; ///< ROWS_PUSH
};
/// @param walk over all axes but the last, in the unit of the kernel  @param units of each row
std::vector<RowLaunch> rowLaunches(const Walk& walk, int64_t units);

/// Workgroups of a kernel that goes on by whole grids until all is done: enough to fill a device, few enough that what
/// each does outweighs its start. @param others workgroups along the other axes
GridAxis repeatedGrid(int64_t count, int64_t perGroup, int64_t others = 1);

} // namespace attn
