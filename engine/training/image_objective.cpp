#include "engine/training/image_objective.h"

#include "engine/attention/head_counts.h"
#include "engine/core/error.h"
#include "engine/models/folder_writer.h"
#include "engine/models/patch_stream.h"
#include "engine/models/trainable_family.h"
#include "engine/models/vision_family.h"
#include "engine/models/vision_grid.h"
#include "engine/training/tasks/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace attn {
namespace {

constexpr uint64_t kExamplePictures = 6; ///< example pictures in the folder of a model

} // namespace

ModelSpec visionOf(const Architecture& a, const ImageTaskInstance& task) {
    const ImageSize size = task.size();
    if (size.height % a.patch != 0 || size.width % a.patch != 0)
        throw Error({.what = fmt::format("patches of {} x {} do not divide pictures of {} x {}", a.patch, a.patch,
                                         size.width, size.height),
                     .where = "recipe: patch",
                     .hint = "choose a divisor of the picture's sides"});
    const bool readsCls = a.pooling == "cls";
    ModelSpec config = pictureSpec();
    config.patches.image = size;
    config.patches.patch = a.patch;
    config.patches.channels = task.channels();
    config.modelWidth = a.width;
    config.patches.clsToken = readsCls;
    config.positions = a.positions == "none" || saysPositions(a) ? Positions::None
                       : a.positions == "sinusoidal"             ? Positions::Sinusoidal
                                                                 : Positions::Learned;
    config.feedForward = feedForwardOf(a);
    config.readouts = {{.kind = TextReadout::PictureClass,
                        .labels = task.labels(),
                        .classes = std::ssize(task.labels()),
                        .pooling = readsCls ? PatchPooling::Cls : PatchPooling::Mean}};
    for (int64_t merge = 1; merge <= a.merges; ++merge)
        config.patches.merges.push_back(merge * a.layers / (a.merges + 1));
    if (a.pooledTokens > 0) config.patches.pools = {{.layer = a.layers / 2, .tokens = a.pooledTokens}};
    const std::vector<AttentionSpec> specs = attentionOf(a);
    for (int64_t layer = 0, first = 0; layer < a.layers; ++layer) { // first layer of a stage
        if (std::ranges::count(config.patches.merges, layer) > 0) first = layer;
        const int64_t merges = config.patches.mergesUpTo(layer);
        const bool isShifted = (layer - first) % 2 == 1;
        if (a.window > 0) config.patches.windows.push_back({.size = a.window, .shift = isShifted ? a.window / 2 : 0});
        std::optional<AttentionSpec> spec;
        if (!specs.empty())
            spec = specs[static_cast<size_t>(layer) % specs.size()];
        else if (a.window > 0)
            spec = AttentionSpec::parse(fmt::format("heads=multi_head({}), position=grid_bias({}, {}, {})", a.heads,
                                                    a.window, a.window, std::max<int64_t>(a.window - 1, 1)));
        if (spec) multiplyHeads(*spec, int64_t{1} << merges);
        config.layers.push_back(visionLayer(config.widthOf(layer), a.heads << merges, std::move(spec)));
    }
    requireGrid(config);
    placeOnGrid(config);
    config.family = std::string(writtenFamily(config).id);
    return config;
}

ImageObjective::ImageObjective(const Recipe& recipe, std::optional<StartingModel> start)
    : instance_(makeImageTask(taskNamed(recipe.task), settingsFor(recipe, start))), start_(std::move(start)),
      preprocessing_(instance_->preprocessing()) {
    const ClassActivation activation = taskNamed(recipe.task).activation;
    if (start_) {
        fitTo(*start_, recipe.architecture, activation);
    } else {
        config_ = visionOf(recipe.architecture, *instance_);
        config_.readouts.front().activation = activation;
    }
    structure_ = structureOf(config_);
}

