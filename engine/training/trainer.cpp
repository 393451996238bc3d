#include "engine/training/trainer.h"

#include "engine/core/error.h"
#include "engine/ops/gradient.h"
#include "engine/training/initial_weights.h"
#include "engine/training/tasks/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr const char* kTargets = "targets";
constexpr const char* kWeights = "target_weights";
constexpr int kEvaluationRows = 64;

int64_t count(const Batch& batch) {
    return std::ranges::count_if(batch.targets, [](int32_t target) { return target != Batch::kIgnored; });
}

/// Examples as a batch that asks for their answers only: greedy generation gives the whole answer exactly if every
/// token of it is the likeliest after those before it.
Batch questions(const TaskInstance& task, Split split, uint64_t first, int rows) {
    Batch batch{.rows = rows, .columns = task.contextLength()};
    batch.inputs.assign(static_cast<size_t>(rows * batch.columns), 0);
    batch.targets.assign(batch.inputs.size(), Batch::kIgnored);
    for (int row = 0; row < rows; ++row) {
        const Example example = task.example(split, first + static_cast<uint64_t>(row));
        std::vector<int32_t> tokens = example.prompt;
        tokens.insert(tokens.end(), example.answer.begin(), example.answer.end());
        const auto base = static_cast<size_t>(row * batch.columns);
        for (size_t i = 0; i + 1 < tokens.size(); ++i) {
            batch.inputs[base + i] = tokens[i];
            if (i + 1 >= example.prompt.size()) batch.targets[base + i] = tokens[i + 1];
        }
    }
    return batch;
}

} // namespace

struct Trainer::Loss {
    DecoderGraph decoder;
    Tensor losses; ///< [rows]
    Tensor total;  ///< [1]
};

Trainer::Trainer(const Recipe& recipe, const Options& options) : recipe_(recipe), task_(taskNamed(recipe.task)) {
    check(recipe_);
    instance_ = makeTask(task_, recipe_.settings);
    const auto roundUp = [&](int64_t unit) { return (instance_->contextLength() + unit - 1) / unit * unit; };
    // Composed attention may learn a number for every pair of positions of the context.
    columns_ = roundUp(recipe_.architecture.attention.empty() ? 4 : 8);
    config_ = decoderOf(recipe_.architecture, instance_->vocabularySize(), roundUp(8)); // as checkpoints have it
    openGates_.assign(config_.layers.size() * static_cast<size_t>(config_.layers.front().heads.heads), 1.0f);
    evaluationGates_ = openGates_;
    context_ = std::make_unique<gpu::Context>(gpu::Context::Options{
        .device = options.device, .validation = options.validation, .softwareThreads = options.softwareThreads});
    kernels_ = std::make_unique<KernelLibrary>(*context_);
    store_ = std::make_unique<TensorStore>(*context_);
    describe();
    buildStep(options.profiles);
}

Trainer::~Trainer() = default;

bool Trainer::isFrozen(const std::string& parameter) const {
    if (decoder_names::isComputed(parameter)) return true;
    return !recipe_.architecture.bias && (parameter.ends_with(".b") || parameter.find(".b_") != std::string::npos);
}

Trainer::Loss Trainer::buildLoss(int rows, int64_t columns, double dropout) const {
    const int64_t tokens = rows * columns;
    Loss result{.decoder = buildDecoder(config_, {.queries = tokens, .sequence = columns, .dropout = dropout}),
                .losses = {},
                .total = {}};
    Graph& graph = *result.decoder.graph;
    result.losses = crossEntropy(result.decoder.logits, graph.input(kTargets, {.shape = {tokens}, .dtype = DType::I32}),
                                 graph.input(kWeights, {.shape = {tokens}}), recipe_.smoothing);
    result.total = sum(result.losses);
    for (const Tensor penalty : result.decoder.composed.penalties) result.total = add(result.total, penalty);
    return result;
}

