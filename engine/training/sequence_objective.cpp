#include "engine/training/sequence_objective.h"

#include "engine/models/family.h"
#include "engine/models/folder_writer.h"
#include "engine/models/model_source.h"
#include "engine/training/tasks/catalogue.h"

#include <algorithm>

namespace attn {

Batch questionsOf(const TaskInstance& task, Split split, uint64_t first, int rows) {
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

SequenceObjective::SequenceObjective(const Recipe& recipe)
    : instance_(makeTask(taskNamed(recipe.task), recipe.settings)) {
    const auto roundUp = [&](int64_t unit) { return (instance_->contextLength() + unit - 1) / unit * unit; };
    // Some parts learn a number for every pair of positions of the context.
    columns_ = roundUp(recipe.architecture.attention.empty() ? 4 : 8);
    config_ = decoderOf(recipe.architecture, instance_->vocabularySize(), roundUp(8)); // as in checkpoints
}

Objective::Forward SequenceObjective::forwardOf(int rows, int64_t columns, double dropout) const {
    ModelGraph decoder = buildDecoder(config_, {.queries = rows * columns, .sequence = columns, .dropout = dropout});
    return {.graph = decoder.graph,
            .logits = decoder.logits,
            .blocks = std::move(decoder.blocks),
            .partTensors = std::move(decoder.partTensors)};
}

Batch SequenceObjective::questions(Split split, uint64_t first, int rows) const {
    if (!isEncoder(config_)) return questionsOf(*instance_, split, first, rows);
    Batch all{.rows = rows, .columns = instance_->contextLength()};
    for (int row = 0; row < rows; ++row) {
        const Batch one = instance_->batch(split, first + static_cast<uint64_t>(row), 1);
        all.inputs.insert(all.inputs.end(), one.inputs.begin(), one.inputs.end());
        all.targets.insert(all.targets.end(), one.targets.begin(), one.targets.end());
    }
    return all;
}

void SequenceObjective::fill(GpuExecutor& executor, const Batch& batch) const {
    // Parts compute their own positions.
    const bool asksPositions = executor.hasInput(decoder_names::kPositions);
    const auto tokens = executor.inputIntegers(decoder_names::kTokens),
               positions = asksPositions ? executor.inputIntegers(decoder_names::kPositions) : std::span<int32_t>{};
    const auto columns = static_cast<int64_t>(tokens.size()) / batch.rows;
    for (int row = 0; row < batch.rows; ++row)
        for (int64_t column = 0; column < columns; ++column) {
            const auto to = static_cast<size_t>(row * columns + column);
            tokens[to] = column < batch.columns ? batch.inputs[static_cast<size_t>(row * batch.columns + column)] : 0;
            if (asksPositions) positions[to] = static_cast<int32_t>(column);
        }
    if (executor.hasInput(decoder_names::kKeyPositions)) // rows of encoders have no padding
        std::ranges::copy(positions, executor.inputIntegers(decoder_names::kKeyPositions).begin());
    if (executor.hasInput(decoder_names::kTokenTypes))
        std::ranges::fill(executor.inputIntegers(decoder_names::kTokenTypes), 0);
}

void SequenceObjective::writeModel(const std::filesystem::path& folder, const ReadParameter& read) const {
    const Tokenizer& tokenizer = instance_->tokenizer();
    std::vector<int32_t> prompt = instance_->example(Split::Validation, 0).prompt;
    const bool keepsMasks = isEncoder(config_);
    if (keepsMasks) prompt = {prompt.begin() + 1, prompt.end() - 1}; // without the tokens around it
    std::string example = tokenizer.decode(prompt, !keepsMasks);
    example.erase(0, example.find_first_not_of(' '));
    writeModelFolder(folder, config_,
                     {.tokenizerJson = instance_->tokenizerJson(),
                      .endToken = keepsMasks ? std::nullopt : tokenizer.endId(),
                      .examplePrompt = std::move(example)},
                     read);
}

ReadStored SequenceObjective::openModel(const std::filesystem::path& folder) const {
    return [source = std::shared_ptr<const ModelSource>(openModelSource(folder.string()))](
               const std::string& parameter, const Shape& shape, const RowWriter& write) {
        source->read(parameter, shape, write);
    };
}

std::shared_ptr<const WeightSet::Model> SequenceObjective::describe() const {
    const auto family =
        std::ranges::find_if(familyCatalogue(), [&](const ModelFamily* f) { return f->id == config_.family; });
    WeightSet::Model model{.config = config_,
                           .familyTitle = std::string((*family)->title),
                           .configText = writtenConfig(config_),
                           .tokenizer =
                               std::make_shared<const Tokenizer>(Tokenizer::fromJson(instance_->tokenizerJson()))};
    if (const auto end = instance_->tokenizer().endId(); end && !isEncoder(config_)) model.stopTokens = {*end};
    return std::make_shared<const WeightSet::Model>(std::move(model));
}

} // namespace attn
