#include "app/cli/printed_evaluation.h"

#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/training/answers.h"
#include "engine/training/metrics.h"
#include "engine/training/readout_quality.h"
#include "engine/training/run.h"
#include "engine/training/translation_quality.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <system_error>
#include <utility>

namespace attn::cli {

namespace fs = std::filesystem;

void requireRun(const std::string& path, const fs::path& recipe, const std::string& otherwise) {
    std::error_code error;
    if (fs::exists(recipe, error)) return;
    const auto refuse = [&](std::string what, std::string hint) {
        throw Error({.what = std::move(what), .where = path, .hint = std::move(hint)});
    };
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found) refuse("there is no such folder", "check the path");
    if (!fs::status_known(status)) refuse("cannot be read: " + error.message(), "give yourself permission to read it");
    if (status.type() != fs::file_type::directory)
        refuse("is not a folder but a file", "name the folder of a training run");
    refuse("this is not a training run: it has no recipe.json",
           "name the folder of a training run, one of its checkpoints, or a model that was trained with Attention Lab" +
               otherwise);
}

nlohmann::json evaluationJson(const Trainer& trainer, const Evaluation& evaluation) {
    nlohmann::json json{{"loss", evaluation.loss}, {"examples", evaluation.examples}};
    if (trainer.task().metric == Task::Metric::Bits || trainer.task().measuresShare())
        json["metric"] = {{"name", trainer.task().metricName}, {"value", evaluation.metric}};
    for (const auto& [name, value] : evaluation.shares) json["metrics"][name] = value;
    for (const auto& [name, matches] : evaluation.subtasks)
        json["subtasks"][name] = {{"exact_match", matches.share()}, {"examples", matches.examples}};
    return json;
}

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
        if (loss == trainer.losses().end() || loss->measuresShare())
            fmt::print("  {} {:.2f} %", metricTitle(name), value * 100);
        else
            fmt::print("  {} {:.4f}", metricTitle(name), value);
    }
    fmt::print("\n");
    for (const auto& [name, matches] : evaluation.subtasks)
        fmt::print("  {}: exact match {:.2f} % of {}\n", printable(name), matches.share() * 100, matches.examples);
}

void printBleu(Trainer& trainer, Split split, std::string_view name, nlohmann::json* json) {
    if (!trainer.task().hasSource) return;
    constexpr int64_t kMost = 256;
    const auto count = static_cast<int>(std::min(kMost, exampleCount(trainer, split)));
    const Bleu bleu = translationQuality(trainer, split, count);
    if (bleu.precisions.back() == 0) return; // no target has four words, and the score is 0 by definition
    if (json)
        (*json)["bleu"] = {{"score", bleu.score}, {"examples", count}};
    else
        fmt::print("{} BLEU {:.2f} of {}\n", name, bleu.score, count);
}

void printSpans(Trainer& trainer, Split split, std::string_view name, nlohmann::json* json) {
    const auto count = static_cast<int>(exampleCount(trainer, split));
    if (trainer.task().readout == TextReadout::TokenClass) {
        const SpanScore score = spanScore(trainer, split, count);
        if (score.all + score.found == 0) return; // classes that are no tags have no spans
        if (json)
            (*json)["spans"] = {{"precision", score.precision()},
                                {"recall", score.recall()},
                                {"f1", score.f1()},
                                {"examples", score.all}};
        else
            fmt::print("{} spans: precision {:.2f} %, recall {:.2f} %, F1 {:.2f} % of {}\n", name,
                       score.precision() * 100, score.recall() * 100, score.f1() * 100, score.all);
    }
    if (trainer.task().readout == TextReadout::Span) {
        const AnswerScore score = answerScore(trainer, split, count);
        if (json)
            (*json)["answers"] = {{"exact_match", score.exact}, {"f1", score.f1}, {"examples", score.count}};
        else
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

} // namespace attn::cli
