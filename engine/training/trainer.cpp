#include "engine/training/trainer.h"

#include "engine/core/error.h"
#include "engine/models/hook_names.h"
#include "engine/ops/gradient.h"
#include "engine/training/initial_weights.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/trainer_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace attn {
namespace {

/// The share of hidden segments in the loss; hidden tokens have the rest.
constexpr double kSegmentShare = 0.2;
constexpr int kMostEvaluationRows = 64;

int64_t count(const std::vector<int32_t>& targets) {
    return std::ranges::count_if(targets, [](int32_t target) { return target != Batch::kIgnored; });
}

int64_t countHidden(const Batch& batch) { return std::ranges::count(batch.hidden, 1); }

double share(int64_t part, int64_t all) {
    return static_cast<double>(part) / static_cast<double>(std::max<int64_t>(all, 1));
}

/// The most examples, at most 64, whose tensors each fit into a binding of the device.
/// @param one the graph of one example
int evaluationRows(const Graph& one, uint64_t bindingBytes) {
    uint64_t largest = 1;
    for (uint32_t id = 0; id < one.size(); ++id)
        if (one.node(id).kind == NodeKind::Operation)
            for (const TensorType& output : one.node(id).outputs)
                largest = std::max(largest, static_cast<uint64_t>(output.shape.paddedElements()) * 4);
    return static_cast<int>(std::clamp<uint64_t>(bindingBytes / largest, 1, kMostEvaluationRows));
}

[[noreturn]] void failOther(const char* wanted) {
    throw Error({.what = fmt::format("this needs a task with {}", wanted), .where = "training", .hint = {}});
}

} // namespace

Trainer::Trainer(const Recipe& recipe, const GpuExecutorOptions& execution)
    : recipe_(recipe), execution_(execution), task_(taskNamed(recipe.task)) {
    check(recipe_);
    std::optional<StartingModel> start;
    if (!recipe_.start.model.empty()) {
        start = openStartingModel(recipe_.start, task_);
        recipe_ = startingFrom(*start, recipe_);
    }
    if (task_.hasImages()) {
        auto images = std::make_unique<ImageObjective>(recipe_, std::move(start));
        images_ = images.get();
        objective_ = std::move(images);
    } else {
        auto sequences = std::make_unique<SequenceObjective>(recipe_, std::move(start));
        sequences_ = sequences.get();
        objective_ = std::move(sequences);
    }
    if (recipe_.schedule.stages > 1 && !objective_->hasWindows())
        throw Error({.what = "no mask of the model has a window that could grow",
                     .where = "recipe: window_stages",
                     .hint = "choose 1, or a model whose attention has a window"});
    openGates_.assign(firstGate(objective_->structure().sites.size()), 1.0f);
    evaluationGates_ = openGates_;
}

Trainer::Trainer(const Recipe& recipe, const DeviceChoice& choice, const GpuExecutorOptions& execution)
    : Trainer(recipe, execution) {
    device_ = Device::shared(choice);
    store_ = std::make_unique<TensorStore>(*device_);
    const Objective::Forward model = objective_->forward(1, 0);
    evaluationRows_ = hidesSegments() // the right segment is one of as many as in training
                          ? recipe_.batch / recipe_.accumulation
                          : evaluationRows(*model.graph, device_->traits().maxStorageBufferRange);
    listTensors(model);
    allocate(model);
    buildStep(0);
}

Trainer::~Trainer() = default;