/// Lists parameters and optimiser states, makes room for them and sets the initial weights.
void Trainer::describe() {
    const Loss loss = buildLoss(1, columns_, 0);
    const auto plan = compile(loss.decoder.graph, {{"losses", loss.losses}});
    const auto isPlanned = [&](const std::string& name) {
        return std::ranges::find(plan->tensors, name, &PlannedTensor::name) != plan->tensors.end();
    };
    std::vector<std::pair<std::string, Shape>> room;
    for (uint32_t id = 0; id < loss.decoder.graph->size(); ++id) {
        const Node& node = loss.decoder.graph->node(id);
        const bool isComputed = decoder_names::isComputed(node.name);
        if (node.kind != NodeKind::Parameter || (isComputed && !isPlanned(node.name))) continue;
        room.emplace_back(node.name, node.outputs[0].shape);
        if (isComputed) continue;
        parameters_.push_back({node.name, node.outputs[0].shape});
        if (isFrozen(node.name)) continue;
        states_.push_back({"moment." + node.name, node.outputs[0].shape});
        if (recipe_.optimiser.kind != Optimiser::Kind::Sgd)
            states_.push_back({"variance." + node.name, node.outputs[0].shape});
        if (recipe_.accumulation > 1) room.emplace_back("gradient." + node.name, node.outputs[0].shape);
    }
    for (const Named& state : states_) room.emplace_back(state.name, state.shape);
    store_->reserve(room);
    for (const Named& parameter : parameters_) {
        const auto& learned = loss.decoder.composed.parameters;
        const auto part = std::ranges::find(learned, parameter.name, &FlowParameter::name);
        write(parameter.name,
              part != learned.end()
                  ? initialNumbers(*part, recipe_.settings.seed + static_cast<uint64_t>(part - learned.begin()))
                  : initialWeights(config_, parameter.name, parameter.shape, recipe_.architecture.initialDeviation,
                                   recipe_.settings.seed));
    }
    writeConstants(usedConstants(*plan, loss.decoder.composed));
    if (config_.layers.front().rotary)
        write(decoder_names::kRotaryTable, rotaryTableValues(*config_.layers.front().rotary, config_.context));
}

void Trainer::writeConstants(std::span<const FlowConstant* const> constants) {
    for (const FlowConstant* constant : constants) write(constant->name, constant->values());
}

void Trainer::buildStep(bool profiles) {
    const Optimiser& optimiser = recipe_.optimiser;
    Loss loss = buildLoss(recipe_.batch / recipe_.accumulation, columns_, recipe_.dropout);
    const bool accumulates = recipe_.accumulation > 1;
    const auto updateGraph = accumulates ? std::make_shared<Graph>() : loss.decoder.graph;
    std::vector<Tensor> trained;
    std::vector<std::string> names;
    for (const Named& parameter : parameters_) {
        if (isFrozen(parameter.name)) continue;
        names.push_back(parameter.name);
        trained.push_back(loss.decoder.graph->parameter(parameter.name, parameter.shape));
    }
    const auto recomputed = recipe_.gradientCheckpointing ? loss.decoder.blocks : std::vector<NodeRange>{};
    std::vector<Tensor> gradients = gradient(loss.total, trained, recomputed);
    std::map<std::string, Tensor> stepOutputs{{"loss", loss.total}}, updateOutputs;
    const auto statesOf = [&](Graph& graph, const std::string& kind) {
        std::vector<Tensor> states;
        for (size_t i = 0; i < names.size(); ++i)
            states.push_back(graph.state(kind + names[i], {.shape = trained[i].shape()}));
        return states;
    };
    if (accumulates) {
        stepOutputs["gradient"] = accumulate(statesOf(*loss.decoder.graph, "gradient."), gradients)[0];
        gradients = statesOf(*updateGraph, "gradient.");
    }
    const Clip clip = clipFactor(squareNorms(gradients), optimiser.clip);
    updateOutputs["norm"] = clip.norm;
    const bool isSgd = optimiser.kind == Optimiser::Kind::Sgd;
    const std::vector<Tensor> moments = statesOf(*updateGraph, "moment."),
                              variances = isSgd ? std::vector<Tensor>{} : statesOf(*updateGraph, "variance.");
    std::vector<Tensor> states;
    for (size_t i = 0; i < names.size(); ++i) {
        states.push_back(updateGraph->parameter(names[i], trained[i].shape()));
        states.push_back(moments[i]);
        if (!isSgd) states.push_back(variances[i]);
    }
    updateOutputs["updated"] = isSgd ? sgdUpdate(states, gradients, clip.factor, optimiser.momentum, optimiser.decay)[0]
                                     : adamUpdate(states, gradients, clip.factor,
                                                  {.beta1 = optimiser.beta1,
                                                   .beta2 = optimiser.beta2,
                                                   .epsilon = optimiser.epsilon,
                                                   .decay = optimiser.decay,
                                                   .isDecoupled = optimiser.kind == Optimiser::Kind::AdamW})[0];
    if (accumulates)
        update_ = std::make_unique<GpuExecutor>(*context_, *kernels_, *store_, compile(updateGraph, updateOutputs));
    else
        stepOutputs.merge(updateOutputs);
    step_ = std::make_unique<GpuExecutor>(*context_, *kernels_, *store_, compile(loss.decoder.graph, stepOutputs),
                                          GpuExecutorOptions{.profiles = profiles});
}

