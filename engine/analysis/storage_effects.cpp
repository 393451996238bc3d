#include "engine/analysis/storage_effects.h"

#include "engine/analysis/logit_lens.h"
#include "engine/analysis/whole_run.h"
#include "engine/core/error.h"
#include "engine/inference/finite_count.h"
#include "engine/inference/language_model.h"
#include "engine/inference/pattern_divergence.h"
#include "engine/inference/vision_model.h"
#include "engine/models/model_source.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <span>

namespace attn {
namespace {

/// The median time of a piece of work, without the first runs.
double medianSeconds(int runs, int warm, const std::function<void()>& work) {
    std::vector<double> seconds;
    for (int i = 0; i < runs; ++i) {
        const auto start = std::chrono::steady_clock::now();
        work();
        if (i >= warm)
            seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
    std::ranges::nth_element(seconds, middle);
    return *middle;
}

/// The median rate of single steps after the input's tokens. @return 0 if the context has no room for them
double writingRate(LanguageModel& model, const std::vector<int>& tokens) {
    constexpr int kSteps = 24, kWarm = 4, kLeast = kWarm + 1;
    const int capacity = model.capacity();
    if (!model.isCached() || tokens.empty() || capacity <= kLeast) return 0;
    const auto room = static_cast<size_t>(capacity - kLeast);
    const int before = static_cast<int>(std::min(tokens.size(), room)), steps = std::min(kSteps, capacity - before);
    model.truncate(0);
    model.feed(std::span(tokens).last(static_cast<size_t>(before)));
    return 1 / medianSeconds(steps, kWarm, [&] { model.feed(std::span(tokens).last(1)); });
}

/// A model's answers to an input.
struct Answers {
    StorageEffects::Effect effect;
    std::vector<SitePattern> patterns;
    std::vector<float> probabilities; ///< empty without a classifier; the numbers of a regression
    ClassActivation activation = ClassActivation::Softmax;
};

std::vector<float> predicted(RunningModel& model, const Input& input) {
    const std::vector<float> logits = model.predict(input);
    requireLogits(logits, model.info().name, model.info().activation);
    return saidOf(logits, model.info().activation);
}

Answers answersOf(LanguageModel& model, const AnalysisContext& context) {
    const auto scores = std::static_pointer_cast<const TokenScores>(runAnalysis(TokenScoresAnalysis{}, model, context));
    return {.effect = {.storage = model.info().storage,
                       .parameterBytes = model.info().parameterBytes,
                       .perSecond = writingRate(model, context.input.tokens()),
                       .loss = scores->meanLoss(),
                       .perplexity = scores->perplexity()},
            .patterns = wholePatterns(model, context.input),
            .probabilities = predicted(model, context.input)};
}

Answers answersOf(VisionModel& model, const AnalysisContext& context) {
    constexpr int kRuns = 5, kWarm = 2;
    const bool hasClasses = model.info().classes > 0;
    const auto read = [&] { (void)model.patternsAndLogits(context.input, model.info().siteCount() - 1); };
    const double seconds = medianSeconds(kRuns, kWarm, [&] {
        if (hasClasses)
            (void)model.predict(context.input);
        else
            read();
    });
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    return {.effect = {.storage = model.info().storage,
                       .parameterBytes = model.info().parameterBytes,
                       .perSecond = 1 / seconds,
                       .loss = kNone,
                       .perplexity = kNone},
            .patterns = wholePatterns(model, context.input),
            .probabilities = hasClasses ? predicted(model, context.input) : std::vector<float>(),
            .activation = model.info().activation};
}

Answers answersOf(RunningModel& model, const AnalysisContext& context) {
    return context.input.isText() ? answersOf(languageModel(model), context) : answersOf(visionModel(model), context);
}

/// The Jensen-Shannon divergence of two predictions, in bits. For independent labels, the mean over the labels.
/// @return NaN without probabilities
double divergenceOf(std::span<const double> now, std::span<const double> before, ClassActivation activation) {
    if (now.empty() || activation == ClassActivation::None) return std::numeric_limits<double>::quiet_NaN();
    if (activation == ClassActivation::Softmax) return jensenShannonBits(now, before);
    double sum = 0;
    for (size_t label = 0; label < now.size(); ++label)
        sum += jensenShannonBits(std::array{now[label], 1 - now[label]}, std::array{before[label], 1 - before[label]});
    return sum / static_cast<double>(now.size());
}

void compare(Answers& answers, const Answers& original) {
    const std::vector<double> now(answers.probabilities.begin(), answers.probabilities.end()),
        before(original.probabilities.begin(), original.probabilities.end());
    double largest = now.empty() ? std::numeric_limits<double>::quiet_NaN() : 0;
    for (size_t i = 0; i < now.size(); ++i) largest = std::max(largest, std::abs(now[i] - before[i]));
    answers.effect.largestChange = static_cast<float>(largest);
    answers.effect.predictionDivergence = divergenceOf(now, before, answers.activation);
    for (size_t site = 0; site < answers.patterns.size(); ++site) {
        std::vector<double>& heads = answers.effect.divergence.emplace_back();
        for (int head = 0; head < answers.patterns[site].heads; ++head)
            if (const auto bits = patternDivergence(original.patterns[site], answers.patterns[site], head))
                heads.push_back(*bits);
    }
}

} // namespace

double StorageEffects::Effect::meanDivergence() const {
    double sum = 0;
    size_t count = 0;
    for (const std::vector<double>& heads : divergence) {
        sum = std::accumulate(heads.begin(), heads.end(), sum);
        count += heads.size();
    }
    return count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(count);
}

std::shared_ptr<AnalysisResult> StorageEffectsAnalysis::run(RunningModel& model, const AnalysisContext& context) const {
    const ModelSpec& spec = model.config();
    if (spec.axis == AxisKind::Tokens && spec.readout() != TextReadout::NextToken)
        throw Error({.what = "this model predicts no next token",
                     .where = model.info().name,
                     .hint = "open a model that writes text, or one that reads pictures"});
    std::vector<Storage> all{Storage::F32};
    for (const Storage storage : storages)
        if (storage != Storage::F32) all.push_back(storage);
    const auto result = std::make_shared<StorageEffects>();
    std::optional<Answers> original;
    for (const Storage storage : all) {
        const std::string name(storageName(storage));
        const auto share = [&](float within) {
            return (static_cast<float>(result->effects.size()) + within) / static_cast<float>(all.size());
        };
        const auto report = [&](float within, const std::string&) {
            if (context.report) context.report(share(within * 0.5f), "weights as " + name);
        };
        report(0, {});
        const auto reportRun = [&](float within, const std::string& what) { report(1 + within, what); };
        StorageEffects::Effect effect{.storage = storage};
        try {
            const auto other = loadModel(std::make_unique<SameSource>(model.source()),
                                         {.device = model.deviceChoice(), .storage = storage}, report);
            Answers answers = answersOf(*other, {.input = context.input, .report = reportRun});
            if (!original) original = answers;
            compare(answers, *original);
            FiniteCount numbers;
            for (const std::vector<double>& heads : answers.effect.divergence) numbers.add(heads);
            numbers.require("numbers of the patterns", model.info().name);
            effect = std::move(answers.effect);
        } catch (const Error& error) {
            if (storage == Storage::F32) throw; // nothing to compare the others with
            effect.problem = error.what();
        }
        result->effects.push_back(std::move(effect));
    }
    return result;
}

} // namespace attn