/// Lists parameters, adapters and optimiser states.
void Trainer::listTensors(const Objective::Forward& model) {
    std::vector<std::string> learned;
    std::vector<std::pair<std::string, Shape>> learnedShapes;
    if (recipe_.start.trained == "all" && recipe_.start.adapters.rank == 0)
        for (const auto& [name, next] : model.partTensors.averages) averages_.push_back(name);
    const auto isAverage = [&](const std::string& name) {
        return std::ranges::find(model.partTensors.averages, name, [](const auto& average) { return average.first; }) !=
               model.partTensors.averages.end();
    };
    for (const Node* node : storedParameters(*model.graph)) {
        const std::string& name = node->name;
        const Shape& shape = node->outputs[0].shape;
        parameters_.push_back({name, shape});
        const bool isBias = name.ends_with(".b") || name.find(".b_") != std::string::npos;
        if (decoder_names::isComputed(name) || isAverage(name) || (isBias && !recipe_.architecture.bias)) continue;
        learned.push_back(name);
        learnedShapes.emplace_back(name, shape);
    }
    const std::vector<std::string> blocks = objective_->structure().blocks();
    const auto isNew = [this](const std::string& name) { return objective_->isNew(name); };
    for (const std::string& name : trainedParameters(recipe_.start, learned, blocks, isNew))
        trained_.push_back(*std::ranges::find(parameters_, name, &Named::name));
    adapters_ = adaptersOf(recipe_.start.adapters, learnedShapes, blocks);
    for (const Adapter& adapter : adapters_)
        for (const Named& part :
             {Named{adapter.nameOfA(), adapter.shapeOfA()}, {adapter.nameOfB(), adapter.shapeOfB()}}) {
            trained_.push_back(part);
            states_.push_back(part);
        }
    for (const auto& [name, shape] : trained_) {
        states_.push_back({"moment." + name, shape});
        if (recipe_.optimiser.kind != Optimiser::Kind::Sgd) states_.push_back({"variance." + name, shape});
    }
    if (scalesLoss(recipe_.precision))
        states_.push_back({step_inputs::kLossScale, {static_cast<int64_t>(lossScale_.numbers().size())}});
}

/// Allocates what listTensors() has listed, and sets the initial values.
void Trainer::allocate(const Objective::Forward& model) {
    std::vector<std::pair<std::string, Shape>> room;
    for (const auto* all : {&parameters_, &states_})
        for (const auto& [name, shape] : *all) room.emplace_back(name, shape);
    if (recipe_.accumulation > 1)
        for (const auto& [name, shape] : trained_) room.emplace_back("gradient." + name, shape);
    store_->reserve(room);
    const size_t blocks = objective_->structure().blocks().size();
    for (const Named& parameter : parameters_) {
        const auto& parts = model.partTensors.parameters;
        const auto part = std::ranges::find(parts, parameter.name, &FlowParameter::name);
        std::vector<float> values =
            part != parts.end()
                ? initialNumbers(*part, recipe_.settings.seed + static_cast<uint64_t>(part - parts.begin()))
                : initialWeights(initialisationNamed(recipe_.architecture.init), static_cast<int64_t>(blocks),
                                 parameter.name, parameter.shape, recipe_.architecture.initialDeviation,
                                 recipe_.settings.seed);
        write(parameter.name, objective_->startOf(parameter.name, parameter.shape, std::move(values)));
    }
    for (const Adapter& adapter : adapters_) write(adapter.nameOfA(), adapter.initialA(recipe_.settings.seed));
}

/// An executor, with the constants of the model that it reads.
std::unique_ptr<GpuExecutor> Trainer::makeExecutor(const Objective::Forward& model,
                                                   const std::map<std::string, Tensor>& outputs,
                                                   const GpuExecutorOptions& execution) {
    const auto plan = compile(model.graph, outputs);
    const auto constants = usedConstants(*plan, model.partTensors);
    std::vector<std::pair<std::string, Shape>> room;
    for (const FlowConstant* constant : constants) room.emplace_back(constant->name, constant->shape);
    store_->reserve(room);
    for (const FlowConstant* constant : constants) write(constant->name, constant->values());
    return std::make_unique<GpuExecutor>(*device_, *store_, plan, execution);
}

/// The index of the first gate of a site. Sites may have different numbers of heads.
size_t Trainer::firstGate(size_t site) const {
    size_t first = 0;
    for (size_t before = 0; before < site; ++before)
        first += static_cast<size_t>(objective_->structure().sites[before].heads);
    return first;
}

