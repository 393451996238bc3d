#include "app/cli/training_report.h"

#include "engine/core/quoting.h"
#include "engine/training/answers.h"
#include "engine/training/readout_quality.h"
#include "engine/training/translation_quality.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace attn::cli {

void printEvaluation(const Trainer& trainer, const Evaluation& evaluation, std::string_view split) {
    fmt::print("{} loss {:.4f}", split, evaluation.loss);
    if (trainer.task().metric == Task::Metric::Bits)
        fmt::print("  {} {:.4f} of {} (success: {:g} or less)", trainer.task().metricName, evaluation.metric,
                   evaluation.examples, trainer.task().successLevel);
    if (trainer.task().measuresShare())
        fmt::print("  {} {:.2f} % of {} (success: {:.0f} %)", trainer.task().metricName, evaluation.metric * 100,
                   evaluation.examples, trainer.task().successLevel * 100);
    for (const auto& [name, value] : evaluation.shares) {
        const auto loss = std::ranges::find(trainer.losses(), name, &NamedLoss::metric);
        if (loss == trainer.losses().end() || loss->hasChoices())
            fmt::print("  {} {:.2f} %", metricTitle(name), value * 100);
        else
            fmt::print("  {} {:.4f}", metricTitle(name), value);
    }
    fmt::print("\n");
    for (const auto& [name, matches] : evaluation.subtasks)
        fmt::print("  {}: exact match {:.2f} % of {}\n", printable(name), matches.share() * 100, matches.examples);
}

void printBleu(Trainer& trainer, Split split, std::string_view name) {
    if (!trainer.task().hasSource) return;
    constexpr int64_t kMost = 256;
    const auto count = static_cast<int>(std::min(kMost, exampleCount(trainer, split)));
    const Bleu bleu = translationQuality(trainer, split, count);
    if (bleu.precisions.back() > 0) // otherwise no target has four words, and the score is 0 by definition
        fmt::print("{} BLEU {:.2f} of {}\n", name, bleu.score, count);
}

void printSpans(Trainer& trainer, Split split, std::string_view name) {
    const auto count = static_cast<int>(exampleCount(trainer, split));
    if (trainer.task().readout == TextReadout::TokenClass) {
        const SpanScore score = spanScore(trainer, split, count);
        if (score.all + score.found > 0) // classes that are no tags have no spans
            fmt::print("{} spans: precision {:.2f} %, recall {:.2f} %, F1 {:.2f} % of {}\n", name,
                       score.precision() * 100, score.recall() * 100, score.f1() * 100, score.all);
    }
    if (trainer.task().readout == TextReadout::Span) {
        const AnswerScore score = answerScore(trainer, split, count);
        fmt::print("{} answers: exact match {:.2f} %, F1 {:.2f} % of {}\n", name, score.exact * 100, score.f1 * 100,
                   score.count);
    }
}

void printConfusion(const Trainer& trainer, const Evaluation& evaluation) {
    const std::vector<std::string>& labels = imagesOf(trainer)->instance().labels();
    fmt::print("{:>14}", "");
    for (size_t column = 0; column < labels.size(); ++column)
        fmt::print("{:>7}", fmt::format("{:.6}", printable(labels[column])));
    fmt::print("\n");
    for (size_t row = 0; row < labels.size(); ++row) {
        fmt::print("{:>14}", fmt::format("{:.13}", printable(labels[row])));
        for (size_t column = 0; column < labels.size(); ++column)
            fmt::print("{:>7}", evaluation.confusion[row * labels.size() + column]);
        fmt::print("\n");
    }
}

std::string batchText(const Trainer& trainer) {
    const int rows = trainer.recipe().batch;
    return imagesOf(trainer) ? fmt::format("{} pictures", rows)
                             : fmt::format("{} x {} tokens", rows, sequencesOf(trainer)->instance().contextLength());
}

std::string parameterText(const Trainer& trainer) {
    const int64_t trained = trainer.parameterCount(), all = trainer.modelParameterCount();
    if (trainer.recipe().start.model.empty()) return fmt::format("{} parameters", trained);
    return fmt::format("{} trained parameters ({:.2f} % of the model's {})", trained,
                       100 * static_cast<double>(trained) / static_cast<double>(all), all);
}

} // namespace attn::cli
