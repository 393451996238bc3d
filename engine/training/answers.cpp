#include "engine/training/answers.h"

#include "engine/core/error.h"
#include "engine/inference/language_model.h"
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

/// An answer that is written token by token, by the model that people use.
std::vector<int32_t> written(LanguageModel& model, const TaskInstance& task, const Example& example,
                             AnswerUntil until) {
    std::vector<int32_t> given;
    const size_t room = static_cast<size_t>(task.contextLength()) + 1 - example.prompt.size(),
                 most = until == AnswerUntil::EndToken ? room : example.answer.size();
    model.truncate(0);
    model.setSides({.source = {example.source.begin(), example.source.end()}});
    model.setPrefix(example.prompt.size());
    std::vector<int> next(example.prompt.begin(), example.prompt.end());
    while (given.size() < most &&
           (until == AnswerUntil::RightLength || given.empty() || given.back() != task.tokenizer().endId())) {
        model.feed(next);
        given.push_back(static_cast<int32_t>(std::ranges::max_element(model.logits()) - model.logits().begin()));
        next = {given.back()};
    }
    return given;
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
    std::vector<TaskAnswer> result;
    if (trainer.task().readout == TextReadout::NextToken) {
        const TaskInstance& task = sequencesOf(trainer)->instance();
        LanguageModel& model = trainer.writer();
        for (int i = 0; i < count; ++i) {
            Example example = task.example(split, first + static_cast<uint64_t>(i));
            std::vector<int32_t> given = written(model, task, example, until);
            result.push_back({.example = std::move(example), .given = std::move(given)});
        }
        return result;
    }
    for (int done = 0; done < count; done += trainer.evaluationRows())
        addAtOnce(result, trainer, split, first + static_cast<uint64_t>(done),
                  std::min(count - done, trainer.evaluationRows()));
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