void Trainer::fill(GpuExecutor& executor, const Batch& batch, int64_t columns, double weightOfTarget,
                   std::span<const float> openness) const {
    // Composed attention counts positions by itself.
    const bool asksPositions = executor.hasInput(decoder_names::kPositions);
    const auto tokens = executor.inputIntegers(decoder_names::kTokens),
               positions = asksPositions ? executor.inputIntegers(decoder_names::kPositions) : std::span<int32_t>{},
               targets = executor.inputIntegers(kTargets);
    const auto weights = executor.input(kWeights);
    for (int row = 0; row < batch.rows; ++row)
        for (int64_t column = 0; column < columns; ++column) {
            const auto to = static_cast<size_t>(row * columns + column);
            const bool isThere = column < batch.columns;
            const auto from = static_cast<size_t>(row * batch.columns + (isThere ? column : 0));
            tokens[to] = isThere ? batch.inputs[from] : 0;
            if (asksPositions) positions[to] = static_cast<int32_t>(column);
            targets[to] = isThere ? batch.targets[from] : Batch::kIgnored;
            weights[to] = static_cast<float>(weightOfTarget);
        }
    for (size_t layer = 0; layer < config_.layers.size(); ++layer) {
        const auto gates = executor.input(fmt::format("blocks.{}.attn.gates", layer));
        const auto heads = static_cast<size_t>(config_.layers[layer].heads.heads);
        std::ranges::copy(openness.subspan(layer * heads, heads), gates.begin());
    }
}

Trainer::StepReport Trainer::step() {
    const Optimiser& optimiser = recipe_.optimiser;
    const int parts = recipe_.accumulation, rows = recipe_.batch / parts;
    std::vector<Batch> batches;
    int64_t targets = 0;
    for (int part = 0; part < parts; ++part) {
        batches.push_back(instance_->batch(Split::Train, static_cast<uint64_t>(stepsDone_ * parts + part), rows));
        targets += count(batches.back());
    }
    StepReport report{.step = stepsDone_ + 1, .learningRate = rate_.value_or(recipe_.schedule.at(stepsDone_))};
    StepParams params;
    params[StepScalar::Seed] = static_cast<uint32_t>(recipe_.settings.seed);
    params.setNumber(StepScalar::LearningRate, report.learningRate);
    params.setNumber(StepScalar::MomentCorrection,
                     1 / (1 - std::pow(optimiser.beta1, static_cast<double>(report.step))));
    params.setNumber(StepScalar::VarianceCorrection,
                     1 / std::sqrt(1 - std::pow(optimiser.beta2, static_cast<double>(report.step))));
    for (int part = 0; part < parts; ++part) {
        fill(*step_, batches[static_cast<size_t>(part)], columns_,
             1 / static_cast<double>(std::max<int64_t>(targets, 1)), openGates_);
        params[StepScalar::Step] = static_cast<uint32_t>(stepsDone_ * parts + part);
        params[StepScalar::MicroStep] = static_cast<uint32_t>(part);
        step_->run(params);
        report.loss += static_cast<double>(step_->result("loss")[0]);
    }
    if (update_) update_->run(params);
    report.gradientNorm = static_cast<double>((update_ ? *update_ : *step_).result("norm")[0]);
    ++stepsDone_;
    return report;
}

