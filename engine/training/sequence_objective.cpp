#include "engine/training/sequence_objective.h"

#include "engine/attention/position/dependency_tree.h"
#include "engine/core/error.h"
#include "engine/inference/text_classes.h"
#include "engine/models/family.h"
#include "engine/models/folder_writer.h"
#include "engine/models/model_source.h"
#include "engine/models/tree_inputs.h"
#include "engine/models/vision_grid.h"
#include "engine/training/composed_start.h"
#include "engine/training/metrics.h"
#include "engine/training/segment_problem.h"
#include "engine/training/tasks/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace attn {
namespace {

constexpr const char* kSpanLogits = "span_logits";
constexpr double kSegmentShare = 0.2; ///< of hidden segments in the loss; hidden tokens have the rest

/// Writes the tokens and positions of a stream's rows. Keys of padding have a position that no query reaches.
/// @param prefix of the names of the stream's inputs  @param ids [rows, columns], columns at most those of the inputs
void fillStream(GpuExecutor& executor, const std::string& prefix, int rows, std::span<const int32_t> ids,
                int64_t context) {
    const auto input = [&](const char* name) { // parts may compute their own positions
        return executor.hasInput(prefix + name) ? executor.inputIntegers(prefix + name) : std::span<int32_t>{};
    };
    const auto tokens = input(decoder_names::kTokens), positions = input(decoder_names::kPositions),
               keyPositions = input(decoder_names::kKeyPositions);
    const size_t width = tokens.size() / static_cast<size_t>(rows), columns = ids.size() / static_cast<size_t>(rows);
    for (size_t to = 0; to < tokens.size(); ++to) {
        const size_t row = to / width, column = to % width;
        const int32_t token = column < columns ? ids[row * columns + column] : Batch::kIgnored;
        const auto position = static_cast<int32_t>(column);
        tokens[to] = std::max(token, 0);
        if (!positions.empty()) positions[to] = position;
        if (!keyPositions.empty())
            keyPositions[to] = token == Batch::kIgnored ? -static_cast<int32_t>(context) : position;
    }
}

/// Reads parameters; those that the written format has and the model lacks are zeros, which change nothing.
ReadParameter withZeros(const ModelSpec& written, const ModelSpec& config, const ReadParameter& read) {
    if (written == config) return read;
    std::map<std::string, Shape> lacking;
    const ModelGraph all = buildForListing(written), own = buildForListing(config);
    for (const Node* node : storedParameters(*all.graph)) lacking.emplace(node->name, node->outputs[0].shape);
    for (const Node* node : storedParameters(*own.graph)) lacking.erase(node->name);
    return [=](const std::string& name) {
        const auto found = lacking.find(name);
        return found == lacking.end() ? read(name)
                                      : std::vector<float>(static_cast<size_t>(found->second.elements()), 0.0f);
    };
}

/// Whether a parameter has a row for each token.
bool hasRowsOfTokens(const std::string& parameter) {
    return parameter.ends_with("embed.W_E") || parameter.starts_with("unembed.");
}

/// The trees of a batch's rows. Rows beyond the end of a split have that of the spec.
std::vector<DependencyTree> treesOf(const AttentionSpec& spec, const Batch& batch) {
    std::vector<DependencyTree> trees;
    const std::span<const int32_t> all = batch[Batch::kParents];
    const size_t width = all.size() / static_cast<size_t>(batch.rows);
    for (size_t row = 0; row < static_cast<size_t>(batch.rows); ++row) {
        const auto parents = all.subspan(row * width, width);
        const auto words = static_cast<size_t>(std::ranges::find(parents, Batch::kIgnored) - parents.begin());
        trees.push_back(treeOfText(spec, parents.first(words)));
    }
    return trees;
}

} // namespace

