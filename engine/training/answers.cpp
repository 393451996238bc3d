#include "engine/training/answers.h"

#include "engine/core/error.h"
#include "engine/inference/language_model.h"
#include "engine/inference/text_batch.h"
#include "engine/training/tasks/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

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
    for (int row = 0; row < rows; ++row) {
        TaskAnswer answer{.example = objective.instance().example(split, first + static_cast<uint64_t>(row)),
                          .given = segments.count > 0
                                       ? chosenSegments(said, batch, segments, row)
                                       : chosenTargets(said, batch, trainer.losses().front().perRow, row)};
        if (const auto width = std::ssize(answer.example.numbers); width > 0)
            answer.said = saidOf(said.numbers(Batch::kTargets, row, width), trainer.task().activation);
        all.push_back(std::move(answer));
    }
}

/// An answer that is written token by token.
class Answer {
public:
    Answer(const TaskInstance& task, const Example& example, AnswerUntil until)
        : end_(until == AnswerUntil::EndToken ? std::optional(task.tokenizer().endId()) : std::nullopt),
          most_(until == AnswerUntil::EndToken ? static_cast<size_t>(task.contextLength()) + 1 - example.prompt.size()
                                               : example.answer.size()),
          next_(example.prompt.begin(), example.prompt.end()) {}

    bool isDone() const { return given_.size() >= most_ || (!given_.empty() && given_.back() == end_); }
    /// The tokens that the model has not run yet.
    const std::vector<int>& next() const { return next_; }
    /// Adds the most probable token after them.
    void add(std::span<const float> logits) {
        given_.push_back(static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin()));
        next_ = {given_.back()};
    }
    const std::vector<int32_t>& given() const { return given_; }

private:
    std::optional<int> end_;
    size_t most_;
    std::vector<int> next_;
    std::vector<int32_t> given_;
};

/// Writes answers by the model that people use, one after another.
void writeInTurn(LanguageModel& model, std::span<const Example> examples, std::span<Answer> answers) {
    for (size_t i = 0; i < answers.size(); ++i) {
        model.truncate(0);
        model.setSides({.source = {examples[i].source.begin(), examples[i].source.end()}});
        model.setPrefix(examples[i].prompt.size());
        while (!answers[i].isDone()) {
            model.feed(answers[i].next());
            answers[i].add(model.logits());
        }
    }
}

/// Writes answers beside each other. @param most number of tokens of a text
void writeTogether(LanguageModel& model, std::span<Answer> answers, size_t most) {
    constexpr size_t kTogether = 64;
    TextBatch batch(model, {.texts = std::min(answers.size(), kTogether), .tokens = most});
    for (size_t first = 0; first < answers.size(); first += kTogether) {
        const std::span<Answer> some = answers.subspan(first, std::min(kTogether, answers.size() - first));
        for (size_t i = 0; i < some.size(); ++i) batch.begin(static_cast<int>(i));
        for (;;) {
            std::vector<TextBatch::Next> next;
            for (size_t i = 0; i < some.size(); ++i)
                if (!some[i].isDone()) next.push_back({static_cast<int>(i), some[i].next()});
            if (next.empty()) break;
            batch.feed(next);
            for (const TextBatch::Next& each : next) some[static_cast<size_t>(each.text)].add(batch.logits(each.text));
        }
        for (size_t i = 0; i < some.size(); ++i) batch.drop(static_cast<int>(i));
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
    std::vector<TaskAnswer> result;
    if (trainer.task().readout == TextReadout::NextToken) {
        const TaskInstance& task = sequencesOf(trainer)->instance();
        LanguageModel& model = trainer.writer();
        std::vector<Example> examples;
        std::vector<Answer> answers;
        for (int i = 0; i < count; ++i) {
            examples.push_back(task.example(split, first + static_cast<uint64_t>(i)));
            answers.emplace_back(task, examples.back(), until);
        }
        if (TextBatch::whyNot(model).empty())
            writeTogether(model, answers, static_cast<size_t>(task.contextLength()));
        else
            writeInTurn(model, examples, answers);
        for (size_t i = 0; i < examples.size(); ++i)
            result.push_back({.example = std::move(examples[i]), .given = answers[i].given()});
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
        const auto rows = trainer.say(trainer.objective().questions(split, begin, most)).view(ImageObjective::kSaid);
        const size_t stride = rows.size() / static_cast<size_t>(most); // padded
        for (size_t row = 0; row < static_cast<size_t>(std::min(count - done, most)); ++row) {
            const uint64_t index = begin + row;
            if (index >= task.rowCount(split).value_or(index + 1)) return result;
            const auto own = rows.begin() + static_cast<std::ptrdiff_t>(row * stride);
            ImagePrediction prediction{.example = task.example(split, index),
                                       .said = {own, own + static_cast<std::ptrdiff_t>(classes)},
                                       .right = {},
                                       .given = {},
                                       .probability = {}};
            prediction.right = imagesOf(trainer)->rightAnswer(prediction.example);
            prediction.given = answerText(trainer.task().activation, task.labels(), prediction.said);
            if (trainer.task().activation == ClassActivation::Softmax)
                prediction.probability = static_cast<double>(std::ranges::max(prediction.said));
            if (trainer.task().activation == ClassActivation::None)
                prediction.error = meanDistance(prediction.said, prediction.example.numbers);
            result.push_back(std::move(prediction));
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
