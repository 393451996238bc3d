#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/inference/change_inputs.h"
#include "engine/inference/language_model.h"
#include "engine/inference/step_plan.h"
#include "engine/models/weight_recipe.h"
#include "engine/runtime/dense_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

// Runs over whole sequences, for views and for models that have no cache. Where parts depend on the length, a run has
// as many rows as the context, which is short, because this program trains these models.

namespace attn {

int64_t LanguageModel::wholeRows(size_t tokens) const {
    constexpr int64_t kRows = 8; // similar lengths share a plan
    return runsAnyLength_ ? (static_cast<int64_t>(tokens) + kRows - 1) / kRows * kRows : capacity_;
}

int64_t LanguageModel::sourceRows(const Input& input) const {
    const auto& source = config().encoder;
    return source && source->numbers() ? source->rowsOf(source->lastLayer()) : wholeRows(input.source().size());
}

std::unique_ptr<LanguageModel::Step> LanguageModel::makeWholeStep(std::set<std::string> probes, size_t tokens) {
    const ModelGraph graph = wholeGraph(wholeRows(tokens), sourceRows(sides_));
    std::erase_if(probes, [&](const std::string& name) { return !graph.graph->probes().contains(name); });
    auto step = std::make_unique<Step>();
    step->queries = wholeRows(tokens);
    step->source = sourceRows(sides_);
    std::map<std::string, Tensor> outputs;
    if (graph.logits) outputs.emplace("all_logits", graph.logits);
    if (graph.classes)
        outputs.emplace("classes", graph.classes);
    else if (!graph.logits)
        outputs.emplace("last",
                        graph.graph->probes().at(info_.structure.sites.back().inBlock("hook_resid_post")).tensor);
    step->executor = executorOf(graph, outputs, probes, {.profiles = options_.profiles});
    return step;
}

void writePositions(GpuExecutor& executor, const std::string& from, size_t tokens, int64_t context) {
    if (const std::string name = from + decoder_names::kPositions; executor.hasInput(name)) {
        const auto positions = executor.inputIntegers(name);
        for (size_t i = 0; i < positions.size(); ++i)
            positions[i] = static_cast<int32_t>(std::min(static_cast<int64_t>(i), context - 1));
    }
    if (const std::string name = from + decoder_names::kKeyPositions; executor.hasInput(name)) {
        const auto positions = executor.inputIntegers(name);
        for (size_t i = 0; i < positions.size(); ++i)
            positions[i] = static_cast<int32_t>(i < tokens ? static_cast<int64_t>(i) : -context);
    }
}

void LanguageModel::writeInput(GpuExecutor& executor, const Input& input) const {
    const std::vector<int>& tokens = input.tokens();
    if (executor.hasInput(decoder_names::kTokens)) { // outputs of an encoder do not read the target
        const std::span<int32_t> ids = executor.inputIntegers(decoder_names::kTokens);
        std::ranges::fill(ids, 0);
        std::ranges::copy(tokens, ids.begin());
    }
    writePositions(executor, {}, tokens.size(), config().context);
    if (config().hasPrefix && executor.hasInput(decoder_names::kKeyPositions)) {
        const auto positions = executor.inputIntegers(decoder_names::kKeyPositions);
        const size_t prefix = prefix_.value_or(tokens_.empty() ? tokens.size() : firstFed_);
        for (size_t key = 0; key < positions.size(); ++key)
            positions[key] = key < prefix ? 0 : static_cast<int32_t>(key);
    }
    writeSource(executor, input);
    if (executor.hasInput(decoder_names::kTokenTypes)) {
        const auto types = executor.inputIntegers(decoder_names::kTokenTypes);
        std::ranges::fill(types, 0);
        std::ranges::copy(input.types(), types.begin());
    }
    if (executor.hasInput(decoder_names::kPositionRows)) {
        const auto rows = executor.inputIntegers(decoder_names::kPositionRows);
        std::ranges::fill(rows, 0);
        std::ranges::copy(positionRows(config(), tokens), rows.begin());
    }
    writeTree(executor, 0, input.parents());
}

std::optional<size_t> LanguageModel::changedRows(const Input& input) const {
    return config().readsStream() ? std::optional<size_t>() : input.tokens().size();
}

void LanguageModel::writeSource(GpuExecutor& executor, const Input& input) const {
    if (!config().readsStream()) return;
    const StreamSpec& source = *config().encoder;
    const std::string name = source.inputs + std::string(nameOf(source.axis));
    const bool isRead = executor.hasInput(name); // outputs of the decoder's first self-attention do not read the source
    if (const auto numbers = source.numbers()) {
        if (!isRead) return;
        const std::span<float> rows = executor.input(name);
        return writeRows(input.patches(), *numbers, [&](const auto& fill) { fill(0, rows); });
    }
    if (isRead) {
        const std::span<int32_t> ids = executor.inputIntegers(name);
        std::ranges::fill(ids, 0);
        std::ranges::copy(input.source(), ids.begin());
    }
    writePositions(executor, source.inputs, input.source().size(), source.context);
}

ModelGraph LanguageModel::wholeGraph(int64_t rows, int64_t source) const {
    return graphOf(rows, source, {.changed = changedHooks()});
}

ModelGraph LanguageModel::graphOf(int64_t rows, int64_t source, const WholeBuild& build) const {
    if (rows > kMostWhole)
        throw Error({.what = fmt::format("this needs a run of the whole text at once, which takes at most {} tokens, "
                                         "and there are {}",
                                         groupDigits(kMostWhole), groupDigits(static_cast<size_t>(rows))),
                     .where = info_.name,
                     .hint = "shorten the text"});
    return buildModel(config(), {.queries = runsAnyLength_ ? rows : capacity_,
                                 .source = source,
                                 .isFormed = build.isFormed,
                                 .changed = build.changed});
}

ModelGraph LanguageModel::graphOf(const Input& input, const WholeBuild& build) const {
    // The gradient of the fused kernel needs multiples of 4; a larger multiple lets similar lengths share kernels.
    const size_t tokens = input.tokens().size();
    return graphOf(std::max(std::min(wholeRows(tokens), capacity_), static_cast<int64_t>(tokens)), sourceRows(input),
                   build);
}

size_t LanguageModel::predictedRow(const Input& input) const {
    const std::vector<int>& tokens = input.tokens();
    if (info_.classes > 0 && isEncoder(config())) return 0;
    if (config().classPadding) return readoutRow(config(), tokens);
    const std::optional<int> mask =
        tokenizer() && config().readout() == TextReadout::MaskedToken ? tokenizer()->maskId() : std::nullopt;
    const auto chosen = static_cast<size_t>(predictAt_);
    if (mask && chosen < tokens.size() && tokens[chosen] == *mask) return chosen;
    for (size_t row = tokens.size(); mask && row-- > 0;)
        if (tokens[row] == *mask) return row;
    return tokens.size() - 1;
}

std::optional<std::vector<float>> LanguageModel::runWhole(Step& step, std::span<const int> tokens,
                                                          const Cancelled& isCancelled) {
    GpuExecutor& executor = *step.executor;
    const Input input = typed(tokens);
    writeWhole(executor, input);
    if (!executor.run({}, isCancelled)) return {};
    if (!config().classReadout().labels.empty()) readClasses(executor, tokens);
    if (!predictsTokens(config().readout())) return std::vector<float>();
    const Shape& shape = executor.plan().result("all_logits").type.shape;
    const auto row =
        executor.result("all_logits").subspan(predictedRow(input) * static_cast<size_t>(shape.rowStride()));
    return std::vector<float>(row.begin(), row.begin() + info_.vocabulary);
}

/// Keeps the row that a readout of a text reads, or the row of each token.
void LanguageModel::readClasses(const GpuExecutor& executor, std::span<const int> tokens) {
    const auto stride = static_cast<size_t>(executor.plan().result("classes").type.shape.rowStride());
    const bool isOne = readsOneRow(config().classReadout().kind);
    const size_t first = isOne ? readoutRow(config(), tokens) : 0, count = isOne ? 1 : tokens.size();
    classLogits_.clear();
    for (size_t row = first; row < first + count; ++row) {
        const auto logits = executor.result("classes").subspan(row * stride, config().classReadout().labels.size());
        classLogits_.insert(classLogits_.end(), logits.begin(), logits.end());
    }
}

LanguageModel::Step& LanguageModel::formedStep(size_t tokens) {
    auto& step = currentSteps().whole;
    if (step && step->queries == wholeRows(tokens) && step->source == sourceRows(sides_)) return *step;
    std::set<std::string> probes;
    const std::set<std::string> changed = changedHooks();
    for (int site = 0; site < info_.siteCount() && options_.inspects; ++site) {
        const std::string pattern = info_.site(site).hook("pattern");
        // If there are factors, they are enough, and nothing grows with the square of the context. They do not
        // contain rows that changes set.
        const std::array factors{pattern + "_queries", pattern + "_keys"};
        if (std::ranges::find(info_.hooks, factors[0]) != info_.hooks.end() && !changed.contains(pattern))
            probes.insert(factors.begin(), factors.end());
        else
            probes.insert(pattern);
    }
    step = makeWholeStep(std::move(probes), tokens);
    return *step;
}

const GpuExecutor* LanguageModel::formedExecutor() {
    if (tokens_.empty()) return nullptr;
    Step& step = formedStep(tokens_.size());
    if (!hasPatterns_) runWhole(step, tokens_, {});
    hasPatterns_ = true;
    return step.executor.get();
}

bool LanguageModel::feedWhole(std::span<const int> tokens, const Cancelled& isCancelled) {
    std::vector<int> all = tokens_;
    all.insert(all.end(), tokens.begin(), tokens.end());
    hasPatterns_ = false;
    auto logits = runWhole(formedStep(all.size()), all, isCancelled);
    if (!logits) return false;
    if (!logits->empty()) logits_ = std::move(*logits);
    tokens_ = std::move(all);
    hasPatterns_ = true;
    return true;
}

} // namespace attn