SequenceObjective::SequenceObjective(const Recipe& recipe, std::optional<StartingModel> start)
    : task_(taskNamed(recipe.task)), start_(std::move(start)), instance_(makeTask(task_, settingsFor(recipe, start_))) {
    const auto roundUp = [](int64_t length, int64_t unit) { return (length + unit - 1) / unit * unit; };
    // Some parts learn a number for every pair of positions of the context.
    const int64_t unit = recipe.architecture.attention.empty() ? 4 : 8;
    columns_ = roundUp(instance_->contextLength(), unit);
    sources_ = roundUp(instance_->sourceLength(), unit);
    const int64_t context = roundUp(std::max(instance_->contextLength(), instance_->sourceLength()), 8);
    if (start_) {
        fitTo(*start_, recipe);
    } else {
        config_ = decoderOf(recipe.architecture, instance_->vocabularySize(), context); // as in checkpoints
        setReadout(taskNamed(recipe.task));
        if (config_.hasPrefix && !canHavePrefix(config_)) // a mask may be wider than the lengths at which check() looks
            throw Error(
                {.what = fmt::format("this attention cannot show a prefix of up to {} tokens in both directions",
                                     config_.context),
                 .where = "recipe: attention",
                 .hint = "leave it empty, or compose one with the mask causal and without a bias of the scores"});
    }
    if (isEncoder(config_)) requireWords(config_.layers.front().spec, instance_->contextLength(), "recipe.attention");
    config_.segments = segmentsOf(taskNamed(recipe.task), recipe.settings);
    if (config_.readsStream()) config_.startToken = instance_->example(Split::Train, 0).prompt.front();
    structure_ = structureOf(config_, config_.context);
    written_ = config_;
    if (config_.readsStream() && recipe.architecture.positions == "none" &&
        recipe.architecture.attention.empty()) { // a format that no family has
        Architecture architecture = recipe.architecture;
        architecture.positions = Architecture().positions;
        written_ = decoderOf(architecture, config_.tokens.vocabulary, context);
        written_.startToken = config_.startToken;
    }
}

/// Lets the task decide what the model says, whether that is a picture, and whether it reads a prefix in both
/// directions.
void SequenceObjective::setReadout(const Task& task) {
    config_.hasPrefix = task.hasPrefix;
    if (task.readout != TextReadout::TextClass) config_.classPadding.reset();
    config_.picture = instance_->picture();
    requireGrid(config_);
    if (predictsTokens(task.readout)) {
        std::erase_if(config_.readouts, [](const ReadoutSpec& each) { return !predictsTokens(each.kind); });
        return;
    }
    const bool hides = instance_->hidesTokens();
    const ReadoutSpec classes{.kind = hides ? TextReadout::NextSentence : task.readout,
                              .labels = instance_->labels(),
                              .activation = task.activation},
        tokens = config_.tokenReadout();
    config_.readouts.clear();
    if (hides && tokens.kind == TextReadout::MaskedToken) config_.readouts.push_back(tokens);
    if (hides && config_.readouts.empty()) // as in a file without a readout of tokens
        config_.readouts.push_back({.kind = TextReadout::MaskedToken, .unembedBias = true});
    config_.readouts.push_back(classes);
}

