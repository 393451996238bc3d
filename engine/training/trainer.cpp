#include "engine/training/trainer.h"

#include "engine/inference/graph_sources.h"
#include "engine/inference/language_model.h"
#include "engine/models/hook_names.h"
#include "engine/training/initial_weights.h"
#include "engine/training/starting_model.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/trainer_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace attn {
namespace {

constexpr int kMostEvaluationRows = 64;
constexpr int64_t kWriterRows = 64; ///< of the writer's own cache, which a batch of texts does not use

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

} // namespace

Trainer::Trainer(const Recipe& recipe, const GpuExecutorOptions& execution, const MakeObjective& make)
    : recipe_(recipe), execution_(execution), task_(taskNamed(recipe.task)) {
    objective_ = make(recipe_);
    if (recipe_.schedule.stages > 1 && !objective_->hasWindows())
        throw Error({.what = "no mask of the model has a window that could grow",
                     .where = "recipe: window_stages",
                     .hint = "choose 1, or a model whose attention has a window"});
    openGates_.assign(firstGate(objective_->structure().sites.size()), 1.0f);
    evaluationGates_ = openGates_;
}

Trainer::Trainer(const Recipe& recipe, const DeviceChoice& choice, const GpuExecutorOptions& execution,
                 const MakeObjective& make)
    : Trainer(recipe, execution, make) {
    device_ = Device::shared(choice);
    store_ = std::make_shared<TensorStore>(*device_);
    const Objective::Forward model = objective_->forward(1, 0);
    const auto together = objective_->rowsTogether(recipe_);
    evaluationRows_ =
        together ? *together : attn::evaluationRows(*model.graph, device_->traits().maxStorageBufferRange);
    losses_ = model.losses;
    for (NamedLoss& loss : losses_) loss.prediction = loss.teacher = {};
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
        if (objective_->isOther(name)) {
            others_.push_back({name, shape});
            continue;
        }
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
    if (!model.updates.empty())
        for (const auto& [name, next] : objective_->forward(recipe_.batch / recipe_.accumulation, 0).updates) {
            states_.push_back({name, next.shape()});
            carried_.push_back(name);
        }
    if (scalesLoss(recipe_.precision))
        states_.push_back({step_inputs::kLossScale, {static_cast<int64_t>(lossScale_.numbers().size())}});
}

/// Allocates what listTensors() has listed, and sets the initial values.
void Trainer::allocate(const Objective::Forward& model) {
    std::vector<std::pair<std::string, Shape>> room;
    for (const auto* all : {&parameters_, &others_, &states_})
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
    for (const auto& [name, shape] : others_) write(name, objective_->startOf(name, shape, {}));
    for (const Adapter& adapter : adapters_) write(adapter.nameOfA(), adapter.initialA(recipe_.settings.seed));
}

/// An executor, with the constants of the model that it reads.
std::unique_ptr<GpuExecutor> Trainer::makeExecutor(const Objective::Forward& model,
                                                   const std::map<std::string, Tensor>& outputs,
                                                   const GpuExecutorOptions& execution) {
    const auto plan = compile(model.graph, outputs);
    writeConstants(*store_, *plan, model.partTensors);
    return std::make_unique<GpuExecutor>(*device_, *store_, plan, execution);
}

/// The index of the first gate of a site. Sites may have different numbers of heads.
size_t Trainer::firstGate(size_t site) const {
    size_t first = 0;
    for (size_t before = 0; before < site; ++before)
        first += static_cast<size_t>(objective_->structure().sites[before].heads);
    return first;
}

void Trainer::fill(GpuExecutor& executor, std::span<const NamedLoss> losses, const Batch& batch,
                   const LossWeights& weights, std::span<const float> openness) const {
    objective_->fill(executor, batch);
    for (const NamedLoss& loss : losses) {
        const auto weight = weights.find(loss.name);
        fillTargets(executor, loss, batch, weight == weights.end() ? 1 : weight->second);
    }
    const std::vector<Site>& sites = objective_->structure().sites;
    for (size_t site = 0; site < sites.size(); ++site)
        std::ranges::copy(openness.subspan(firstGate(site), static_cast<size_t>(sites[site].heads)),
                          executor.input(sites[site].inSite("gates")).begin());
}