void Trainer::fill(GpuExecutor& executor, const Batch& batch, const LossWeights& weights,
                   std::span<const float> openness) const {
    objective_->fill(executor, batch);
    const auto targets = executor.inputIntegers(step_inputs::kTargets);
    const auto columns = static_cast<int64_t>(targets.size()) / batch.rows;
    for (int row = 0; row < batch.rows; ++row)
        for (int64_t column = 0; column < columns; ++column)
            targets[static_cast<size_t>(row * columns + column)] =
                column < batch.columns ? batch.targets[static_cast<size_t>(row * batch.columns + column)]
                                       : Batch::kIgnored;
    std::ranges::fill(executor.input(step_inputs::kWeights), static_cast<float>(weights.target));
    if (executor.hasInput(step_inputs::kClasses)) {
        std::ranges::copy(batch.classes, executor.inputIntegers(step_inputs::kClasses).begin());
        std::ranges::fill(executor.input(step_inputs::kClassWeights), static_cast<float>(weights.textClass));
    }
    if (executor.hasInput(step_inputs::kSegmentTargets)) {
        std::ranges::fill(executor.input(step_inputs::kSegmentWeights), static_cast<float>(weights.segment));
        const auto own = executor.inputIntegers(step_inputs::kSegmentTargets);
        for (size_t segment = 0; segment < batch.hidden.size(); ++segment)
            own[segment] = batch.hidden[segment] != 0 ? static_cast<int32_t>(segment) : Batch::kIgnored;
    }
    const std::vector<Site>& sites = objective_->structure().sites;
    for (size_t site = 0; site < sites.size(); ++site)
        std::ranges::copy(openness.subspan(firstGate(site), static_cast<size_t>(sites[site].heads)),
                          executor.input(sites[site].inSite("gates")).begin());
}

bool Trainer::warmUp(const std::function<bool(double)>& goesOn) {
    std::vector<GpuExecutor*> all{step_.get(), &evaluator()};
    if (update_) all.push_back(update_.get());
    size_t done = 0, chunks = 0;
    for (const GpuExecutor* each : all) chunks += each->chunkCount();
    const auto isEnded = [&] { return !goesOn(static_cast<double>(done++) / static_cast<double>(chunks)); };
    return std::ranges::all_of(all, [&](GpuExecutor* each) { return each->run({}, isEnded); });
}

Trainer::StepBatch Trainer::nextBatch() const {
    const int parts = recipe_.accumulation, rows = recipe_.batch / parts;
    StepBatch result;
    int64_t targets = 0, classes = 0, hidden = 0;
    for (int part = 0; part < parts; ++part) {
        result.parts.push_back(objective_->batch(Split::Train, static_cast<uint64_t>(stepsDone_ * parts + part), rows));
        targets += count(result.parts.back().targets);
        classes += count(result.parts.back().classes);
        hidden += countHidden(result.parts.back());
    }
    const double shareOfTargets = hidesSegments() ? 1 - kSegmentShare : 1;
    const auto inverse = [](int64_t of) { return 1 / static_cast<double>(std::max<int64_t>(of, 1)); };
    result.weights = {.target = shareOfTargets * inverse(targets),
                      .textClass = inverse(classes),
                      .segment = kSegmentShare * inverse(hidden)};
    return result;
}