/// Takes the model's description, with the tokens of the task.
void SequenceObjective::fitTo(const StartingModel& start, const Recipe& recipe) {
    const Task& task = taskNamed(recipe.task);
    const TaskSettings& settings = recipe.settings;
    const auto refuse = [&](std::string what, std::string hint) {
        throw Error({.what = std::move(what), .where = "recipe: from", .hint = std::move(hint)});
    };
    config_ = start.source->config();
    const bool needsEncoder = !predictsTokens(task.readout) && task.readout != TextReadout::TextClass;
    const bool saysOther = predictsTokens(task.readout)
                               ? config_.readout() != task.readout || config_.hasQueryStream != task.permutes
                               : (needsEncoder && !isEncoder(config_)) || config_.hasQueryStream;
    if (saysOther || (config_.source(AxisKind::Tokens) != nullptr) != task.hasSource)
        refuse(fmt::format("{} cannot learn the task {}", config_.name, task.id),
               task.hasSource ? "choose a model with an encoder and a decoder"
               : task.readout == TextReadout::MaskedToken && !task.permutes
                   ? "choose a model that fills in masked tokens"
               : task.readout == TextReadout::NextToken
                   ? "choose a model that predicts the next token"
                   : fmt::format("choose a model of the family {}", fmt::join(familiesFor(task), " or ")));
    if (start.source->sourceTokenizer() != start.source->tokenizer())
        refuse(fmt::format("{} reads other tokens than it writes", config_.name), "choose a model with one vocabulary");
    const std::shared_ptr<const Graph> own = buildForListing(config_).graph;
    const bool isRecomposed = recompose(config_, recipe.architecture);
    if (task.hasPrefix && !canHavePrefix(config_))
        refuse(fmt::format("the attention of {} cannot show a prefix in both directions", config_.name),
               "choose a model whose attention is causal, without a window and without a bias of the scores");
    if (const auto problem = segmentProblem(config_.layers, config_.context, segmentsOf(task, settings)))
        refuse(problem->sentence, problem->remedy);
    const ReadoutSpec classes = config_.classReadout();
    parameters_ = {*own, *buildForListing(config_).graph, isRecomposed, config_.layers.front().headWidth};
    setReadout(task);
    const ReadoutSpec& wanted = config_.classReadout();
    if (wanted.labels != classes.labels || wanted.kind != classes.kind || wanted.activation != classes.activation)
        parameters_.renew("classifier.");
    const int64_t longest = std::max(columns_, sources_);
    if (config_.positions == Positions::None) { // positions by distance know no end
        const int64_t needed = (longest + 7) / 8 * 8;
        config_.context = std::max(config_.context, needed);
        if (config_.encoder) config_.encoder->context = std::max(config_.encoder->context, needed);
    }
    if (longest > config_.context)
        refuse(fmt::format("{} reads at most {} tokens but the task has {}", config_.name, config_.context, longest),
               "choose a shorter context, or smaller settings of the task");
    if (instance_->tokenizerJson() != start.tokenizerJson) {
        const Tokenizer &before = *start.source->tokenizer(), &now = instance_->tokenizer();
        tokens_.rowsBefore = config_.tokens.vocabulary;
        for (int id = 0; id < now.vocabularySize(); ++id) {
            const auto token = now.token(id);
            tokens_.before.push_back(token ? before.idOf(*token) : std::nullopt);
        }
        config_.tokens.vocabulary = now.vocabularySize();
        parameters_.renewRows(tokens_.before, hasRowsOfTokens);
        config_.classPadding.reset();
        if (config_.encoder) config_.encoder->tokens.vocabulary = config_.tokens.vocabulary;
    }
    const auto shapesOf = [](const Graph& graph) {
        std::map<std::string, Shape> shapes;
        for (const Node* node : storedParameters(graph)) shapes[node->name] = node->outputs[0].shape;
        return shapes;
    };
    if (shapesOf(*buildForListing(config_).graph) != shapesOf(*forward(1, 0).graph))
        refuse(fmt::format("{} has parameters for each of {} positions", config_.name, config_.context),
               fmt::format("choose a context of {}", config_.context));
}

bool SequenceObjective::isNew(const std::string& parameter) const {
    if (start_ && !parameters_.taken.contains(parameter)) return true;
    return hasNewTokens() && hasRowsOfTokens(parameter);
}

std::vector<float> SequenceObjective::startOf(const std::string& parameter, const Shape& shape,
                                              std::vector<float> fresh) const {
    if (!start_ || !parameters_.taken.contains(parameter)) return fresh;
    return isNew(parameter) ? tokens_.fill(*start_, parameter, shape, std::move(fresh))
                            : parameters_.read(*start_, parameter, shape);
}

Objective::Forward SequenceObjective::forward(int rows, double dropout, int64_t windowDivisor) const {
    return forwardOf(narrowed(config_, windowDivisor), rows, columns_, sources_, dropout);
}

Objective::Forward SequenceObjective::forwardOf(int rows, int64_t columns, int64_t sources, double dropout) const {
    return forwardOf(config_, rows, columns, sources, dropout);
}

bool SequenceObjective::hasWindows() const { return narrowed(config_, 2) != config_; }

Objective::Forward SequenceObjective::forwardOf(const ModelSpec& config, int rows, int64_t columns, int64_t sources,
                                                double dropout) {
    ModelGraph decoder = buildModel(config, {.queries = rows * columns,
                                             .source = rows * sources,
                                             .sequence = columns,
                                             .dropout = dropout,
                                             .isTraining = true});
    const auto lossOf = [rows](const char* name, Tensor logits) {
        return NamedLoss{.name = name, .prediction = logits, .perRow = logits.shape()[0] / rows};
    };
    std::vector<NamedLoss> losses{lossOfAnswers(
        decoder.logits,
        config.readout() == TextReadout::TextClass ? config.classReadout().activation : ClassActivation::Softmax,
        rows)};
    if (predictsTokens(config.readout()) && decoder.classes) {
        losses.front().metric = metric_names::kHiddenTokens;
        losses.push_back(lossOf(Batch::kClasses, decoder.classes));
    }
    if (decoder.segmentLogits) { // van den Oord et al. 2018, arXiv:1807.03748, eq. 4
        losses.front().weight = 1 - kSegmentShare;
        losses.push_back(lossOf(Batch::kSegments, decoder.segmentLogits));
        losses.back().weight = kSegmentShare;
        losses.back().smooths = false;
    }
    return {.graph = decoder.graph,
            .losses = std::move(losses),
            .blocks = std::move(decoder.blocks),
            .partTensors = std::move(decoder.partTensors)};
}

