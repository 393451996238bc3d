#include "engine/playground/attention_cost.h"

#include "engine/attention/execution.h"
#include "engine/attention/mask/blocks.h"
#include "engine/graph/plan.h"
#include "engine/playground/playground_input.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>

namespace attn {
namespace {

/// The number of cells that the mask shows, over all heads.
double shownCells(const AttentionSpec& spec, const AttentionSizes& sizes, int64_t heads) {
    const MaskExpression mask = spec.mask.staticPart();
    const int64_t different = mask.dependsOnHead() ? heads : 1;
    double cells = 0;
    for (int64_t head = 0; head < different; ++head)
        cells += static_cast<double>(maskBlocks(mask, {.queries = sizes.queries,
                                                       .keys = sizes.keys,
                                                       .head = static_cast<int>(head),
                                                       .heads = static_cast<int>(heads),
                                                       .layer = static_cast<int>(sizes.layer)})
                                         .seen);
    return cells * static_cast<double>(heads / different);
}

} // namespace

AttentionCost attentionCost(const AttentionSpec& spec, const AttentionSizes& sizes) {
    const AttentionGraph built = attentionGraph(spec, sizes, true);
    const auto plan = compile(built.graph, {{"z", built.flow.z}});
    AttentionCost cost{.tokens = sizes.queries, .bytes = static_cast<double>(plan->arenaBytes)};
    std::set<std::string_view> counted; // an input may have several views
    for (const PlannedTensor& tensor : plan->tensors) {
        if (tensor.home == Home::Arena || !counted.insert(tensor.name).second) continue;
        const bool isLearned =
            std::ranges::find(built.flow.parameters, tensor.name, &FlowParameter::name) != built.flow.parameters.end();
        (isLearned ? cost.learnedBytes : cost.bytes) += static_cast<double>(tensor.byteSize);
    }
    for (const PlannedOp& op : plan->ops) cost.operations += operationsOf(*plan, op);
    const Part& core = coreOf(spec);
    cost.pairs = core.mix.pairs ? core.mix.pairs(spec.values(core.slot), sizes.queries, built.flow.isCausal()) *
                                      static_cast<double>(built.flow.heads)
                                : shownCells(spec, sizes, built.flow.heads);
    return cost;
}

std::optional<AttentionCost> measureAttention(Device& device, const AttentionSpec& spec, const AttentionSizes& sizes,
                                              const std::function<bool()>& isCancelled) {
    AttentionCost cost = attentionCost(spec, sizes);
    const std::array<std::string, 1> wanted{"z"};
    AttentionRun attention(device, spec, sizes, wanted);
    const AttentionNumbers numbers = randomNumbers({.heads = attention.heads(),
                                                    .groups = attention.groups(),
                                                    .tokens = sizes.queries,
                                                    .width = sizes.width,
                                                    .keys = sizes.keys},
                                                   0);
    attention.setInputs(numbers.q, numbers.k, numbers.v);
    using Clock = std::chrono::steady_clock;
    std::vector<double> times;
    double total = 0;
    for (int pass = 0; pass < 4 || (pass < 40 && total < 200); ++pass) {
        if (isCancelled()) return {};
        const auto start = Clock::now();
        attention.run();
        const double elapsed = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
        if (pass > 0) times.push_back(elapsed);
        total += elapsed;
    }
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    cost.milliseconds = times[times.size() / 2];
    return cost;
}

} // namespace attn