/// Takes the model's description, with the classes of the task.
void ImageObjective::fitTo(const StartingModel& start, const Architecture& architecture, ClassActivation activation) {
    const auto refuse = [&](std::string what, std::string hint) {
        throw Error({.what = std::move(what), .where = "recipe: from", .hint = std::move(hint)});
    };
    config_ = start.source->config();
    const ImageSize size = instance_->size();
    if (size != config_.patches.image || instance_->channels() != config_.patches.channels) {
        const auto sentence = [](const ImageSize& of, int64_t channels) {
            return fmt::format("{} x {} pixels of {} {}", of.width, of.height, channels,
                               channels == 1 ? "channel" : "channels");
        };
        refuse(fmt::format("{} reads pictures of {} but the task has {}", config_.name,
                           sentence(config_.patches.image, config_.patches.channels),
                           sentence(size, instance_->channels())),
               "choose a model for such pictures, or another size in the settings of the task");
    }
    const std::shared_ptr<const Graph> before = buildModel(config_).graph;
    const bool isRecomposed = recompose(config_, architecture);
    parameters_ = {*before, *buildModel(config_).graph, isRecomposed, config_.layers.front().headWidth};
    preprocessing_ = start.source->preprocessing();
    ReadoutSpec& readout = config_.readouts.front();
    const std::vector<std::string> known = readout.labels, &now = instance_->labels();
    const bool isSame = readout.activation == activation;
    if (known == now && isSame) return;
    readout.labels = now;
    readout.activation = activation;
    classes_.rowsBefore = readout.classes;
    for (const std::string& label : now) {
        const auto found = std::ranges::find(known, label);
        classes_.before.push_back(
            found == known.end() || !isSame ? std::nullopt : std::optional(static_cast<int>(found - known.begin())));
    }
    readout.classes = std::ssize(now);
    parameters_.renewRows(classes_.before, [](const std::string& name) { return name.starts_with("head."); });
}

bool ImageObjective::isNew(const std::string& parameter) const {
    if (start_ && !parameters_.taken.contains(parameter)) return true;
    return !classes_.before.empty() && parameter.starts_with("head.");
}

std::vector<float> ImageObjective::startOf(const std::string& parameter, const Shape& shape,
                                           std::vector<float> fresh) const {
    if (!start_ || !parameters_.taken.contains(parameter)) return fresh;
    return isNew(parameter) ? classes_.fill(*start_, parameter, shape, std::move(fresh))
                            : parameters_.read(*start_, parameter, shape);
}

Objective::Forward ImageObjective::forward(int rows, double dropout, int64_t windowDivisor) const {
    const ModelSpec config = narrowed(config_, windowDivisor);
    ModelGraph encoder = buildModel(config, {.images = rows, .dropout = dropout, .needsGradients = true});
    return {.graph = encoder.graph,
            .losses = {lossOfAnswers(encoder.logits, config.classReadout().activation, rows)},
            .blocks = std::move(encoder.blocks),
            .partTensors = std::move(encoder.partTensors)};
}

std::map<std::string, Tensor> ImageObjective::views(const Forward& forward) const {
    const Tensor logits = forward.losses.front().prediction;
    switch (config_.classReadout().activation) {
    case ClassActivation::Softmax:
        return {{kSaid, softmax(logits)}};
    case ClassActivation::Sigmoid:
        return {{kSaid, unary(logits, Unary::Sigmoid)}};
    case ClassActivation::None:
        break;
    }
    return {{kSaid, logits}};
}

bool ImageObjective::hasWindows() const { return narrowed(config_, 2) != config_; }

void ImageObjective::add(Batch& batch, const LabelledImage& example) const {
    const std::vector<float> patches = cutPatches(pixelsOf(example.picture, preprocessing_), config_.patches.channels,
                                                  config_.patches.image, config_.patches.patch);
    std::vector<float>& all = batch.numbers[Batch::kPatches];
    all.insert(all.end(), patches.begin(), patches.end());
    addTargets(batch, example.label, example.numbers);
}

/// @param numbers in place of the label, of a task that asks for them
void ImageObjective::addTargets(Batch& batch, int32_t label, std::span<const float> numbers) const {
    if (config_.classReadout().activation == ClassActivation::Softmax) return batch[Batch::kTargets].push_back(label);
    std::vector<float>& all = batch.numbers[Batch::kTargets];
    all.insert(all.end(), numbers.begin(), numbers.end());
}