namespace {

/// Adds the targets of hidden segments: the right one of all segments of the batch is the segment itself.
Batch withSegments(Batch batch) {
    const std::vector<int32_t>& hidden = std::as_const(batch)[Batch::kHidden];
    std::vector<int32_t> targets;
    for (size_t own = 0; own < hidden.size(); ++own)
        targets.push_back(hidden[own] != 0 ? static_cast<int32_t>(own) : Batch::kIgnored);
    if (!targets.empty()) batch[Batch::kSegments] = std::move(targets);
    return batch;
}

} // namespace

Batch SequenceObjective::batch(Split split, uint64_t index, int rows) const {
    return withSegments(instance_->batch(split, index, rows));
}

Batch SequenceObjective::questions(Split split, uint64_t first, int rows) const {
    if (config_.readout() == TextReadout::NextToken) return questionsOf(*instance_, split, first, rows);
    Batch all;
    for (int row = 0; row < rows; ++row) all.append(instance_->batch(split, first + static_cast<uint64_t>(row), 1));
    return withSegments(std::move(all));
}

std::optional<int> SequenceObjective::rowsTogether(const Recipe& recipe) const {
    if (config_.segments.count == 0) return std::nullopt;
    return recipe.batch / recipe.accumulation; // the right segment is one of as many as in training
}

/// Counts an example of a file with several tasks, unless it was too long.
std::map<std::string, Tensor> SequenceObjective::views(const Forward& forward) const {
    if (task_.readout != TextReadout::Span) return {};
    return {{kSpanLogits, forward.losses.front().prediction}}; // [2 rows, columns]
}

void SequenceObjective::choose(Said& said, const Batch& batch) const {
    if (task_.readout != TextReadout::Span) return;
    const std::span<const float> logits = said.view(kSpanLogits);
    const size_t stride = logits.size() / (2 * static_cast<size_t>(batch.rows)),
                 width = static_cast<size_t>(batch.width(Batch::kInputs));
    std::vector<int32_t> choices;
    for (size_t row = 0; row < static_cast<size_t>(batch.rows); ++row) {
        std::span<const int32_t> tokens = std::span(batch[Batch::kInputs]).subspan(row * width, width), types;
        if (!batch[Batch::kTypes].empty()) types = std::span(batch[Batch::kTypes]).subspan(row * width, width);
        tokens = tokens.first(static_cast<size_t>(std::ranges::find(tokens, Batch::kIgnored) - tokens.begin()));
        const auto best = answerSpans(logits.subspan(2 * row * stride, tokens.size()),
                                      logits.subspan((2 * row + 1) * stride, tokens.size()),
                                      passageOf(tokens, types, &instance_->tokenizer()), 1);
        choices.push_back(best.empty() ? Batch::kIgnored : best.front().begin);
        choices.push_back(best.empty() ? Batch::kIgnored : best.front().end - 1);
    }
    said.choose(Batch::kTargets, std::move(choices));
}

void SequenceObjective::addTo(Evaluation& evaluation, Split split, const Batch&, const Said&, int64_t, uint64_t index,
                              bool isRight) const {
    if (!task_.hasSubtasks) return;
    const Example example = instance_->example(split, index);
    if (example.answer.empty()) return;
    Evaluation::Matches& matches = evaluation.subtasks[instance_->subtaskOf(example)];
    matches.right += isRight ? 1 : 0;
    ++matches.examples;
}

void SequenceObjective::fill(GpuExecutor& executor, const Batch& batch) const {
    for (const StreamSpec* stream : config_.streams())
        fillStream(executor, stream->inputs, batch.rows, batch[stream->isSource() ? Batch::kSources : Batch::kInputs],
                   stream->context);
    const auto fillRows = [&](const char* name, const std::vector<int32_t>& values) { // 0 beyond the values
        if (!executor.hasInput(name)) return;
        const auto input = executor.inputIntegers(name);
        const size_t columns = input.size() / static_cast<size_t>(batch.rows),
                     width = values.size() / static_cast<size_t>(batch.rows);
        for (size_t to = 0; to < input.size(); ++to) {
            const size_t row = to / columns, column = to % columns;
            input[to] = column < width ? values[row * width + column] : 0;
        }
    };
    fillRows(decoder_names::kTokenTypes, batch[Batch::kTypes]);
    if (const AttentionSpec* spec = treeSpec(config_)) writeTrees(executor, 0, treesOf(*spec, batch));
    fillRows(decoder_names::kRanks, batch[Batch::kRanks]);
    fillRows(decoder_names::kWholeTokens, batch[Batch::kWhole]);
    if (config_.hasPrefix) fillPrefixes(executor, batch);
    if (executor.hasInput(decoder_names::kReadoutRows)) fillReadoutRows(executor, batch);
}