bool Trainer::warmUp(const std::function<bool(double)>& mayContinue) {
    std::vector<GpuExecutor*> all{step_.get(), &evaluator()};
    if (update_) all.push_back(update_.get());
    size_t done = 0, chunks = 0;
    for (const GpuExecutor* each : all) chunks += each->chunkCount();
    const auto isEnded = [&] { return !mayContinue(static_cast<double>(done++) / static_cast<double>(chunks)); };
    return std::ranges::all_of(all, [&](GpuExecutor* each) { return each->run({}, isEnded); });
}

Trainer::StepBatch Trainer::nextBatch() const {
    const int parts = recipe_.accumulation, rows = recipe_.batch / parts;
    StepBatch result;
    for (int part = 0; part < parts; ++part) {
        result.parts.push_back(objective_->batch(Split::Train, static_cast<uint64_t>(stepsDone_ * parts + part), rows));
    }
    for (const NamedLoss& loss : losses_) {
        int64_t targets = 0;
        for (const Batch& part : result.parts) targets += LossTargets(loss, part).count();
        result.weights[loss.name] = loss.weight * (1 / static_cast<double>(std::max<int64_t>(targets, 1)));
    }
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
        fill(*step_, losses_, batch.parts[static_cast<size_t>(part)], batch.weights, openGates_);
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

LanguageModel& Trainer::writer() {
    if (!adapters_.empty() && !adapted_) adapted_ = makeStore(device_);
    if (adapted_) copyParameters(*adapted_);
    if (!writer_) {
        auto description = std::make_shared<WeightSet>(WeightSet{.model = objective_->describe(), .values = {}});
        writer_ = std::make_unique<LanguageModel>(
            makeMemorySource(std::move(description)),
            LanguageModel::Options{
                .inspects = false, .cacheRows = kWriterRows, .shared = {device_, adapted_ ? adapted_ : store_}});
    }
    writer_->truncate(0);
    const std::vector<Site>& sites = objective_->structure().sites;
    for (size_t site = 0; site < sites.size(); ++site)
        for (int head = 0; head < sites[site].heads; ++head)
            writer_->setGate(static_cast<int>(site), head,
                             evaluationGates_[firstGate(site) + static_cast<size_t>(head)]);
    return *writer_;
}

NotFinite Trainer::diverged(std::string what) const {
    return NotFinite({.what = std::move(what),
                      .where = recipe_.task,
                      .hint = recipe_.precision == DType::F16
                                  ? "choose a lower learning rate, or bf16, whose numbers can be larger"
                                  : "choose a lower learning rate or clip the gradient"});
}

std::vector<float> Trainer::read(const std::string& name) const {
    if (name == step_inputs::kLossScale) return lossScale_.numbers();
    std::vector<float> values = store_->read(name);
    if (const auto adapter = std::ranges::find(adapters_, name, &Adapter::matrix); adapter != adapters_.end())
        addProduct(*adapter, recipe_.start.adapters.scale(), values, store_->read(adapter->nameOfA()),
                   store_->read(adapter->nameOfB()));
    return values;
}

bool Trainer::hasRoomFor(int copies) const {
    uint64_t bytes = 0;
    for (const Named& parameter : parameters_) bytes += storedBytes(parameter.shape, Storage::F32);
    return static_cast<uint64_t>(copies) * bytes <= device_->freeBytes();
}

/// Copies the parameters, with their adapters, to a store.
void Trainer::copyParameters(TensorStore& to) const {
    std::vector<std::pair<std::string, Shape>> room;
    std::vector<std::string> names;
    for (const auto& [name, shape] : parameters_) {
        room.emplace_back(name, shape);
        names.push_back(name);
    }
    to.reserve(room);
    to.copyFrom(*store_, names);
    for (const Adapter& adapter : adapters_) to.writeDense(adapter.matrix, read(adapter.matrix));
}

std::shared_ptr<const TensorStore> Trainer::copyOfParameters() const {
    const std::shared_ptr<TensorStore> copy = makeStore(device_);
    copyParameters(*copy);
    return copy;
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
