#include "engine/playground/path_comparison.h"

#include "engine/attention/execution.h"
#include "engine/attention/mask/blocks.h"
#include "engine/graph/plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

namespace attn {
namespace {

/// The inputs of the kernel that hold its lists of tiles: see BlockAttentionInputs.
enum ListInput : size_t { KeyInput = 1, ValueInput = 2, BeginInput = 3, TileInput = 4, BitInput = 7 };

struct Operation {
    const Plan& plan;
    const PlannedOp& op;
    const Node& node = plan.graph->node(op.node);

    const PlannedTensor& input(size_t index) const { return plan.tensors[op.inputs[index]]; }
    std::vector<Dispatch> dispatches() const {
        std::vector<TensorType> inputs, outputs;
        for (const uint32_t tensor : op.inputs) inputs.push_back(plan.tensors[tensor].type);
        for (const uint32_t tensor : op.outputs) outputs.push_back(plan.tensors[tensor].type);
        return node.op->dispatch({node.attributes, inputs, outputs}, {});
    }
};

Traffic trafficOf(const Operation& operation) {
    Traffic traffic;
    for (const Dispatch& dispatch : operation.dispatches()) {
        std::set<std::pair<bool, uint32_t>> bound; // absent inputs are bound to a tensor that is bound anyway
        for (const Binding& binding : dispatch.bindings) {
            if (binding.byteSize == 0 && !bound.emplace(binding.access == Access::Write, binding.index).second)
                continue;
            const auto& tensors = binding.isOutput ? operation.op.outputs : operation.op.inputs;
            const double all = static_cast<double>(operation.plan.tensors[tensors[binding.index]].byteSize);
            (binding.access == Access::Write ? traffic.written : traffic.read) +=
                binding.byteSize == 0 ? all - static_cast<double>(binding.byteOffset)
                                      : static_cast<double>(binding.byteSize);
        }
    }
    return traffic;
}

std::shared_ptr<const Plan> planOf(const AttentionGraph& built) { return compile(built.graph, {{"z", built.flow.z}}); }

Traffic trafficOf(const Plan& plan) {
    Traffic sum;
    for (const PlannedOp& op : plan.ops) {
        if (op.aliasOnly) continue;
        const Traffic own = trafficOf(Operation{plan, op});
        sum.read += own.read;
        sum.written += own.written;
    }
    return sum;
}

/// Reads a kernel's lists of tiles from the constants of its graph.
class TileReader {
public:
    TileReader(const AttentionFlow& flow, const Operation& kernel) : flow_(flow), kernel_(kernel) {}

    PlaygroundMap walked() const {
        const std::vector<float> begins = numbers(BeginInput), tiles = numbers(TileInput), bits = numbers(BitInput);
        const int64_t T = flow_.queries, S = flow_.keys;
        PlaygroundMap map{.name = "tiles.walked",
                          .heads = kernel_.input(BeginInput).type.shape[0],
                          .rows = (T + MaskBlocks::kQueries - 1) / MaskBlocks::kQueries,
                          .columns = (S + MaskBlocks::kKeys - 1) / MaskBlocks::kKeys,
                          .values = {}};
        map.values.assign(static_cast<size_t>(map.heads * map.rows * map.columns),
                          std::numeric_limits<float>::quiet_NaN());
        for (int64_t head = 0; head < map.heads; ++head)
            for (int64_t row = 0; row < map.rows; ++row) {
                const auto begin = static_cast<size_t>(head * (map.rows + 1) + row);
                for (auto at = static_cast<size_t>(begins[begin]); at < static_cast<size_t>(begins[begin + 1]); ++at) {
                    const auto column = static_cast<int64_t>(tiles[2 * at]);
                    const int64_t cells = std::min(MaskBlocks::kQueries, T - row * MaskBlocks::kQueries) *
                                          std::min(MaskBlocks::kKeys, S - column * MaskBlocks::kKeys);
                    map.values[static_cast<size_t>((head * map.rows + row) * map.columns + column)] =
                        shown(bits, static_cast<size_t>(tiles[2 * at + 1])) / static_cast<float>(cells);
                    if (tiles[2 * at + 1] == 0) // this row of bits shows all existing cells
                        map.values[static_cast<size_t>((head * map.rows + row) * map.columns + column)] = 1;
                }
            }
        return map;
    }

private:
    std::vector<float> numbers(size_t input) const {
        const auto found = std::ranges::find(flow_.constants, kernel_.input(input).name, &FlowConstant::name);
        return found->values();
    }
    static float shown(const std::vector<float>& bits, size_t row) {
        int count = 0;
        for (size_t half = 0; half < 16; ++half) count += std::popcount(static_cast<uint32_t>(bits[row * 16 + half]));
        return static_cast<float>(count);
    }

    const AttentionFlow& flow_;
    const Operation& kernel_;
};

} // namespace

std::optional<PathTraffic> pathTraffic(const AttentionSpec& spec, const AttentionSizes& sizes) {
    if (!isFused(spec)) return {};
    const AttentionGraph tiled = attentionGraph(spec, sizes, true);
    const auto plan = planOf(tiled), formed = planOf(attentionGraph(spec, sizes, false));
    PathTraffic traffic{.tiles = trafficOf(*plan), .formed = trafficOf(*formed), .walked = {}};
    // The last such op has all queries. Ops of global tokens with their own projections come before it.
    const auto op = std::find_if(plan->ops.rbegin(), plan->ops.rend(), [&](const PlannedOp& each) {
        return plan->graph->node(each.node).op->name == "block_attention";
    });
    if (op == plan->ops.rend()) return {};
    const Operation kernel{*plan, *op};
    traffic.walked = TileReader(tiled.flow, kernel).walked();
    // Each pass over the tiles of a block of queries reads their keys. Other features of z need further passes.
    const auto walked =
        static_cast<double>(std::ranges::count_if(traffic.walked.values, [](float x) { return x > 0; }));
    const double heads = static_cast<double>(tiled.flow.heads) / static_cast<double>(traffic.walked.heads);
    const double rowBytes = 4 * static_cast<double>(kernel.input(KeyInput).type.shape.rowStride());
    const double walks = static_cast<double>(kernel.dispatches().front().z.groups({}));
    traffic.uncachedRead = traffic.tiles.read -
                           static_cast<double>(kernel.input(KeyInput).byteSize + kernel.input(ValueInput).byteSize) +
                           walked * heads * static_cast<double>(MaskBlocks::kKeys) * rowBytes * (walks + 1);
    return traffic;
}

PathComparison comparePaths(PathTraffic traffic, const AttentionRun& tiles, const PlaygroundMap& formed) {
    PathComparison comparison{.traffic = std::move(traffic), .output = formed};
    comparison.output.values = tiles.result("z").values;
    for (size_t i = 0; i < formed.values.size(); ++i) {
        const double a = static_cast<double>(comparison.output.values[i]), b = static_cast<double>(formed.values[i]);
        comparison.largestDifference = std::max(comparison.largestDifference, std::abs(a - b));
        comparison.largestOutput = std::max(comparison.largestOutput, std::abs(b));
    }
    return comparison;
}

} // namespace attn