/// Shows the tokens of each row's prefix, which ends where its targets begin, to all queries of the row.
void SequenceObjective::fillPrefixes(GpuExecutor& executor, const Batch& batch) const {
    const std::vector<int32_t>& targets = batch[Batch::kTargets];
    const auto columns = static_cast<std::ptrdiff_t>(batch.width(Batch::kTargets));
    const auto positions = executor.inputIntegers(decoder_names::kKeyPositions);
    const auto width = static_cast<std::ptrdiff_t>(positions.size()) / batch.rows;
    for (std::ptrdiff_t row = 0; row < batch.rows; ++row) {
        const auto first = targets.begin() + row * columns, last = first + columns;
        const std::ptrdiff_t prefix =
            std::find_if(first, last, [](int32_t target) { return target != Batch::kIgnored; }) - first + 1;
        for (std::ptrdiff_t key = 0; key < width; ++key)
            positions[static_cast<size_t>(row * width + key)] = key < prefix ? 0 : static_cast<int32_t>(key);
    }
}

void SequenceObjective::fillReadoutRows(GpuExecutor& executor, const Batch& batch) const {
    const auto rows = executor.inputIntegers(decoder_names::kReadoutRows);
    const auto width = static_cast<std::ptrdiff_t>(batch[Batch::kInputs].size()) / batch.rows,
               columns = std::ssize(executor.inputIntegers(decoder_names::kTokens)) / batch.rows;
    for (std::ptrdiff_t row = 0; row < batch.rows; ++row) {
        const auto first = batch[Batch::kInputs].begin() + row * width;
        const std::span<const int32_t> tokens(first, std::find(first, first + width, Batch::kIgnored));
        rows[static_cast<size_t>(row)] =
            static_cast<int32_t>(row * columns + static_cast<std::ptrdiff_t>(readoutRow(config_, tokens)));
    }
}

/// The tokens that end what the model writes: those of the model from which it starts, unless the tokens are new.
std::vector<int> SequenceObjective::stopTokens() const {
    if (isEncoder(config_)) return {};
    if (start_ && !hasNewTokens() && !start_->source->stopTokens().empty()) return start_->source->stopTokens();
    const auto end = instance_->tokenizer().endId();
    return end ? std::vector{*end} : std::vector<int>();
}

void SequenceObjective::writeModel(const std::filesystem::path& folder, const ReadParameter& read) const {
    const Tokenizer& tokenizer = instance_->tokenizer();
    const Example first = instance_->example(Split::Validation, 0);
    std::vector<int32_t> prompt = config_.readsStream() ? first.source : first.prompt;
    const bool keepsMasks = isEncoder(config_);
    if (keepsMasks && prompt.size() > 2 && tokenizer.isSpecial(prompt.front()))
        prompt = {prompt.begin() + 1, prompt.end() - 1}; // without the tokens around it
    std::string example = tokenizer.decode(prompt, !keepsMasks);
    example.erase(0, example.find_first_not_of(' '));
    FolderText text{
        .tokenizerJson = instance_->tokenizerJson(), .stopTokens = stopTokens(), .examplePrompt = std::move(example)};
    if (start_ && !hasNewTokens()) {
        text.configBefore = start_->source->configText();
        text.smallFiles = start_->smallFiles;
    }
    writeModelFolder(folder, written_, text, withZeros(written_, config_, read));
}

std::optional<WeightRecipe> SequenceObjective::placeOf(const std::string& parameter) const {
    return placeInFile(written_, parameter);
}

ReadStored SequenceObjective::openModel(const std::filesystem::path& folder) const {
    return openWritten(folder, config_.classReadout().activation);
}

std::shared_ptr<const WeightSet::Model> SequenceObjective::describe() const {
    WeightSet::Model model{.config = config_,
                           .familyTitle = std::string(familyNamed(config_.family)->title),
                           .configText = writtenConfig(config_),
                           .tokenizer =
                               std::make_shared<const Tokenizer>(Tokenizer::fromJson(instance_->tokenizerJson()))};
    model.stopTokens = stopTokens();
    return std::make_shared<const WeightSet::Model>(std::move(model));
}

} // namespace attn
