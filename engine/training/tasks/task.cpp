#include "engine/training/tasks/task.h"

#include "engine/core/error.h"
#include "engine/training/tasks/image_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

std::string rangeOf(const Param& param) {
    if (param.kind == Param::Kind::Toggle) return "0 or 1";
    return fmt::format("{} from {} to {}", param.kind == Param::Kind::Integer ? "a whole number" : "a number",
                       param.minimum, param.maximum);
}

bool accepts(const Param& param, double value) {
    if (!std::isfinite(value) || value < param.minimum || value > param.maximum) return false;
    return param.kind == Param::Kind::Real || value == std::round(value);
}

/// The settings' values with the defaults of the others, in the order of Task::params.
/// @throws Error naming the parameter and its range
std::vector<double> checkedValues(const Task& task, const TaskSettings& settings) {
    for (const auto& [id, value] : settings.values) {
        const auto param = std::ranges::find(task.params, id, &Param::id);
        if (param == task.params.end()) {
            std::vector<std::string_view> known;
            for (const Param& each : task.params) known.push_back(each.id);
            failParameter(task.id, id, "the task has no such parameter",
                          fmt::format("choose from: {}", fmt::join(known, ", ")));
        }
        if (!accepts(*param, value))
            failParameter(task.id, id, fmt::format("{} is out of range", value),
                          fmt::format("choose {}", rangeOf(*param)));
    }
    std::vector<double> values;
    for (const Param& param : task.params) {
        const auto chosen = settings.values.find(param.id);
        values.push_back(chosen == settings.values.end() ? param.initial : chosen->second);
    }
    return values;
}

} // namespace

LabelKind labelKindOf(ClassActivation activation) {
    return activation == ClassActivation::Softmax   ? LabelKind::One
           : activation == ClassActivation::Sigmoid ? LabelKind::Several
                                                    : LabelKind::Number;
}

Segments segmentsOf(const Task& task, const TaskSettings& settings) {
    if (!task.segments) return {};
    const std::vector<double> values = checkedValues(task, settings);
    return task.segments({task.params, values});
}

void TaskInstance::requireRows(int rows) {
    if (rows < 1)
        throw Error(
            {.what = fmt::format("a batch cannot have {} rows", rows), .where = "batch", .hint = "ask for 1 or more"});
}

std::vector<std::string> TaskInstance::answerTexts(const Example&, std::span<const int32_t> answer) const {
    const std::vector<std::string> classes = labels();
    std::vector<std::string> texts;
    for (const int32_t id : answer) {
        const std::string text = classes.empty() ? tokenizer_.tokenText(id) : classes.at(static_cast<size_t>(id));
        const bool isEnd = classes.empty() && tokenizer_.isSpecial(id) && text != "<unk>";
        texts.push_back(isEnd ? "∎" : text);
    }
    return texts;
}

Batch questionsOf(const TaskInstance& task, Split split, uint64_t first, int rows) {
    Batch batch{.rows = rows};
    const int columns = task.contextLength();
    std::vector<int32_t>&inputs = batch[Batch::kInputs], &targets = batch[Batch::kTargets];
    inputs.assign(static_cast<size_t>(rows * columns), task.tokenizer().endId().value_or(0));
    targets.assign(inputs.size(), Batch::kIgnored);
    if (task.sourceLength() > 0)
        batch[Batch::kSources].assign(static_cast<size_t>(rows * task.sourceLength()), Batch::kIgnored);
    for (int row = 0; row < rows; ++row) {
        const Example example = task.example(split, first + static_cast<uint64_t>(row));
        std::vector<int32_t> tokens = example.prompt;
        tokens.insert(tokens.end(), example.answer.begin(), example.answer.end());
        if (!example.source.empty())
            std::ranges::copy(example.source, batch[Batch::kSources].begin() + row * task.sourceLength());
        const auto base = static_cast<size_t>(row * columns);
        for (size_t i = 0; i + 1 < tokens.size(); ++i) {
            inputs[base + i] = tokens[i];
            if (i + 1 >= example.prompt.size()) targets[base + i] = tokens[i + 1];
        }
    }
    return batch;
}

std::unique_ptr<TaskInstance> makeTask(const Task& task, const TaskSettings& settings) {
    const std::vector<double> values = checkedValues(task, settings);
    return task.make({task.params, values}, settings);
}

std::unique_ptr<ImageTaskInstance> makeImageTask(const Task& task, const TaskSettings& settings) {
    const std::vector<double> values = checkedValues(task, settings);
    return task.makeImages({task.params, values}, settings);
}

} // namespace attn
