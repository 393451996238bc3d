#include "engine/session/training_answers.h"

#include "engine/training/answers.h"
#include "engine/training/recipe.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/trainer.h"

#include <algorithm>
#include <span>
#include <utility>

namespace attn {
namespace {

constexpr size_t kMostAnswers = 128; ///< of steps; those of pictures take 0.1 MB each

std::shared_ptr<const std::vector<SampleAnswer>> samplesOf(Trainer& trainer) {
    constexpr int kSamples = 12;
    auto samples = std::make_shared<std::vector<SampleAnswer>>();
    const TaskInstance& task = sequencesOf(trainer)->instance();
    const bool isWritten = taskNamed(trainer.recipe().task).readout == TextReadout::NextToken;
    for (const TaskAnswer& answer : answersOf(trainer, Split::Validation, 0, kSamples)) {
        const auto& [prompt, expected, source, parents, numbers] = answer.example;
        const auto room = static_cast<size_t>(task.contextLength()) - (source.empty() ? prompt.size() : 1);
        const auto shown = std::span(answer.given).first(isWritten ? std::min(answer.given.size(), room) : 0);
        const std::vector<int32_t>& tokens = source.empty() ? prompt : source;
        const auto textsOf = [&](std::span<const int32_t> ids, std::span<const float> said) {
            return answer.example.numbers.empty()
                       ? task.answerTexts(answer.example, ids)
                       : std::vector{answerText(trainer.task().activation, task.labels(), said)};
        };
        samples->push_back({.question = {.text = task.tokenizer().decode(tokens, true),
                                         .tokens = tokens,
                                         .target = {shown.begin(), shown.end()},
                                         .parents = parents},
                            .expected = textsOf(expected, numbers),
                            .given = textsOf(answer.given, answer.said),
                            .error = trainer.task().activation == ClassActivation::None
                                         ? std::optional(meanDistance(answer.said, numbers))
                                         : std::nullopt});
    }
    return samples;
}

std::shared_ptr<const ImagePredictions> ofPictures(Trainer& trainer) {
    constexpr int kShown = 48, kMeasured = 512;
    auto predictions = std::make_shared<ImagePredictions>();
    predictions->labels = imagesOf(trainer)->instance().labels();
    predictions->examples = predictionsOf(trainer, Split::Validation, 0, kShown);
    predictions->confusion = trainer.evaluate(Split::Validation, kMeasured).confusion;
    return predictions;
}

} // namespace

AnswersAtStep answersNow(Trainer& trainer) {
    AnswersAtStep now{.step = trainer.stepsDone()};
    if (imagesOf(trainer))
        now.predictions = ofPictures(trainer);
    else
        now.samples = samplesOf(trainer);
    return now;
}

AnswersBySteps withAnswers(AnswersBySteps before, const AnswersAtStep& now) {
    std::erase_if(before, [&](const AnswersAtStep& each) { return each.step >= now.step; }); // the run went back
    if (before.size() >= kMostAnswers) // every second of them stays
        std::erase_if(before, [at = 0](const AnswersAtStep&) mutable { return at++ % 2 == 1; });
    before.push_back(now);
    return before;
}

} // namespace attn