Trainer::StepReport Trainer::step() {
    const Optimiser& optimiser = recipe_.optimiser;
    const int parts = recipe_.accumulation;
    if (const int64_t stage = recipe_.schedule.stageOf(stepsDone_); stage != builtStage_) buildStep(stage);
    const StepBatch batch = nextBatch();
    StepReport report{.step = stepsDone_ + 1, .learningRate = rate_.value_or(recipe_.schedule.at(stepsDone_))};
    const auto updates = static_cast<double>(report.step - lossScale_.skipped); // with this one
    StepParams params;
    params[StepScalar::Seed] = static_cast<uint32_t>(recipe_.settings.seed);
    params.setNumber(StepScalar::LearningRate, report.learningRate);
    params.setNumber(StepScalar::MomentCorrection, 1 / (1 - std::pow(optimiser.beta1, updates)));
    params.setNumber(StepScalar::VarianceCorrection, 1 / std::sqrt(1 - std::pow(optimiser.beta2, updates)));
    GpuExecutor& updater = update_ ? *update_ : *step_;
    if (lossScale()) {
        step_->input(step_inputs::kLossScale)[0] = static_cast<float>(lossScale_.scale);
        updater.input(step_inputs::kInverseScale)[0] = static_cast<float>(1 / lossScale_.scale);
    }
    for (int part = 0; part < parts; ++part) {
        fill(*step_, batch.parts[static_cast<size_t>(part)], batch.weights, openGates_);
        params[StepScalar::Step] = static_cast<uint32_t>(stepsDone_ * parts + part);
        params[StepScalar::MicroStep] = static_cast<uint32_t>(part);
        step_->run(params);
        report.loss += static_cast<double>(step_->result("loss")[0]);
    }
    if (update_) update_->run(params);
    report.gradientNorm = static_cast<double>(updater.result("norm")[0]);
    if (lossScale()) {
        report.isSkipped = !std::isfinite(report.gradientNorm);
        if (report.isSkipped) report.gradientNorm = 0;
        lossScale_.add(report.isSkipped);
    }
    ++stepsDone_;
    return report;
}

GpuExecutor& Trainer::evaluator() {
    if (!evaluator_) {
        Objective::Forward model = adapted(objective_->forward(evaluationRows_, 0));
        std::map<std::string, Tensor> outputs{
            {"losses", step_inputs::lossesOf(model.logits, step_inputs::kTargets, step_inputs::kWeights)},
            {"best", topK(model.logits, 1).indices}};
        if (model.classes) {
            outputs["class_losses"] =
                step_inputs::lossesOf(model.classes, step_inputs::kClasses, step_inputs::kClassWeights);
            outputs["best_class"] = topK(model.classes, 1).indices;
        }
        if (images_) outputs["probabilities"] = softmax(model.logits);
        if (model.segmentLogits) {
            outputs["segment_losses"] =
                step_inputs::lossesOf(model.segmentLogits, step_inputs::kSegmentTargets, step_inputs::kSegmentWeights);
            outputs["segment_best"] = topK(model.segmentLogits, 1).indices;
        }
        evaluator_ = makeExecutor(model, outputs, {.cutsFinely = execution_.cutsFinely});
    }
    return *evaluator_;
}