GpuExecutor& Trainer::evaluator() {
    if (!evaluator_) {
        const Loss loss = buildLoss(kEvaluationRows, columns_, 0);
        std::map<std::string, Tensor> outputs{
            {"losses",
             crossEntropy(loss.decoder.logits,
                          loss.decoder.graph->input(kTargets, {.shape = loss.losses.shape(), .dtype = DType::I32}),
                          loss.decoder.graph->input(kWeights, {.shape = loss.losses.shape()}))}};
        outputs["best"] = topK(loss.decoder.logits, 1).indices;
        evaluator_ = std::make_unique<GpuExecutor>(*context_, *kernels_, *store_, compile(loss.decoder.graph, outputs));
    }
    return *evaluator_;
}

Trainer::Evaluation Trainer::evaluate(Split split, int64_t most) {
    GpuExecutor& executor = evaluator();
    const bool asksExact = task_.metric == Task::Metric::ExactMatch;
    const auto available = static_cast<int64_t>(instance_->rowCount(split).value_or(static_cast<uint64_t>(most)));
    const int64_t rows = std::min(most, available);
    double loss = 0;
    int64_t targets = 0, right = 0;
    for (int64_t first = 0; first < rows; first += kEvaluationRows) {
        const Batch batch =
            asksExact ? questions(*instance_, split, static_cast<uint64_t>(first), kEvaluationRows)
                      : instance_->batch(split, static_cast<uint64_t>(first / kEvaluationRows), kEvaluationRows);
        fill(executor, batch, columns_, 1, evaluationGates_);
        executor.run({});
        const auto losses = executor.result("losses");
        for (int64_t row = 0; row < kEvaluationRows && first + row < rows; ++row) {
            bool isRight = true;
            for (int column = 0; column < batch.columns; ++column) {
                const int32_t target = batch.targets[static_cast<size_t>(row * batch.columns + column)];
                if (target == Batch::kIgnored) continue;
                const auto at = static_cast<size_t>(row * columns_ + column);
                loss += static_cast<double>(losses[at]);
                ++targets;
                if (asksExact)
                    isRight =
                        isRight && executor.resultIntegers("best")[at * 4] == target; // rows of one, padded to four
            }
            right += isRight ? 1 : 0;
        }
    }
    Evaluation result{.loss = loss / static_cast<double>(std::max<int64_t>(targets, 1)), .metric = 0, .examples = rows};
    result.metric =
        asksExact ? static_cast<double>(right) / static_cast<double>(std::max<int64_t>(rows, 1)) : result.loss;
    return result;
}

