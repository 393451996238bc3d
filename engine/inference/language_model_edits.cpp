#include "engine/core/error.h"
#include "engine/inference/capture_file.h"
#include "engine/inference/edit_inputs.h"
#include "engine/inference/edit_state.h"
#include "engine/inference/graph_sources.h"
#include "engine/inference/intervention_rows.h"
#include "engine/inference/step_plan.h"
#include "engine/models/hook_names.h"
#include "engine/runtime/dense_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

// Changes to hooks and patterns.

namespace attn {
namespace {

constexpr size_t kMostTexts = 8; ///< number of texts whose values are kept

} // namespace

void LanguageModel::setHookEdits(HookEdits edits) {
    if (edits.hooks() != edits_->hooks.hooks() || edits.patternLayers() != edits_->hooks.patternLayers())
        editedSteps_.clear();
    edits_->hooks = std::move(edits);
    grid_ = {};
}

const HookEdits& LanguageModel::hookEdits() const { return edits_->hooks; }

void LanguageModel::bypassEdits(bool isBypassed) {
    if (std::exchange(isBypassed_, isBypassed) != isBypassed) grid_ = {};
}

bool LanguageModel::isEdited() const {
    return !edits_->hooks.empty() || std::ranges::any_of(gates_, [](float gate) { return gate != 1; });
}

int64_t LanguageModel::streamWidth() const {
    return buildForListing(config()).graph->probes().at(inBlock(0, "hook_resid_pre")).tensor.shape().columns();
}

std::set<std::string> LanguageModel::editedHooks() const {
    if (isBypassed_) return {};
    std::set<std::string> names = edits_->hooks.hooks();
    for (const int layer : edits_->hooks.patternLayers()) {
        names.insert(attentionHook(layer, "pattern"));
        names.insert(attentionHook(layer, "z")); // applies the gates
    }
    return names;
}

void LanguageModel::setEdits(const Changes& edits, std::span<const int> prompt) {
    HookEdits worked;
    const auto listing = buildForListing(config());
    for (const Intervention& edit : edits.interventions) {
        const HookShape shape = editableShape(*listing.graph, edit, info_.name);
        worked.declare(edit.hook, shape.heads, shape.width);
        std::optional<CapturedHook> values, contrast; // copies, because kept values may be removed
        if (edit.kind != Intervention::Kind::Zero) values = valuesOf(edit.text, prompt, edit.hook);
        if (edit.kind == Intervention::Kind::Steer && !edit.contrast.empty())
            contrast = valuesOf(edit.contrast, prompt, edit.hook);
        if (auto rows = rowsOf(edit, shape, values ? &*values : nullptr, contrast ? &*contrast : nullptr))
            worked.add(edit.hook, std::move(*rows));
    }
    for (const PatternEdit& edit : edits.patterns) {
        info_.requireHead(edit.site, edit.head);
        if (!listing.graph->probes().contains(attentionHook(edit.site, "pattern")))
            throw Error({.what = fmt::format("the attention of layer {} forms no pattern", edit.site),
                         .where = info_.name,
                         .hint = "set the head's gate to 0, or change hook_z"});
        worked.set(edit);
        worked.declare(attentionHook(edit.site, "z"), info_.site(edit.site).heads,
                       int64_t{info_.site(edit.site).heads} * info_.site(edit.site).headWidth);
    }
    setHookEdits(std::move(worked));
}

void LanguageModel::setChanges(const Changes& changes, std::span<const int> prompt) {
    for (const auto& [at, gate] : changes.gates) info_.requireHead(at.first, at.second);
    setEdits(changes, prompt);
    setGate(-1, -1, 1);
    for (const auto& [at, gate] : changes.gates) setGate(at.first, at.second, gate);
}

const CapturedHook& LanguageModel::valuesOf(const std::string& text, std::span<const int> prompt,
                                            const std::string& hook) {
    std::vector<int> tokens(prompt.begin(), prompt.end());
    if (!text.empty()) tokens = tokenizer() ? tokenizer()->encode(text).ids : parseTokenIds(text);
    if (tokens.empty())
        throw Error({.what = "there is no text to copy values from", .where = hook, .hint = "enter a text"});
    for (int token : tokens)
        if (token < 0 || token >= info_.vocabulary)
            throw Error({.what = fmt::format("token {} is outside the vocabulary of {}", token, info_.vocabulary),
                         .where = info_.name,
                         .hint = "use the tokenizer that belongs to the model"});
    if (edits_->captured.size() >= kMostTexts && !edits_->captured.contains(tokens)) edits_->captured.clear();
    auto& hooks = edits_->captured[tokens];
    if (const auto found = hooks.find(hook); found != hooks.end()) return found->second;
    const bool wasBypassed = std::exchange(isBypassed_, true);
    truncate(0);
    try {
        CapturedHook values = isComposed() ? std::move(capture(tokens, hook).front()) : fedValues(tokens, hook);
        isBypassed_ = wasBypassed;
        truncate(0);
        return hooks.emplace(hook, std::move(values)).first->second;
    } catch (...) {
        isBypassed_ = wasBypassed;
        truncate(0);
        throw;
    }
}

CapturedHook LanguageModel::fedValues(std::span<const int> tokens, const std::string& hook) {
    if (tokens.size() > static_cast<size_t>(capacity_))
        throw Error({.what = fmt::format("{} tokens do not fit into the context of {}", tokens.size(), capacity_),
                     .where = info_.name,
                     .hint = "shorten the text that values come from"});
    CapturedHook values{.name = hook};
    std::vector<int64_t> extents;
    while (tokens_.size() < tokens.size()) {
        const size_t left = tokens.size() - tokens_.size(), most = left > 1 ? left - 1 : left; // as in feed()
        const auto step = makeStep(bucketFor(most), false, {hook});
        const size_t count = std::min(most, static_cast<size_t>(step->queries));
        runStep(*step, tokens.subspan(tokens_.size(), count), {});
        const std::vector<float> rows = denseResult(*step->executor, hook);
        extents = step->executor->plan().result(hook).type.shape.extents();
        values.values.insert(
            values.values.end(), rows.begin(),
            rows.begin() + static_cast<std::ptrdiff_t>(rows.size() / static_cast<size_t>(extents.front()) * count));
    }
    extents.front() = static_cast<int64_t>(tokens.size());
    values.shape = Shape(extents);
    return values;
}

void LanguageModel::writeEdits(GpuExecutor& executor, size_t first, size_t count) const {
    if (isBypassed_) return;
    const HookEdits& hooks = edits_->hooks;
    for (const std::string& hook : hooks.hooks())
        if (const auto inputs = editInputs(executor, hook)) // without logits, the last layer only fills its cache
            hooks.write(hook, first, count, inputs->stride(), inputs->kept, inputs->added);
    for (const int layer : hooks.patternLayers()) {
        writeGatesOfFormed(
            executor, layer, count,
            std::span(gates_).subspan(static_cast<size_t>(layer * info_.heads), static_cast<size_t>(info_.heads)));
        const auto pattern = editInputs(executor, attentionHook(layer, "pattern")); // [H,T,S]
        if (!pattern) continue;
        pattern->keepAll();
        for (const auto& [at, edit] : hooks.patterns())
            for (size_t row = 0; at.first == layer && row < count; ++row)
                pattern->setRow(static_cast<size_t>(at.second * pattern->shape[1]) + row,
                                editedRow(edit, static_cast<int>(first + row), static_cast<int>(first + count)));
    }
}

std::vector<float> LanguageModel::editedRow(const PatternEdit& edit, int query, int tokens) const {
    const LayerAttention& layer = config().layers[static_cast<size_t>(edit.site)];
    if (!layer.spec) {
        const auto window = static_cast<int>(layer.rule.window);
        return attn::editedRow(edit, query, keysBetween(window > 0 ? query + 1 - window : 0, query + 1));
    }
    std::vector<int> keys =
        seenPlaces(*layer.spec, edit.site, edit.head, info_.heads, query, static_cast<int>(capacity_));
    std::fill(keys.begin() + tokens, keys.end(), kHidden);
    return attn::editedRow(edit, query, keys);
}

std::vector<float> LanguageModel::rowByHand(int layer, int head, int query) const {
    const auto edit = edits_->hooks.patterns().find({layer, head});
    if (isBypassed_ || edit == edits_->hooks.patterns().end()) return {};
    return editedRow(edit->second, query, static_cast<int>(tokens_.size()));
}

} // namespace attn
