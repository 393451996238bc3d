#include "engine/inference/text_batch.h"

#include "engine/attention/step_memory.h"
#include "engine/core/error.h"
#include "engine/core/made_once.h"
#include "engine/inference/graph_sources.h"
#include "engine/inference/language_model.h"
#include "engine/ops/paged_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace attn {
namespace {

/// Rows of a step. On the processor, products of two to four rows are about as fast as those of one; each row has the
/// same bits in any of them, and other ones in products of many rows.
constexpr int64_t kFewRows = 4, kManyRows = 64;
constexpr size_t kLeastRows = 2;
/// For up to so many rows, steps of a few rows are faster than one of many.
constexpr size_t kMostInFew = 24;
/// A step takes texts of up to so many tokens, or of this number times a power of kMoreKeys.
constexpr int64_t kLeastKeys = 4 * kPageRows, kMoreKeys = 4;

ModelGraph graphFor(const LanguageModel& model, int64_t rows, int64_t keys, int64_t memory) {
    return buildModel(model.config(), {.queries = rows, .cacheCapacity = memory, .keys = keys, .sequence = 1});
}

void requireTogether(const LanguageModel& model) {
    if (std::string reason = TextBatch::whyNot(model); !reason.empty())
        throw Error({.what = "the texts of this model run one by one: " + reason,
                     .where = model.info().name,
                     .hint = "continue one text at a time"});
}

} // namespace

std::string TextBatch::whyNot(const LanguageModel& model) {
    if (!model.noCacheReason().empty()) return model.noCacheReason();
    if (!model.isCached()) return "the fused kernel does not compute all of its attention";
    if (!model.changedHooks().empty()) return "its runs are changed at some hooks";
    return {};
}

TextBatch::TextBatch(LanguageModel& model, const Room& room, GpuExecutorOptions options)
    : model_(model), options_(std::move(options)) {
    requireTogether(model);
    const ModelGraph graph = graphFor(model, kFewRows, kLeastKeys, kPageRows);
    memory_ = std::make_unique<PagedMemory>(model.store(), sourcesOf(*graph.graph, NodeKind::State),
                                            room.texts * PagedMemory::pagesFor(room.tokens));
}

TextBatch::~TextBatch() = default;

void TextBatch::copy(int from, int to) {
    try {
        memory_->copy(from, to);
    } catch (...) {
        executors_.clear(); // the memory may lie elsewhere
        throw;
    }
    if (const auto known = logits_.find(from); known != logits_.end()) logits_[to] = known->second;
}

void TextBatch::drop(int text) {
    memory_->drop(text);
    logits_.erase(text);
}

void TextBatch::feed(std::span<const Next> next) {
    requireTogether(model_); // changes may have come since the last call
    std::vector<Row> rows;
    std::map<int, size_t> lengths, before;
    for (const auto& [text, tokens] : next) {
        before.try_emplace(text, memory_->length(text));
        size_t& length = lengths.try_emplace(text, memory_->length(text)).first->second;
        length += tokens.size();
        model_.requireTokens(tokens, length, model_.config().context);
        for (const int token : tokens) rows.push_back({text, token, false});
        if (!tokens.empty()) rows.back().isLast = true;
    }
    const KernelTraits traits = options_.traits.value_or(model_.device().kernelTraits());
    const int64_t perStep = traits.usesHost && rows.size() <= kMostInFew ? kFewRows : kManyRows;
    const auto most = static_cast<size_t>(perStep);
    Logits logits;
    try {
        for (size_t first = 0; first < rows.size(); first += most)
            run(std::span(rows).subspan(first, std::min(most, rows.size() - first)), perStep, logits);
    } catch (...) {
        for (const auto& [text, length] : before) memory_->shorten(text, length);
        executors_.clear(); // the memory may lie elsewhere
        throw;
    }
    for (auto& [text, values] : logits) logits_[text] = std::move(values);
}

GpuExecutor& TextBatch::executorFor(const Plan& plan) {
    if (std::exchange(plannedRows_, memory_->rows()) != memory_->rows()) executors_.clear();
    return madeOnce(executors_, plan, [&] {
        const ModelGraph graph = graphFor(model_, plan.rows, plan.keys, memory_->rows());
        std::map<std::string, Tensor> outputs(graph.updates.begin(), graph.updates.end());
        outputs.emplace("logits", graph.logits);
        return model_.executorOf(graph, outputs, {}, options_);
    });
}

/// Runs a step. @param rows at most perStep
void TextBatch::run(std::span<const Row> rows, int64_t perStep, Logits& logits) {
    std::map<int, int32_t> places; // of texts in the table of this step
    std::vector<int> tokens;
    std::vector<int32_t> positions;
    size_t longest = 0;
    for (const Row& row : rows) {
        places.try_emplace(row.text, static_cast<int32_t>(places.size()));
        tokens.push_back(row.token);
        positions.push_back(static_cast<int32_t>(memory_->length(row.text)));
        memory_->keep(row.text, 1);
        longest = std::max(longest, memory_->length(row.text));
    }
    Plan plan{.rows = perStep, .keys = kLeastKeys};
    while (plan.keys < static_cast<int64_t>(longest)) plan.keys *= kMoreKeys;
    plan.keys = std::min(plan.keys, (model_.config().context + kPageRows - 1) / kPageRows * kPageRows);
    GpuExecutor& executor = executorFor(plan);
    tokens.resize(std::max(tokens.size(), kLeastRows)); // a row by itself would have other bits
    positions.resize(tokens.size());
    const StepParams params = model_.writeStep(executor, 0, tokens);
    const std::span<int32_t> lengths = executor.inputIntegers(paged_inputs::kLengths),
                             pages = executor.inputIntegers(paged_inputs::kPages),
                             own = executor.inputIntegers(paged_inputs::kSequences),
                             cacheRows = executor.inputIntegers(paged_inputs::kRows);
    std::ranges::copy(positions, executor.inputIntegers(decoder_names::kPositions).begin());
    std::ranges::fill(lengths, 0);
    const auto stride = static_cast<std::ptrdiff_t>(pages.size()) / plan.rows; // padded
    for (const auto& [text, place] : places) {
        lengths[static_cast<size_t>(place)] = static_cast<int32_t>(memory_->length(text));
        std::ranges::copy(memory_->pages(text), pages.begin() + place * stride);
    }
    own[1] = 0;
    cacheRows[1] = -1; // what nobody asked for is not kept
    for (size_t i = 0; i < rows.size(); ++i) {
        own[i] = places.at(rows[i].text);
        cacheRows[i] = memory_->rowOf(rows[i].text, static_cast<size_t>(positions[i]));
    }
    executor.run(params);
    const std::span<const float> all = executor.result("logits");
    const auto vocabulary = static_cast<size_t>(model_.info().vocabulary);
    const size_t width = all.size() / static_cast<size_t>(plan.rows); // padded
    for (size_t i = 0; i < rows.size(); ++i)
        if (const auto from = all.subspan(i * width, vocabulary); rows[i].isLast)
            logits[rows[i].text].assign(from.begin(), from.end());
}

} // namespace attn