Batch ImageObjective::batch(Split split, uint64_t index, int rows) const {
    if (split != Split::Train) return questions(split, index * static_cast<uint64_t>(rows), rows);
    Batch batch{.rows = rows};
    batch.numbers[Batch::kPatches].reserve(
        static_cast<size_t>(rows * config_.patches.image.area() * config_.patches.channels));
    for (int row = 0; row < rows; ++row)
        add(batch, instance_->trainingExample(index * static_cast<uint64_t>(rows) + static_cast<uint64_t>(row)));
    return batch;
}

Batch ImageObjective::questions(Split split, uint64_t first, int rows) const {
    Batch batch{.rows = rows};
    const std::optional<uint64_t> count = instance_->rowCount(split);
    for (int row = 0; row < rows; ++row) {
        const uint64_t index = first + static_cast<uint64_t>(row);
        if (count && index >= *count) { // rows beyond the end have no target
            const std::vector<float> none(instance_->labels().size(), std::numeric_limits<float>::quiet_NaN());
            addTargets(batch, Batch::kIgnored, none);
            std::vector<float>& all = batch.numbers[Batch::kPatches];
            all.resize(all.size() + static_cast<size_t>(config_.patches.image.area() * config_.patches.channels));
        } else {
            add(batch, instance_->example(split, index));
        }
    }
    return batch;
}

void ImageObjective::addTo(Evaluation& evaluation, Split, const Batch& batch, const Said& said, int64_t row, uint64_t,
                           bool) const {
    if (batch[Batch::kTargets].empty()) return; // several labels, or numbers
    const size_t classes = instance_->labels().size();
    evaluation.confusion.resize(classes * classes);
    const int32_t right = batch[Batch::kTargets][static_cast<size_t>(row)];
    if (right != Batch::kIgnored)
        ++evaluation
              .confusion[static_cast<size_t>(right) * classes + static_cast<size_t>(said.best(Batch::kTargets, row))];
}

void ImageObjective::fill(GpuExecutor& executor, const Batch& batch) const {
    const std::span<float> input = executor.input(vision_names::kPatches);
    const Shape shape{batch.rows * config_.patches.grid().area(), config_.patches.patchValues()};
    writeRows(batch.numbersOf(Batch::kPatches), shape, [&](const auto& fill) { fill(0, input); });
    if (executor.hasInput(vision_names::kPadding))
        writePadding(executor.inputIntegers(vision_names::kPadding), batch.rows, config_.patches.tokens());
}

std::string ImageObjective::rightAnswer(const LabelledImage& example) const {
    const ReadoutSpec& readout = config_.classReadout();
    if (readout.activation == ClassActivation::Softmax) return readout.labels[static_cast<size_t>(example.label)];
    return answerText(readout.activation, readout.labels, example.numbers);
}

void ImageObjective::writeModel(const std::filesystem::path& folder, const ReadParameter& read) const {
    FolderText text{.preprocessing = preprocessing_};
    for (uint64_t i = 0; i < std::min(kExamplePictures, instance_->rowCount(Split::Test).value_or(kExamplePictures));
         ++i) {
        LabelledImage example = instance_->example(Split::Test, i);
        std::string name = fmt::format("{} {}", i + 1, rightAnswer(example));
        std::ranges::replace(name, '/', '-');
        text.examples.emplace_back(std::move(name), std::move(example.picture));
    }
    writeModelFolder(folder, config_, text, read);
}

std::optional<WeightRecipe> ImageObjective::placeOf(const std::string& parameter) const {
    return placeInFile(config_, parameter);
}

ReadStored ImageObjective::openModel(const std::filesystem::path& folder) const {
    return openWritten(folder, config_.classReadout().activation);
}

std::shared_ptr<const WeightSet::Model> ImageObjective::describe() const {
    return std::make_shared<const WeightSet::Model>(
        WeightSet::Model{.config = config_,
                         .familyTitle = std::string(writtenFamily(config_).title),
                         .configText = writtenConfig(config_),
                         .preprocessing = preprocessing_});
}

} // namespace attn