Trainer::Evaluation Trainer::evaluate(Split split, int64_t most) {
    GpuExecutor& executor = evaluator();
    const bool asksExact = task_.metric == Task::Metric::ExactMatch;
    const bool countsTokens = task_.metric == Task::Metric::TokenMatch;
    const int64_t columns = objective_->targetsPerRow();
    const auto available = static_cast<int64_t>(objective_->rowCount(split).value_or(static_cast<uint64_t>(most)));
    const int64_t rows = std::min(most, available);
    const size_t classes = images_ ? images_->instance().labels().size() : 0;
    Evaluation result{.examples = rows, .confusion = std::vector<int64_t>(classes * classes)};
    int64_t targets = 0, right = 0, rightTargets = 0, classed = 0, rightClasses = 0, hidden = 0, rightHidden = 0;
    double classLoss = 0, segmentLoss = 0;
    for (int64_t first = 0; first < rows; first += evaluationRows_) {
        const Batch batch =
            asksExact ? objective_->questions(split, static_cast<uint64_t>(first), evaluationRows_)
                      : objective_->batch(split, static_cast<uint64_t>(first / evaluationRows_), evaluationRows_);
        fill(executor, batch, {}, evaluationGates_);
        executor.run({});
        const auto losses = executor.result("losses");
        const auto best = executor.resultIntegers("best"); // rows of one, padded to four
        for (int64_t row = 0; row < evaluationRows_ && first + row < rows; ++row) {
            bool isRight = true;
            for (int column = 0; column < batch.columns; ++column) {
                const int32_t target = batch.targets[static_cast<size_t>(row * batch.columns + column)];
                if (target == Batch::kIgnored) continue;
                const auto at = static_cast<size_t>(row * columns + column);
                result.loss += static_cast<double>(losses[at]);
                ++targets;
                rightTargets += best[at * 4] == target ? 1 : 0;
                isRight = isRight && best[at * 4] == target;
                if (images_)
                    ++result.confusion[static_cast<size_t>(target) * classes + static_cast<size_t>(best[at * 4])];
            }
            right += isRight ? 1 : 0;
            addToSubtask(result, split, static_cast<uint64_t>(first + row), isRight);
            if (batch.classes.empty() || batch.classes[static_cast<size_t>(row)] == Batch::kIgnored) continue;
            const auto at = static_cast<size_t>(row);
            classLoss += static_cast<double>(executor.result("class_losses")[at]);
            rightClasses += executor.resultIntegers("best_class")[at * 4] == batch.classes[at] ? 1 : 0;
            ++classed;
        }
        for (size_t segment = 0; segment < batch.hidden.size(); ++segment) {
            const auto row = static_cast<int64_t>(segment) / sequences_->segments().count;
            if (batch.hidden[segment] == 0 || first + row >= rows) continue;
            segmentLoss += static_cast<double>(executor.result("segment_losses")[segment]);
            rightHidden +=
                executor.resultIntegers("segment_best")[segment * 4] == static_cast<int32_t>(segment) ? 1 : 0;
            ++hidden;
        }
    }
    result.loss /= static_cast<double>(std::max<int64_t>(targets, 1));
    result.metric = asksExact                            ? share(right, rows)
                    : countsTokens                       ? share(rightTargets, targets)
                    : task_.metric == Task::Metric::Bits ? result.loss / std::numbers::ln2
                                                         : result.loss;
    if (classed > 0) {
        result.loss += classLoss / static_cast<double>(classed);
        result.hiddenTokens = std::exchange(result.metric, share(rightClasses, classed));
    }
    if (hidden > 0) {
        result.metric = share(rightHidden, hidden);
        result.loss = (1 - kSegmentShare) * result.loss + kSegmentShare * segmentLoss / static_cast<double>(hidden);
    }
    requireLoss(result.loss);
    return result;
}

void Trainer::requireLoss(double loss) const {
    if (std::isfinite(loss)) return;
    throw Error({.what = "the loss of the examples is not a number",
                 .where = std::string(task_.id),
                 .hint = "look for weights that are damaged or much too large, or train with a lower learning rate"});
}

/// Counts an example of a file with several tasks, unless it was too long.
void Trainer::addToSubtask(Evaluation& evaluation, Split split, uint64_t index, bool isRight) const {
    if (!sequences_ || !task_.hasSubtasks) return;
    const TaskInstance& instance = sequences_->instance();
    const Example example = instance.example(split, index);
    if (example.answer.empty()) return;
    Evaluation::Matches& matches = evaluation.subtasks[instance.subtaskOf(example)];
    matches.right += isRight ? 1 : 0;
    ++matches.examples;
}

Trainer::LengthEvaluation Trainer::evaluateAt(const TaskInstance& instance, Split split, int rows, int lastTargets) {
    if (!sequences_) failOther("sequences");
    const auto roundUp = [](int64_t length) { return (length + 7) / 8 * 8; };
    const int64_t columns = roundUp(instance.contextLength());
    const Loss loss = withLoss(adapted(sequences_->forwardOf(rows, columns, roundUp(instance.sourceLength()), 0)));
    const auto executor =
        makeExecutor(loss.model, {{"losses", loss.losses}, {"best", topK(loss.model.logits, 1).indices}});
    const Batch batch = task_.metric == Task::Metric::ExactMatch ? questionsOf(instance, split, 0, rows)
                                                                 : instance.batch(split, 0, rows);
    fill(*executor, batch, {}, evaluationGates_);
    executor->run({});
    LengthEvaluation result;
    int64_t right = 0;
    for (int row = 0; row < batch.rows; ++row)
        for (int column = batch.columns - 1, counted = 0; column >= 0; --column) {
            const int32_t target = batch.targets[static_cast<size_t>(row * batch.columns + column)];
            if (target == Batch::kIgnored || (lastTargets > 0 && counted == lastTargets)) continue;
            const auto at = static_cast<size_t>(row * columns + column);
            result.loss += static_cast<double>(executor->result("losses")[at]);
            right += executor->resultIntegers("best")[at * 4] == target ? 1 : 0; // rows of one, padded to four
            ++result.targets;
            ++counted;
        }
    const auto targets = static_cast<double>(std::max<int64_t>(result.targets, 1));
    result.loss /= targets;
    requireLoss(result.loss);
    result.accuracy = static_cast<double>(right) / targets;
    return result;
}

