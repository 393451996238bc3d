#include "engine/analysis/storage_effects.h"

#include "engine/analysis/logit_lens.h"
#include "engine/analysis/whole_run.h"
#include "engine/core/error.h"
#include "engine/inference/language_model.h"
#include "engine/inference/pattern_divergence.h"
#include "engine/models/model_source.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

namespace attn {
namespace {

/// The source of an open model, for another model beside it.
class SameSource final : public ModelSource {
public:
    explicit SameSource(const ModelSource& source) : source_(source) {}
    const std::string& configText() const override { return source_.configText(); }
    std::string familyTitle() const override { return source_.familyTitle(); }
    std::string dtype() const override { return source_.dtype(); }
    std::string sourceName(const std::string& parameter) const override { return source_.sourceName(parameter); }
    int64_t read(const std::string& parameter, const Shape& shape, const RowWriter& write) const override {
        return source_.read(parameter, shape, write);
    }
    const DecoderConfig& config() const override { return source_.config(); }
    const Tokenizer* tokenizer() const override { return source_.tokenizer(); }
    const Tokenizer* sourceTokenizer() const override { return source_.sourceTokenizer(); }
    std::string example() const override { return source_.example(); }
    const std::vector<int>& stopTokens() const override { return source_.stopTokens(); }

private:
    const ModelSource& source_;
};

std::vector<float> probabilitiesOf(const std::vector<float>& logits) {
    std::vector<float> result(logits.size());
    const float most = *std::ranges::max_element(logits);
    float sum = 0;
    for (size_t i = 0; i < logits.size(); ++i) sum += result[i] = std::exp(logits[i] - most);
    for (float& value : result) value /= sum;
    return result;
}

/// The median rate of single steps after the input's tokens.
double writingRate(LanguageModel& model, const std::vector<int>& tokens) {
    constexpr size_t kSteps = 24, kWarm = 4;
    if (!model.isCached() || tokens.empty()) return 0;
    const size_t room = static_cast<size_t>(model.capacity()) - kSteps;
    model.truncate(0);
    model.feed(std::span(tokens).last(std::min(tokens.size(), room)));
    std::vector<double> seconds;
    for (size_t i = 0; i < kSteps; ++i) {
        const auto start = std::chrono::steady_clock::now();
        model.feed(std::span(tokens).last(1));
        if (i >= kWarm)
            seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    std::ranges::nth_element(seconds, seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2));
    return 1 / seconds[seconds.size() / 2];
}

/// A model's answers to a text.
struct Answers {
    StorageEffects::Effect effect;
    std::vector<SitePattern> patterns;
    std::vector<float> probabilities;
};

Answers answersOf(LanguageModel& model, const AnalysisContext& context) {
    Answers answers;
    const auto scores = std::static_pointer_cast<const TokenScores>(TokenScoresAnalysis{}.run(model, context));
    answers.effect = {.storage = model.info().storage,
                      .parameterBytes = model.info().parameterBytes,
                      .tokensPerSecond = writingRate(model, context.input.tokens()),
                      .loss = scores->meanLoss(),
                      .perplexity = scores->perplexity(),
                      .largestChange = 0,
                      .divergence = {}};
    answers.patterns = wholePatterns(model, context.input);
    answers.probabilities = probabilitiesOf(model.predict(context.input));
    return answers;
}

void compare(Answers& answers, const Answers& original) {
    for (size_t i = 0; i < answers.probabilities.size(); ++i)
        answers.effect.largestChange =
            std::max(answers.effect.largestChange, std::abs(answers.probabilities[i] - original.probabilities[i]));
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
    const LanguageModel& open = languageModel(model);
    if (open.config().readout != TextReadout::NextToken)
        throw Error({.what = "this model predicts no next token",
                     .where = model.info().name,
                     .hint = "open a model that writes text"});
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
        LanguageModel other(std::make_unique<SameSource>(open.source()),
                            {.device = model.deviceChoice(), .storage = storage}, report);
        const auto reportRun = [&](float within, const std::string& what) { report(1 + within, what); };
        Answers answers = answersOf(other, {.input = context.input, .report = reportRun});
        if (!original) original = answers;
        compare(answers, *original);
        result->effects.push_back(std::move(answers.effect));
    }
    return result;
}

} // namespace attn
