#include "engine/training/answers.h"

#include "engine/core/error.h"
#include "engine/training/tasks/catalogue.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {
namespace {

[[noreturn]] void failOther(const char* wanted) {
    throw Error({.what = fmt::format("this needs a task with {}", wanted), .where = "training", .hint = {}});
}

/// The words of the segments that the model takes for the hidden ones of a row.
std::vector<int32_t> chosenSegments(const Said& said, const Batch& batch, const Segments& segments, int64_t row) {
    const int64_t context = batch.width(Batch::kWhole);
    std::vector<int32_t> words;
    for (int64_t own = row * segments.count; own < (row + 1) * segments.count; ++own) {
        if (batch[Batch::kSegments][static_cast<size_t>(own)] == Batch::kIgnored) continue;
        const int64_t chosen = said.best(Batch::kSegments, own);
        const auto from = batch[Batch::kWhole].begin() + chosen / segments.count * context;
        words.insert(words.end(), from + segments.begin(chosen % segments.count),
                     from + segments.begin(chosen % segments.count + 1));
    }
    return words;
}

/// The choices for the targets of a row, the class first.
std::vector<int32_t> chosenTargets(const Said& said, const Batch& batch, int64_t perRow, int64_t row) {
    std::vector<int32_t> given;
    if (!batch[Batch::kClasses].empty()) given.push_back(said.best(Batch::kClasses, row));
    const int64_t width = batch.width(Batch::kTargets);
    for (int64_t column = 0; column < width; ++column)
        if (batch[Batch::kTargets][static_cast<size_t>(row * width + column)] != Batch::kIgnored)
            given.push_back(said.best(Batch::kTargets, row * perRow + column));
    return given;
}

/// Answers that are predicted at once. @param rows of the batch that count
void addAtOnce(std::vector<TaskAnswer>& all, Trainer& trainer, Split split, uint64_t first, int rows) {
    const SequenceObjective& objective = *sequencesOf(trainer);
    const Batch batch = objective.questions(split, first, trainer.evaluationRows());
    const Said said = trainer.say(batch);
    const Segments& segments = objective.segments();
    for (int row = 0; row < rows; ++row)
        all.push_back({.example = objective.instance().example(split, first + static_cast<uint64_t>(row)),
                       .given = segments.count > 0 ? chosenSegments(said, batch, segments, row)
                                                   : chosenTargets(said, batch, trainer.losses().front().perRow, row)});
}

/// Answers that are written token by token: each is put into the inputs before the next is predicted.
void addWritten(std::vector<TaskAnswer>& all, Trainer& trainer, Split split, uint64_t first, int rows,
                AnswerUntil until) {
    const TaskInstance& task = sequencesOf(trainer)->instance();
    const auto perRow = trainer.losses().front().perRow;
    Batch batch = questionsOf(task, split, first, trainer.evaluationRows());
    const auto width = static_cast<size_t>(batch.width(Batch::kInputs));
    const size_t begin = all.size();
    size_t longest = 0;
    for (int row = 0; row < rows; ++row) {
        all.push_back({.example = task.example(split, first + static_cast<uint64_t>(row)), .given = {}});
        const Example& example = all.back().example;
        const size_t room = static_cast<size_t>(task.contextLength()) + 1 - example.prompt.size();
        longest = std::max(longest, until == AnswerUntil::EndToken ? room : example.answer.size());
    }
    const auto isDone = [&](const TaskAnswer& answer) {
        if (until == AnswerUntil::RightLength) return answer.given.size() >= answer.example.answer.size();
        return !answer.given.empty() && answer.given.back() == task.tokenizer().endId();
    };
    for (size_t i = 0; i < longest; ++i) {
        const Said said = trainer.say(batch);
        for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
            TaskAnswer& answer = all[begin + row];
            if (isDone(answer)) continue;
            const size_t column = answer.example.prompt.size() - 1 + i;
            answer.given.push_back(
                said.best(Batch::kTargets, static_cast<int64_t>(row) * perRow + static_cast<int64_t>(column)));
            if (column + 1 < width) batch[Batch::kInputs][row * width + column + 1] = answer.given.back();
        }
    }
}

} // namespace

const SequenceObjective* sequencesOf(const Trainer& trainer) {
    return dynamic_cast<const SequenceObjective*>(&trainer.objective());
}

const ImageObjective* imagesOf(const Trainer& trainer) {
    return dynamic_cast<const ImageObjective*>(&trainer.objective());
}

std::vector<TaskAnswer> answersOf(Trainer& trainer, Split split, uint64_t first, int count, AnswerUntil until) {
    if (!sequencesOf(trainer)) failOther("sequences");
    const bool isAtOnce = trainer.task().readout != TextReadout::NextToken;
    std::vector<TaskAnswer> result;
    for (int done = 0; done < count; done += trainer.evaluationRows()) {
        const uint64_t begin = first + static_cast<uint64_t>(done);
        const int rows = std::min(count - done, trainer.evaluationRows());
        if (isAtOnce)
            addAtOnce(result, trainer, split, begin, rows);
        else
            addWritten(result, trainer, split, begin, rows, until);
    }
    return result;
}

std::vector<ImagePrediction> predictionsOf(Trainer& trainer, Split split, uint64_t first, int count) {
    if (!imagesOf(trainer)) failOther("pictures");
    const ImageTaskInstance& task = imagesOf(trainer)->instance();
    const size_t classes = task.labels().size();
    const int most = trainer.evaluationRows();
    std::vector<ImagePrediction> result;
    for (int done = 0; done < count; done += most) {
        const uint64_t begin = first + static_cast<uint64_t>(done);
        const auto rows =
            trainer.say(trainer.objective().questions(split, begin, most)).view(ImageObjective::kProbabilities);
        const size_t stride = rows.size() / static_cast<size_t>(most); // padded
        for (size_t row = 0; row < static_cast<size_t>(std::min(count - done, most)); ++row) {
            const uint64_t index = begin + row;
            if (index >= task.rowCount(split).value_or(index + 1)) return result;
            result.push_back({.example = task.example(split, index),
                              .probabilities = {rows.begin() + static_cast<std::ptrdiff_t>(row * stride),
                                                rows.begin() + static_cast<std::ptrdiff_t>(row * stride + classes)}});
        }
    }
    return result;
}

Trainer::LengthEvaluation evaluateAt(Trainer& trainer, const TaskInstance& instance, Split split, int rows,
                                     int lastTargets) {
    const SequenceObjective* objective = sequencesOf(trainer);
    if (!objective) failOther("sequences");
    const auto roundUp = [](int64_t length) { return (length + 7) / 8 * 8; };
    const Batch batch = trainer.task().metric == Task::Metric::ExactMatch ? questionsOf(instance, split, 0, rows)
                                                                          : instance.batch(split, 0, rows);
    return trainer.measure(
        objective->forwardOf(rows, roundUp(instance.contextLength()), roundUp(instance.sourceLength()), 0), batch,
        lastTargets);
}

} // namespace attn