void Trainer::setEvaluationGate(int site, int head, float gate) {
    const std::vector<Site>& sites = objective_->structure().sites;
    const bool isSite = site >= 0 && site < static_cast<int>(sites.size());
    const int heads = sites[isSite ? static_cast<size_t>(site) : 0].heads;
    if (!isSite || head < 0 || head >= heads)
        throw Error({.what = fmt::format("there is no layer {}, head {}", site, head),
                     .where = task_.id.data(),
                     .hint = fmt::format("layers go to {}, heads to {}", sites.size() - 1, heads - 1)});
    evaluationGates_[firstGate(static_cast<size_t>(site)) + static_cast<size_t>(head)] = gate;
}

namespace {

/// The words of the segments that the model takes for the hidden ones of a row.
std::vector<int32_t> chosenSegments(const GpuExecutor& executor, const Batch& batch, const Segments& segments,
                                    int row) {
    const auto best = executor.resultIntegers("segment_best"); // rows of one, padded to four
    const auto context = static_cast<int64_t>(batch.whole.size()) / batch.rows;
    std::vector<int32_t> words;
    for (int64_t own = row * segments.count; own < (row + 1) * segments.count; ++own) {
        if (batch.hidden[static_cast<size_t>(own)] == 0) continue;
        const int64_t chosen = best[static_cast<size_t>(own) * 4];
        const auto from = batch.whole.begin() + chosen / segments.count * context;
        words.insert(words.end(), from + segments.begin(chosen % segments.count),
                     from + segments.begin(chosen % segments.count + 1));
    }
    return words;
}

} // namespace

std::vector<Trainer::Answer> Trainer::answers(Split split, uint64_t first, int count, Until until) {
    if (!sequences_) failOther("sequences");
    GpuExecutor& executor = evaluator();
    const TaskInstance& task = sequences_->instance();
    const auto columns = static_cast<size_t>(sequences_->targetsPerRow());
    std::vector<Answer> result;
    for (int done = 0; done < count; done += evaluationRows_) {
        const uint64_t begins = first + static_cast<uint64_t>(done);
        const bool isAtOnce = task_.readout != TextReadout::NextToken;
        const Segments& segments = sequences_->segments();
        Batch batch = isAtOnce ? objective_->questions(split, begins, evaluationRows_)
                               : questionsOf(task, split, begins, evaluationRows_);
        if (isAtOnce) {
            fill(executor, batch, {}, evaluationGates_);
            executor.run({});
            const auto best = executor.resultIntegers("best");
            for (int row = 0; row < std::min(count - done, evaluationRows_); ++row) {
                result.push_back(
                    {.example = task.example(split, first + static_cast<uint64_t>(done + row)), .given = {}});
                if (segments.count > 0) {
                    result.back().given = chosenSegments(executor, batch, segments, row);
                    continue;
                }
                if (!batch.classes.empty())
                    result.back().given.push_back(executor.resultIntegers("best_class")[static_cast<size_t>(row) * 4]);
                for (int column = 0; column < batch.columns; ++column)
                    if (batch.targets[static_cast<size_t>(row * batch.columns + column)] != Batch::kIgnored)
                        result.back().given.push_back(
                            best[(static_cast<size_t>(row) * columns + static_cast<size_t>(column)) * 4]);
            }
            continue;
        }
        const auto begin = static_cast<std::ptrdiff_t>(result.size());
        size_t longest = 0;
        for (int row = 0; row < std::min(count - done, evaluationRows_); ++row) {
            result.push_back({.example = task.example(split, first + static_cast<uint64_t>(done + row)), .given = {}});
            const auto& example = result.back().example;
            const size_t room = static_cast<size_t>(task.contextLength()) + 1 - example.prompt.size();
            longest = std::max(longest, until == Until::EndToken ? room : example.answer.size());
        }
        const auto isDone = [&](const Answer& answer) {
            if (until == Until::RightLength) return answer.given.size() >= answer.example.answer.size();
            return !answer.given.empty() && answer.given.back() == task.tokenizer().endId();
        };
        for (size_t i = 0; i < longest; ++i) { // each token is written before the next is generated
            fill(executor, batch, {}, evaluationGates_);
            executor.run({});
            const auto best = executor.resultIntegers("best");
            for (size_t row = 0; begin + static_cast<std::ptrdiff_t>(row) < std::ssize(result); ++row) {
                Answer& answer = result[static_cast<size_t>(begin) + row];
                if (isDone(answer)) continue;
                const size_t column = answer.example.prompt.size() - 1 + i;
                answer.given.push_back(best[(row * columns + column) * 4]);
                if (column + 1 < static_cast<size_t>(batch.columns))
                    batch.inputs[row * static_cast<size_t>(batch.columns) + column + 1] = answer.given.back();
            }
        }
    }
    return result;
}

