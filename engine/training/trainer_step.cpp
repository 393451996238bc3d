#include "engine/training/trainer_step.h"

#include "engine/core/error.h"
#include "engine/ops/definitions.h"
#include "engine/ops/gradient.h"
#include "engine/ops/mixed_precision.h"
#include "engine/ops/tensor_ops.h"
#include "engine/ops/training_ops.h"
#include "engine/training/forward_copy.h"
#include "engine/training/starting_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

// The graphs of a training step: loss, gradients, and the optimiser's update.

namespace attn {

Objective::Forward Trainer::adapted(Objective::Forward forward) const {
    return withAdapters(std::move(forward), adapters_, recipe_.start.adapters.scale());
}

Trainer::Loss Trainer::withLoss(Objective::Forward forward) const {
    std::vector<Tensor> losses;
    Tensor total{};
    for (const NamedLoss& loss : forward.losses) {
        losses.push_back(lossesOf(loss, recipe_.smoothing));
        total = total ? add(total, sum(losses.back())) : sum(losses.back());
    }
    for (const Tensor penalty : forward.partTensors.penalties) total = add(total, penalty);
    return {.model = std::move(forward), .losses = losses.front(), .total = total};
}

/// Adds the optimiser's update to a graph, one for each factor of the learning rate.
/// @param isScaled whether the gradients are those of the scaled loss  @return what to compute
std::map<std::string, Tensor> Trainer::addUpdates(Graph& graph, const std::vector<std::string>& names,
                                                  const std::vector<Tensor>& gradients, bool isScaled) const {
    const Optimiser& optimiser = recipe_.optimiser;
    const bool isSgd = optimiser.kind == Optimiser::Kind::Sgd;
    Tensor squares = squareNorms(gradients), inverse{};
    if (isScaled) {
        inverse = graph.input(step_inputs::kInverseScale, {.shape = {1}});
        squares = multiply(squares, multiply(inverse, inverse));
    }
    Clip clip = clipFactor(squares, optimiser.clip, isScaled);
    if (isScaled) clip.factor = multiply(clip.factor, inverse);
    const std::vector<std::string> blocks = objective_->structure().blocks();
    std::map<double, std::vector<size_t>, std::greater<>> groups;
    for (size_t i = 0; i < names.size(); ++i) groups[rateFactor(recipe_.start, names[i], blocks)].push_back(i);
    std::map<std::string, Tensor> outputs{{"norm", clip.norm}};
    for (const auto& [factor, members] : groups) {
        std::vector<Tensor> states, own;
        for (const size_t i : members) {
            const Shape& shape = gradients[i].shape();
            own.push_back(gradients[i]);
            states.push_back(graph.parameter(names[i], shape));
            states.push_back(graph.state("moment." + names[i], {.shape = shape}));
            if (!isSgd) states.push_back(graph.state("variance." + names[i], {.shape = shape}));
        }
        outputs[fmt::format("updated.{}", outputs.size())] =
            isSgd ? sgdUpdate(states, own, clip.factor, optimiser.momentum, optimiser.decay, factor)[0]
                  : adamUpdate(states, own, clip.factor,
                               {.beta1 = optimiser.beta1,
                                .beta2 = optimiser.beta2,
                                .epsilon = optimiser.epsilon,
                                .decay = optimiser.decay,
                                .isDecoupled = optimiser.kind == Optimiser::Kind::AdamW,
                                .rateFactor = factor})[0];
    }
    return outputs;
}

/// The savings that a model uses, and checkpointing where it could. A reversible layer keeps less than its input.
std::vector<TrainingMemory::Alternative> Trainer::savings(const Objective::Forward& model) const {
    const auto isReversible = [](const Recomputed& part) { return part.reversible.has_value(); };
    const std::vector<Recomputed>& parts = model.partTensors.recomputed;
    std::vector<TrainingMemory::Alternative> found;
    if (std::ranges::none_of(parts, isReversible))
        found.push_back({.saving = MemorySaving::Checkpointing, .isUsed = recipe_.gradientCheckpointing});
    else
        found.push_back({.saving = MemorySaving::Reversible, .isUsed = true});
    if (!std::ranges::all_of(parts, isReversible)) found.push_back({.saving = MemorySaving::Chunks, .isUsed = true});
    if (std::ranges::none_of(parts, isReversible)) // rounded outputs do not give the inputs back
        found.push_back({.saving = MemorySaving::ShortNumbers, .isUsed = recipe_.precision != DType::F32});
    return found;
}

/// What the backward pass computes again: what parts ask for, and each layer if the recipe says so.
/// @param turned a saving that is used if savings() says that it is not, and the other way round
std::vector<Recomputed> Trainer::recomputed(const Objective::Forward& model, std::optional<MemorySaving> turned) const {
    const auto used = savings(model);
    const auto uses = [&](MemorySaving saving) {
        const auto found = std::ranges::find(used, saving, &TrainingMemory::Alternative::saving);
        return found != used.end() && found->isUsed != (turned == saving);
    };
    std::vector<Recomputed> ranges;
    if (uses(MemorySaving::Checkpointing))
        for (const NodeRange& block : model.blocks) ranges.push_back({.nodes = block});
    for (const Recomputed& part : model.partTensors.recomputed)
        if (uses(part.reversible ? MemorySaving::Reversible : MemorySaving::Chunks)) ranges.push_back(part);
    return ranges;
}

/// The graphs of a step with the windows of a stage; evaluations have those of the model.
Trainer::Step Trainer::stepOf(int64_t stage, std::optional<MemorySaving> turned) const {
    Objective::Forward forward = adapted(objective_->forward(recipe_.batch / recipe_.accumulation, recipe_.dropout,
                                                             recipe_.schedule.windowDivisor(stage)));
    const DType precision = turned != MemorySaving::ShortNumbers ? recipe_.precision
                            : recipe_.precision == DType::F32    ? DType::BF16
                                                                 : DType::F32;
    const bool isScaled = scalesLoss(precision);
    if (precision != DType::F32 && std::ranges::any_of(forward.partTensors.recomputed,
                                                       &std::optional<Reversible>::has_value, &Recomputed::reversible))
        throw Error(
            {.what = "the inputs of reversible layers cannot be computed from outputs that are rounded to 16 bits",
             .where = "recipe: precision",
             .hint = "choose f32, or layers without residual=reversible"});
    if (precision != DType::F32) forward = in16Bits(std::move(forward), precision);
    Step step{.loss = withLoss(std::move(forward)), .outputs = {}, .updateGraph = {}, .updateOutputs = {}};
    const Loss& loss = step.loss;
    const bool accumulates = recipe_.accumulation > 1;
    step.updateGraph = accumulates ? std::make_shared<Graph>() : loss.model.graph;
    std::vector<Tensor> trained;
    std::vector<std::string> names;
    for (const Named& each : trained_) {
        names.push_back(each.name);
        trained.push_back(loss.model.graph->parameter(each.name, each.shape));
    }
    Graph& graph = *loss.model.graph;
    const Tensor learned =
        isScaled ? multiply(loss.total, graph.input(step_inputs::kLossScale, {.shape = {1}})) : loss.total;
    std::vector<Tensor> gradients = gradient(learned, trained, {.recomputed = recomputed(loss.model, turned)});
    graph.keepThrough(nullptr);
    for (size_t i = names.size(); i-- > 0;)
        if (!gradients[i]) { // nothing reads it, such as W_Q where scores do not depend on queries: it stays as it is
            const auto at = static_cast<std::ptrdiff_t>(i);
            names.erase(names.begin() + at);
            trained.erase(trained.begin() + at);
            gradients.erase(gradients.begin() + at);
        }
    step.outputs = {{"loss", loss.total}};
    for (const auto& [name, next] : loss.model.partTensors.averages)
        if (std::ranges::find(averages_, name) != averages_.end()) // of layers that share it, the first sets it
            step.outputs.emplace("average." + name,
                                 assign(loss.model.graph->parameter(name, next.shape()), next, StepScalar::Beginning));
    for (const auto& [name, next] : loss.model.updates) step.outputs.emplace("carried." + name, next);
    if (accumulates) {
        const auto sumsIn = [&](Graph& of) {
            std::vector<Tensor> sums;
            for (size_t i = 0; i < names.size(); ++i)
                sums.push_back(of.state("gradient." + names[i], {.shape = trained[i].shape()}));
            return sums;
        };
        step.outputs["gradient"] = accumulate(sumsIn(*loss.model.graph), gradients)[0];
        gradients = sumsIn(*step.updateGraph);
    }
    step.updateOutputs = addUpdates(*step.updateGraph, names, gradients, isScaled);
    if (!accumulates) step.outputs.merge(step.updateOutputs);
    return step;
}

void Trainer::buildStep(int64_t stage) {
    step_.reset();
    update_.reset();
    builtStage_ = -1; // also if there is no room for the new one
    const Step step = stepOf(stage);
    if (recipe_.accumulation > 1)
        update_ = std::make_unique<GpuExecutor>(*device_, *store_, compile(step.updateGraph, step.updateOutputs),
                                                GpuExecutorOptions{.cutsFinely = execution_.cutsFinely});
    step_ = makeExecutor(step.loss.model, step.outputs, execution_);
    builtStage_ = stage;
}

double Trainer::vanishingGradients(double scale) {
    if (!lossScale())
        throw Error({.what = "only f16 scales the loss", .where = "recipe: precision", .hint = "choose f16"});
    const Step step = stepOf(recipe_.schedule.stageOf(stepsDone_));
    const auto plan = compile(step.loss.model.graph, step.outputs);
    const auto countNonzero = [](Tensor x) { // exact up to 2^24 numbers
        return sum(clamp(affine(unary(x, Unary::Absolute), std::numeric_limits<float>::max(), 0), 0, 1));
    };
    Tensor before{}, after{};
    for (const PlannedOp& op : plan->ops) {
        const Node node = plan->graph->node(op.node); // a copy: adding moves nodes
        if (op.node <= step.loss.total.node || node.op != &kNarrow ||
            plan->graph->node(node.inputs[0].node).kind != NodeKind::Operation)
            continue;
        const Tensor rounded{node.inputs[0].graph, op.node, 0};
        const Tensor all = countNonzero(node.inputs[0]), left = countNonzero(widen(rounded));
        before = before ? add(before, all) : all;
        after = after ? add(after, left) : left;
    }
    const auto executor = makeExecutor(step.loss.model, {{"before", before}, {"after", after}});
    const StepBatch batch = nextBatch();
    fill(*executor, losses_, batch.parts.front(), batch.weights, openGates_);
    executor->input(step_inputs::kLossScale)[0] = static_cast<float>(scale);
    StepParams params;
    params[StepScalar::Seed] = static_cast<uint32_t>(recipe_.settings.seed);
    params[StepScalar::Step] = static_cast<uint32_t>(stepsDone_ * recipe_.accumulation);
    executor->run(params);
    return 1 - static_cast<double>(executor->result("after")[0]) / static_cast<double>(executor->result("before")[0]);
}

TrainingMemory trainingMemory(const Recipe& recipe) {
    Trainer trainer(recipe, GpuExecutorOptions{}, makeObjective);
    const Objective::Forward model = trainer.objective_->forward(1, 0);
    trainer.listTensors(model);
    const auto bytesOf = [&](std::optional<MemorySaving> turned) {
        const Trainer::Step step = trainer.stepOf(0, turned);
        return compile(step.loss.model.graph, step.outputs)->arenaBytes;
    };
    TrainingMemory memory{.bytes = bytesOf({}), .alternatives = trainer.savings(model)};
    for (auto& alternative : memory.alternatives) alternative.bytes = bytesOf(alternative.saving);
    return memory;
}

} // namespace attn
