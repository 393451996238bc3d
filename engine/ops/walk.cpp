#include "engine/ops/walk.h"

#include "engine/ops/rules.h"

#include <algorithm>
#include <numeric>

namespace attn {

int axisOf(int axis, int rank, std::string_view op) {
    const int fromFirst = axis < 0 ? axis + rank : axis;
    require(fromFirst >= 0 && fromFirst < rank, op, fmt::format("a tensor of {} axes has no axis {}", rank, axis));
    return fromFirst;
}

Shape broadcastShape(const Shape& a, const Shape& b, std::string_view op) {
    std::vector<int64_t> extents(static_cast<size_t>(std::max(a.rank(), b.rank())));
    for (int back = 1; back <= static_cast<int>(extents.size()); ++back) {
        const int64_t ofA = back <= a.rank() ? a[-back] : 1, ofB = back <= b.rank() ? b[-back] : 1;
        require(ofA == ofB || ofA == 1 || ofB == 1, op,
                fmt::format("{} and {} do not broadcast: axis -{} has {} and {} indices", a.text(), b.text(), back, ofA,
                            ofB));
        extents[extents.size() - static_cast<size_t>(back)] = ofA == 1 ? ofB : ofA;
    }
    return Shape(extents);
}

std::vector<int64_t> stepsOf(const Shape& shape) {
    std::vector<int64_t> steps(static_cast<size_t>(shape.rank()), 1);
    int64_t step = shape.rowStride();
    for (int axis = shape.rank() - 2; axis >= 0; --axis) {
        steps[static_cast<size_t>(axis)] = step;
        step *= shape[axis];
    }
    return steps;
}

std::vector<int64_t> broadcastSteps(const Shape& shape, const Shape& to) {
    const std::vector<int64_t> own = stepsOf(shape);
    std::vector<int64_t> steps(static_cast<size_t>(to.rank()), 0);
    for (int axis = 0; axis < shape.rank(); ++axis)
        if (shape[axis] != 1)
            steps[static_cast<size_t>(axis + to.rank() - shape.rank())] = own[static_cast<size_t>(axis)];
    return steps;
}

void forEachIndex(const Shape& shape, const std::function<void(const std::vector<int64_t>&)>& visit) {
    std::vector<int64_t> index(static_cast<size_t>(shape.rank()), 0);
    for (int64_t i = 0; i < shape.elements(); ++i) {
        visit(index);
        for (int axis = shape.rank() - 1; axis >= 0; --axis) {
            int64_t& at = index[static_cast<size_t>(axis)];
            if (++at < shape[axis]) break;
            at = 0;
        }
    }
}

int64_t offsetOf(const std::vector<int64_t>& steps, const std::vector<int64_t>& index) {
    return std::inner_product(steps.begin(), steps.end(), index.begin(), int64_t{0});
}

int64_t extentOf(const Shape& shape, int first, int end) {
    int64_t product = 1;
    for (int axis = first; axis < end; ++axis) product *= shape[axis];
    return product;
}

std::vector<Walk> splitWalk(const Walk& walk, size_t axes) {
    const size_t tensors = walk.starts.size();
    struct Axis {
        int64_t extent;
        std::vector<int64_t> steps; // of each tensor
    };
    std::vector<Axis> joined;
    for (size_t i = 0; i < walk.extents.size(); ++i) {
        if (walk.extents[i] == 1) continue;
        Axis axis{walk.extents[i], {}};
        for (const auto& steps : walk.steps) axis.steps.push_back(steps[i]);
        bool continues = !joined.empty();
        for (size_t t = 0; t < tensors && continues; ++t)
            continues = joined.back().steps[t] == axis.steps[t] * axis.extent;
        if (continues) {
            joined.back().extent *= axis.extent;
            joined.back().steps = axis.steps;
        } else {
            joined.push_back(axis);
        }
    }
    std::ranges::stable_sort(joined, [](const Axis& a, const Axis& b) { return a.extent > b.extent; });
    while (joined.size() < axes) joined.push_back({1, std::vector<int64_t>(tensors, 0)});

    Walk first{.extents = {}, .steps = std::vector<std::vector<int64_t>>(tensors), .starts = walk.starts};
    for (size_t i = 0; i < axes; ++i) {
        first.extents.push_back(joined[i].extent);
        for (size_t t = 0; t < tensors; ++t) first.steps[t].push_back(joined[i].steps[t]);
    }
    std::vector<Walk> walks{first};
    for (size_t i = axes; i < joined.size(); ++i) {
        const std::vector<Walk> before = std::move(walks);
        walks.clear();
        for (int64_t index = 0; index < joined[i].extent; ++index)
            for (Walk part : before) {
                for (size_t t = 0; t < tensors; ++t) part.starts[t] += index * joined[i].steps[t];
                walks.push_back(part);
            }
    }
    return walks;
}

RowGrid rowGrid(int64_t rows, int64_t y, int64_t z, int64_t units) {
    constexpr int64_t kLocalSize = 64, kRounds = 65535; // software Vulkan ends a loop after 65,535 rounds
    require(units <= 8 * kRounds, "rows", fmt::format("rows of {} units are too long; fold them first", units));
    int64_t lanes = 1;
    while (lanes < 8 && lanes < units) lanes *= 2;
    return {repeatedGrid(rows, kLocalSize / lanes, y * z), GridAxis::fixed(u32(y)), GridAxis::fixed(u32(z)),
            u32(lanes)};
}

std::vector<RowLaunch> rowLaunches(const Walk& walk, int64_t units) {
    std::vector<RowLaunch> launches;
    for (const Walk& part : splitWalk(walk, 3)) {
        RowLaunch launch{.grid = rowGrid(part.extents[0], part.extents[1], part.extents[2], units),
                         .push = {u32(part.extents[0])}};
        for (size_t t = 0; t < part.starts.size(); ++t) {
            launch.push.push_back(u32(part.starts[t]));
            for (int64_t step : part.steps[t]) launch.push.push_back(u32(step));
        }
        launches.push_back(launch);
    }
    return launches;
}

GridAxis repeatedGrid(int64_t count, int64_t perGroup, int64_t others) {
    constexpr int64_t kGroups = 1024;
    return GridAxis::fixed(u32(std::min((count + perGroup - 1) / perGroup, std::max<int64_t>(kGroups / others, 1))));
}

} // namespace attn