std::vector<ImagePrediction> Trainer::predictions(Split split, uint64_t first, int count) {
    if (!images_) failOther("pictures");
    GpuExecutor& executor = evaluator();
    const ImageTaskInstance& task = images_->instance();
    const size_t classes = task.labels().size();
    std::vector<ImagePrediction> result;
    for (int done = 0; done < count; done += evaluationRows_) {
        const uint64_t begin = first + static_cast<uint64_t>(done);
        fill(executor, objective_->questions(split, begin, evaluationRows_), {}, evaluationGates_);
        executor.run({});
        const auto rows = executor.result("probabilities");
        const size_t stride = rows.size() / static_cast<size_t>(evaluationRows_); // padded
        for (size_t row = 0; row < static_cast<size_t>(std::min(count - done, evaluationRows_)); ++row) {
            const uint64_t index = begin + row;
            if (index >= task.rowCount(split).value_or(index + 1)) return result;
            result.push_back({.example = task.example(split, index),
                              .probabilities = {rows.begin() + static_cast<std::ptrdiff_t>(row * stride),
                                                rows.begin() + static_cast<std::ptrdiff_t>(row * stride + classes)}});
        }
    }
    return result;
}

std::vector<float> Trainer::read(const std::string& name) const {
    if (name == step_inputs::kLossScale) return lossScale_.numbers();
    std::vector<float> values = store_->read(name);
    if (const auto adapter = std::ranges::find(adapters_, name, &Adapter::matrix); adapter != adapters_.end())
        addProduct(*adapter, recipe_.start.adapters.scale(), values, store_->read(adapter->nameOfA()),
                   store_->read(adapter->nameOfB()));
    return values;
}

void Trainer::write(const std::string& name, std::span<const float> values) {
    if (name == step_inputs::kLossScale)
        lossScale_ = LossScale::from({values.begin(), values.end()});
    else
        store_->writeDense(name, values);
}

bool Trainer::isFrozen(const std::string& parameter) const {
    return std::ranges::find(trained_, parameter, &Named::name) == trained_.end() &&
           std::ranges::find(averages_, parameter) == averages_.end() &&
           std::ranges::find(adapters_, parameter, &Adapter::matrix) == adapters_.end();
}

int64_t Trainer::parameterCount() const {
    int64_t count = 0;
    for (const Named& each : trained_) count += each.shape.elements();
    return count;
}

int64_t Trainer::modelParameterCount() const {
    int64_t count = 0;
    for (const Named& parameter : parameters_) count += parameter.shape.elements();
    return count;
}

uint64_t Trainer::arenaBytes() const { return step_->plan().arenaBytes; }

size_t Trainer::kernelCount() const { return step_->kernelCount() + (update_ ? update_->kernelCount() : 0); }

} // namespace attn