Trainer::LengthEvaluation Trainer::evaluateAt(const TaskInstance& instance, Split split, int rows, int lastTargets) {
    const int64_t columns = (instance.contextLength() + 7) / 8 * 8;
    const Loss loss = buildLoss(rows, columns, 0);
    const auto plan =
        compile(loss.decoder.graph, {{"losses", loss.losses}, {"best", topK(loss.decoder.logits, 1).indices}});
    const auto constants = usedConstants(*plan, loss.decoder.composed);
    std::vector<std::pair<std::string, Shape>> room;
    for (const FlowConstant* constant : constants) room.emplace_back(constant->name, constant->shape);
    store_->reserve(room);
    writeConstants(constants);
    GpuExecutor executor(*context_, *kernels_, *store_, plan);
    const Batch batch =
        task_.metric == Task::Metric::ExactMatch ? questions(instance, split, 0, rows) : instance.batch(split, 0, rows);
    fill(executor, batch, columns, 1, evaluationGates_);
    executor.run({});
    LengthEvaluation result;
    int64_t right = 0;
    for (int row = 0; row < batch.rows; ++row)
        for (int column = batch.columns - 1, counted = 0; column >= 0; --column) {
            const int32_t target = batch.targets[static_cast<size_t>(row * batch.columns + column)];
            if (target == Batch::kIgnored || (lastTargets > 0 && counted == lastTargets)) continue;
            const auto at = static_cast<size_t>(row * columns + column);
            result.loss += static_cast<double>(executor.result("losses")[at]);
            right += executor.resultIntegers("best")[at * 4] == target ? 1 : 0; // rows of one, padded to four
            ++result.targets;
            ++counted;
        }
    const auto targets = static_cast<double>(std::max<int64_t>(result.targets, 1));
    result.loss /= targets;
    result.accuracy = static_cast<double>(right) / targets;
    return result;
}

void Trainer::setEvaluationGate(int layer, int head, float gate) {
    const auto heads = static_cast<int>(config_.layers.front().heads.heads);
    if (layer < 0 || layer >= static_cast<int>(config_.layers.size()) || head < 0 || head >= heads)
        throw Error({.what = fmt::format("there is no layer {}, head {}", layer, head),
                     .where = task_.id.data(),
                     .hint = fmt::format("layers go to {}, heads to {}", config_.layers.size() - 1, heads - 1)});
    evaluationGates_[static_cast<size_t>(layer * heads + head)] = gate;
}

std::vector<Trainer::Answer> Trainer::answers(Split split, uint64_t first, int count) {
    GpuExecutor& executor = evaluator();
    std::vector<Answer> result;
    for (int done = 0; done < count; done += kEvaluationRows) {
        Batch batch = questions(*instance_, split, first + static_cast<uint64_t>(done), kEvaluationRows);
        const auto begin = static_cast<std::ptrdiff_t>(result.size());
        size_t longest = 0;
        for (int row = 0; row < std::min(count - done, kEvaluationRows); ++row) {
            result.push_back(
                {.example = instance_->example(split, first + static_cast<uint64_t>(done + row)), .given = {}});
            longest = std::max(longest, result.back().example.answer.size());
        }
        for (size_t i = 0; i < longest; ++i) { // each token is written before the next is asked for
            fill(executor, batch, columns_, 1, evaluationGates_);
            executor.run({});
            const auto best = executor.resultIntegers("best");
            for (size_t row = 0; begin + static_cast<std::ptrdiff_t>(row) < std::ssize(result); ++row) {
                Answer& answer = result[static_cast<size_t>(begin) + row];
                if (i >= answer.example.answer.size()) continue;
                const size_t column = answer.example.prompt.size() - 1 + i;
                answer.given.push_back(best[(row * static_cast<size_t>(columns_) + column) * 4]);
                if (column + 1 < static_cast<size_t>(batch.columns))
                    batch.inputs[row * static_cast<size_t>(batch.columns) + column + 1] = answer.given.back();
            }
        }
    }
    return result;
}

std::vector<float> Trainer::read(const std::string& name) const { return store_->read(name); }

void Trainer::write(const std::string& name, std::span<const float> values) { store_->writeDense(name, values); }

int64_t Trainer::parameterCount() const {
    int64_t count = 0;
    for (const Named& parameter : parameters_) count += isFrozen(parameter.name) ? 0 : parameter.shape.elements();
    return count;
}

uint64_t Trainer::arenaBytes() const { return step_->plan().arenaBytes; }

size_t Trainer::dispatchCount() const { return step_->dispatchCount() + (update_ ? update_->dispatchCount() : 0); }

} // namespace attn
