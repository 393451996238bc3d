#include "engine/graph/plan.h"

#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

namespace attn {
namespace {

uint64_t alignUp(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

uint64_t bytesOf(const TensorType& type) {
    return static_cast<uint64_t>(type.shape.paddedElements()) * bytesOf(type.dtype);
}

std::vector<TensorType> typesOf(const Graph& graph, const std::vector<Tensor>& tensors) {
    std::vector<TensorType> types;
    for (const Tensor& tensor : tensors) types.push_back(graph.node(tensor.node).outputs[tensor.output]);
    return types;
}

/// Places tensors in the arena, the largest first, each at the least offset where it overlaps no tensor that lives at
/// the same time. In the order of their lives, a small tensor could split the room that a large one needs.
/// @source Pisarchyk and Lee 2020, "Efficient Memory Management for Deep Neural Net Inference", arXiv:2001.03288,
/// section 5.2 (greedy by size)
class ArenaLayout {
public:
    struct Life {
        uint64_t bytes;
        size_t first, last; ///< positions of ops, inclusive
    };

    /// @return the offset of each
    std::vector<uint64_t> place(const std::vector<Life>& lives) {
        std::vector<size_t> order(lives.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::ranges::stable_sort(order, std::greater{}, [&](size_t i) { return lives[i].bytes; });
        std::vector<uint64_t> offsets(lives.size());
        std::vector<size_t> placed; // by offset
        for (const size_t i : order) {
            uint64_t at = 0;
            for (const size_t other : placed) {
                if (lives[other].last < lives[i].first || lives[other].first > lives[i].last) continue;
                if (offsets[other] >= at + lives[i].bytes) break;
                at = std::max(at, offsets[other] + lives[other].bytes);
            }
            offsets[i] = at;
            end_ = std::max(end_, at + lives[i].bytes);
            placed.insert(std::ranges::upper_bound(placed, at, {}, [&](size_t p) { return offsets[p]; }), i);
        }
        return offsets;
    }
    uint64_t end() const { return end_; }

private:
    uint64_t end_ = 0;
};

/// Memory touched since the last barrier, to find the next hazard.
class HazardTracker {
public:
    struct Range {
        Home home;
        std::string_view name; // for everything outside the arena
        uint64_t begin, end;   // within the arena
        bool overlaps(const Range& other) const {
            if (home != other.home) return false;
            if (home != Home::Arena) return name == other.name;
            return begin < other.end && other.begin < end;
        }
    };

    /// @return true if the op must wait for those before it
    bool add(const std::vector<Range>& reads, const std::vector<Range>& writes) {
        const bool hazard = clash(reads, written_) || clash(writes, written_) || clash(writes, read_);
        if (hazard) {
            read_.clear();
            written_.clear();
        }
        read_.insert(read_.end(), reads.begin(), reads.end());
        written_.insert(written_.end(), writes.begin(), writes.end());
        return hazard;
    }

private:
    static bool clash(const std::vector<Range>& a, const std::vector<Range>& b) {
        return std::ranges::any_of(
            a, [&](const Range& x) { return std::ranges::any_of(b, [&](const Range& y) { return x.overlaps(y); }); });
    }
    std::vector<Range> read_, written_;
};

class Planner {
public:
    Planner(std::shared_ptr<const Graph> graph, const PlanOptions& options)
        : graph_(*graph), options_(options), plan_(std::make_shared<Plan>()) {
        plan_->graph = std::move(graph);
        needed_.assign(graph_.size(), false);
    }

    void request(const std::string& name, Tensor tensor) {
        requests_.emplace_back(name, tensor);
        needed_[tensor.node] = true;
    }

    std::shared_ptr<const Plan> build() {
        for (uint32_t node = graph_.size(); node-- > 0;) {
            if (!needed_[node]) continue;
            for (const Tensor& input : graph_.node(node).inputs) needed_[input.node] = true;
        }
        for (uint32_t node : order()) emit(node);
        for (const auto& [name, tensor] : requests_) {
            const uint32_t index = indices_.at({tensor.node, tensor.output});
            plan_->results[name] = index;
            lastUse_[root(index)] = plan_->ops.size(); // pinned
        }
        layOut();
        placeBarriers();
        return plan_;
    }

private:
    static bool writesInPlace(const Node& node) { return node.op->writesInPlace; }

    int aliasOf(const Node& node, uint32_t output) const {
        if (node.kind != NodeKind::Operation || !node.op->aliasOf) return -1;
        const auto inputTypes = typesOf(graph_, node.inputs);
        return node.op->aliasOf({node.attributes, inputTypes, node.outputs}, output);
    }

    /// Where a tensor lies within the memory of its root.
    struct View {
        uint32_t root;
        uint64_t byteOffset;
    };
    View viewOf(uint32_t index) const {
        const auto found = views_.find(index);
        return found == views_.end() ? View{index, 0} : found->second;
    }
    uint32_t root(uint32_t index) const { return viewOf(index).root; }

    /// The place of an output that shares the memory of an input; none if it has its own memory.
    std::optional<View> sharedBy(const Node& node, const PlannedOp& op, uint32_t output) const {
        const int alias = aliasOf(node, output);
        if (alias < 0) return {};
        const uint32_t input = op.inputs[static_cast<size_t>(alias)];
        View view = viewOf(input);
        if (!node.op->aliasBegin) return view;
        const Home home = plan_->tensors[input].home; // a state may change while the part is still read
        const auto inputTypes = typesOf(graph_, node.inputs);
        const uint64_t begin =
            static_cast<uint64_t>(node.op->aliasBegin({node.attributes, inputTypes, node.outputs})) * 4;
        if ((home != Home::Arena && home != Home::Input) || begin % options_.alignment != 0) return {};
        view.byteOffset += begin;
        return view;
    }

    /// Lets the inputs of an op be computed at their places in its output, if no other tensor shares their memory.
    bool placeInputs(const Node& node, const PlannedOp& op) {
        if (!node.op->placeOf) return false;
        const auto inputTypes = typesOf(graph_, node.inputs);
        std::map<uint32_t, uint64_t> places; // root -> offset
        for (uint32_t i = 0; i < op.inputs.size(); ++i) {
            const int64_t place = node.op->placeOf({node.attributes, inputTypes, node.outputs}, i);
            const View view = viewOf(op.inputs[i]);
            const PlannedTensor& whole = plan_->tensors[view.root];
            if (place < 0 || static_cast<uint64_t>(place) * 4 % options_.alignment != 0 || whole.home != Home::Arena ||
                whole.byteSize != plan_->tensors[op.inputs[i]].byteSize ||
                !places.emplace(view.root, static_cast<uint64_t>(place) * 4).second)
                return false;
        }
        const uint32_t output = op.outputs[0];
        firstUse_[output] = plan_->ops.size();
        for (const auto& [part, offset] : places) {
            for (auto& [index, view] : views_)
                if (view.root == part) view = {output, view.byteOffset + offset};
            views_[part] = {output, offset};
            firstUse_[output] = std::min(firstUse_[output], firstUse_.at(part));
            firstUse_.erase(part);
            lastUse_.erase(part);
        }
        return true;
    }

    /// Topological order in which every reader of a source's old value precedes the op that overwrites it.
    std::vector<uint32_t> order() const {
        std::map<uint32_t, std::vector<uint32_t>> oldReaders; // state or parameter -> nodes that read its old value
        for (uint32_t id = 0; id < graph_.size(); ++id) {
            if (!needed_[id]) continue;
            const Node& node = graph_.node(id);
            if (node.kind != NodeKind::Operation || writesInPlace(node)) continue;
            for (const Tensor& input : node.inputs)
                if (graph_.node(input.node).kind == NodeKind::State ||
                    graph_.node(input.node).kind == NodeKind::Parameter)
                    oldReaders[input.node].push_back(id);
        }
        std::vector<uint32_t> result;
        std::vector<uint8_t> mark(graph_.size(), 0); // 1: being visited, 2: done
        auto visit = [&](auto& self, uint32_t id) -> void {
            if (mark[id] == 2) return;
            const Node& node = graph_.node(id);
            if (mark[id] == 1)
                throw Error({.what = "this node needs an old value after it was overwritten",
                             .where = node.name,
                             .hint = "read the tensor that the update returns"});
            mark[id] = 1;
            for (const Tensor& input : node.inputs) self(self, input.node);
            for (uint32_t output = 0;
                 output < node.outputs.size() && node.kind == NodeKind::Operation && writesInPlace(node); ++output)
                if (const auto readers = oldReaders.find(node.inputs[static_cast<size_t>(aliasOf(node, output))].node);
                    readers != oldReaders.end())
                    for (uint32_t reader : readers->second) self(self, reader);
            mark[id] = 2;
            result.push_back(id);
        };
        for (uint32_t id = 0; id < graph_.size(); ++id)
            if (needed_[id]) visit(visit, id);
        return result;
    }

    void emit(uint32_t id) {
        const Node& node = graph_.node(id);
        if (node.kind != NodeKind::Operation) {
            const Home home = node.kind == NodeKind::Input       ? Home::Input
                              : node.kind == NodeKind::Parameter ? Home::Parameter
                                                                 : Home::State;
            indices_[{id, 0}] = addTensor({node.outputs[0], home, node.name, 0, bytesOf(node.outputs[0])});
            return;
        }
        PlannedOp op{.node = id, .inputs = {}, .outputs = {}};
        for (const Tensor& input : node.inputs) op.inputs.push_back(indices_.at({input.node, input.output}));
        op.aliasOnly = !writesInPlace(node) && sharedBy(node, op, 0);
        for (uint32_t output = 0; output < node.outputs.size(); ++output) {
            uint32_t index = 0;
            if (const auto shared = sharedBy(node, op, output)) {
                PlannedTensor view = plan_->tensors[shared->root];
                view.type = node.outputs[output];
                view.byteSize = bytesOf(view.type);
                index = addTensor(view);
                views_[index] = *shared;
            } else {
                index = addTensor({node.outputs[output], Home::Arena, node.name, 0, bytesOf(node.outputs[output])});
            }
            indices_[{id, output}] = index;
            op.outputs.push_back(index);
        }
        const size_t position = plan_->ops.size();
        if (placeInputs(node, op)) op.aliasOnly = true;
        for (uint32_t input : op.inputs) lastUse_[root(input)] = position;
        for (uint32_t output : op.outputs) {
            if (root(output) == output) firstUse_.emplace(output, position);
            lastUse_[root(output)] = position;
        }
        plan_->ops.push_back(std::move(op));
    }

    uint32_t addTensor(PlannedTensor tensor) {
        plan_->tensors.push_back(std::move(tensor));
        return static_cast<uint32_t>(plan_->tensors.size() - 1);
    }

    void layOut() {
        ArenaLayout arena;
        std::vector<uint32_t> roots;
        std::vector<ArenaLayout::Life> lives;
        for (const auto& [index, first] : firstUse_) {
            const uint64_t bytes = std::max<uint64_t>(plan_->tensors[index].byteSize, 16);
            roots.push_back(index);
            lives.push_back({.bytes = alignUp(bytes, options_.alignment),
                             .first = options_.reuseArena ? first : 0,
                             .last = options_.reuseArena ? lastUse_.at(index) : plan_->ops.size()});
        }
        const std::vector<uint64_t> offsets = arena.place(lives);
        for (size_t i = 0; i < roots.size(); ++i) plan_->tensors[roots[i]].byteOffset = offsets[i];
        for (const auto& [index, view] : views_)
            plan_->tensors[index].byteOffset = plan_->tensors[view.root].byteOffset + view.byteOffset;
        plan_->arenaBytes = arena.end();
    }

    void placeBarriers() {
        HazardTracker hazards;
        const auto rangeOf = [&](uint32_t index) {
            const PlannedTensor& tensor = plan_->tensors[index];
            return HazardTracker::Range{tensor.home, tensor.name, tensor.byteOffset,
                                        tensor.byteOffset + tensor.byteSize};
        };
        for (PlannedOp& op : plan_->ops) {
            if (op.aliasOnly) continue;
            std::vector<HazardTracker::Range> reads, writes;
            for (uint32_t input : op.inputs) reads.push_back(rangeOf(input));
            for (uint32_t output : op.outputs) writes.push_back(rangeOf(output));
            op.barrierBefore = hazards.add(reads, writes);
        }
    }

    const Graph& graph_;
    PlanOptions options_;
    std::shared_ptr<Plan> plan_;
    std::vector<bool> needed_;
    std::vector<std::pair<std::string, Tensor>> requests_;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> indices_; // (node, output) -> tensor
    std::map<uint32_t, View> views_;                            // of tensors without memory of their own
    std::map<uint32_t, size_t> firstUse_, lastUse_;             // by root tensor, in positions of plan ops
};

} // namespace

const PlannedTensor& Plan::result(const std::string& name) const {
    const auto found = results.find(name);
    if (found == results.end())
        throw Error({.what = "this plan has no such result", .where = name, .hint = "request it when compiling"});
    return tensors[found->second];
}

std::shared_ptr<const Plan> compile(std::shared_ptr<const Graph> graph, const std::map<std::string, Tensor>& outputs,
                                    const std::set<std::string>& probes, const PlanOptions& options) {
    Planner planner(graph, options);
    for (const auto& [name, tensor] : outputs) planner.request(name, tensor);
    for (const std::string& name : probes) {
        const auto found = graph->probes().find(name);
        if (found == graph->probes().end())
            throw Error(
                {.what = "no such hook", .where = name, .hint = "list them with: attention-cli models PATH --hooks"});
        planner.request(name, found->second.tensor);
    }
    return planner.build();
}

double operationsOf(const Plan& plan, const PlannedOp& op) {
    if (op.aliasOnly) return 0;
    const Node& node = plan.graph->node(op.node);
    std::vector<TensorType> in, out;
    for (uint32_t input : op.inputs) in.push_back(plan.tensors[input].type);
    for (uint32_t output : op.outputs) out.push_back(plan.tensors[output].type);
    if (node.op->operations) return node.op->operations({node.attributes, in, out});
    return static_cast<double>(out.at(0).shape.elements());
}

} // namespace attn
