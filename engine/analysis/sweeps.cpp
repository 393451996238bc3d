#include "engine/analysis/sweeps.h"

#include "engine/analysis/text_rows.h"
#include "engine/analysis/whole_run.h"
#include "engine/core/error.h"
#include "engine/inference/change_inputs.h"
#include "engine/inference/graph_sources.h"
#include "engine/inference/hook_changes.h"
#include "engine/inference/language_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace attn {
namespace {

bool isPattern(const std::string& hook) { return hook.ends_with(".hook_pattern"); }

/// Whether a hook with these axes has one row for each token.
bool isByToken(const std::string& hook, const std::string& axes) {
    return axes == "TC" || axes == "THD" || axes == "TGD" || (axes == "HTS" && isPattern(hook));
}

/// The first sites of the blocks that have a hook. @param hook without its block
std::vector<int> sitesWith(const RunningModel& model, const std::string& hook) {
    std::vector<int> found = model.info().structure.firstSites();
    std::erase_if(found, [&](int site) {
        const auto& names = model.info().hooks;
        return std::ranges::find(names, model.info().site(site).inBlock(hook)) == names.end();
    });
    return found;
}

/// @throws Error that names the hooks that can be patched
void checkPatchable(const RunningModel& model, const std::string& hook) {
    model.requireSameRows(hook);
    const std::vector<std::string> possible = patchableHooks(model);
    if (std::ranges::find(possible, hook) != possible.end()) return;
    const bool isThere = sitesWith(model, hook).size() == model.info().structure.firstSites().size();
    throw Error({.what = isThere ? fmt::format("{} cannot be patched token by token", hook)
                                 : fmt::format("not every layer has a hook \"{}\"", hook),
                 .where = model.info().name,
                 .hint = fmt::format("use {}", fmt::join(possible, ", "))});
}

/// Declares hooks of all blocks as changed, so that one plan serves every patch.
HookChanges declared(const RunningModel& model, HookChanges hookChanges, const std::vector<CapturedHook>& values) {
    const auto& info = model.info();
    for (const CapturedHook& value : values) {
        const Shape& shape = value.shape; // [T,C], [T,H,D] or, of patterns, [H,T,S]
        if (isPattern(value.name)) {
            const int site = info.structure.siteOf(value.name).value();
            const Site& at = info.site(site);
            hookChanges.declare(at.hook("z"), at.heads, int64_t{at.heads} * at.headWidth);
            if (!hookChanges.changesPatternOf(site)) hookChanges.set({.site = site}); // no row is set yet
        } else {
            hookChanges.declare(value.name, shape.rank() == 3 ? shape[1] : 1, shape.elements() / shape[0]);
        }
    }
    return hookChanges;
}

/// Replaces one token's row by that of the other run. For a pattern, it is the row of that query in all heads.
HookChanges patched(const ModelStructure& structure, HookChanges hookChanges, const CapturedHook& from, size_t token) {
    const auto rowOf = [&](size_t row, size_t width) {
        const auto begin = from.values.begin() + static_cast<std::ptrdiff_t>(row * width);
        return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(width));
    };
    if (!isPattern(from.name)) {
        const auto width = static_cast<size_t>(from.shape.elements() / from.shape[0]);
        hookChanges.add(from.name,
                        {.position = static_cast<int>(token), .keep = 0, .values = rowOf(token, width), .rows = 1});
        return hookChanges;
    }
    const auto queries = static_cast<size_t>(from.shape[1]), keys = static_cast<size_t>(from.shape[2]);
    const int site = structure.siteOf(from.name).value();
    for (int head = 0; head < from.shape[0]; ++head) {
        const auto known = hookChanges.patterns().find({site, head});
        PatternChange change =
            known != hookChanges.patterns().end() ? known->second : PatternChange{.site = site, .head = head};
        if (change.kind != PatternChange::Kind::Rows) continue; // the change gives both runs the same rows
        change.rows[static_cast<int>(token)] = rowOf(static_cast<size_t>(head) * queries + token, keys);
        hookChanges.set(std::move(change));
    }
    return hookChanges;
}

/// A text of as many tokens as the current one.
Input otherText(RunningModel& model, const Input& current, const std::string& text) {
    const LanguageModel& reader = languageModel(model);
    TextInput other = current.text();
    const bool readsSource = model.info().readsSource; // the other text is a source; the target stays
    std::vector<int>& replaced = readsSource ? other.source : other.tokens;
    const size_t count = replaced.size();
    replaced = readsSource ? sourceTokensOf(reader, text) : tokensOf(reader, text);
    if (replaced.size() == count) return {std::move(other), current.patches()};
    throw Error({.what = fmt::format("both texts need the same number of tokens: the {} has {}, the other one {}",
                                     readsSource ? "source" : "prompt with its continuation", count, replaced.size()),
                 .where = {},
                 .hint = "change a word"});
}

/// The input that values are copied from. @throws Error also if it is the current input
Input otherInput(RunningModel& model, const AnalysisContext& context, const std::string& text) {
    const bool isText = context.input.isText();
    if (!isText && !context.other)
        throw Error(
            {.what = "there is no other picture to patch values from", .where = {}, .hint = "choose another picture"});
    if (isText && text.empty())
        throw Error(
            {.what = "there is no other text to patch values from", .where = {}, .hint = "type the other text"});
    Input other = isText ? otherText(model, context.input, text) : *context.other;
    if (other == context.input)
        throw Error({.what = fmt::format("both {} are the same: nothing differs between the runs",
                                         isText ? "texts" : "pictures"),
                     .where = {},
                     .hint = isText ? "change a word" : "choose another picture"});
    return other;
}

/// @throws Error if both runs give the same logit
void findGap(PatchGap& gap, const LogitTarget& target, RunningModel& model, const Input& own, const Input& other) {
    const std::vector<float> otherLogits = answerTo(model, other), ownLogits = answerTo(model, own);
    gap.compare(model.info(), target, ownLogits, otherLogits);
    if (gap.hasGap()) return;
    throw Error({.what = fmt::format("both runs give the same logit, {}: there is no gap to close", gap.own),
                 .where = {},
                 .hint = "choose another input, or the logit of another token"});
}

} // namespace

std::vector<std::string> patchableHooks(const RunningModel& model) {
    const ModelGraph listing = model.listing();
    const auto& probes = listing.graph->probes();
    const ModelStructure& structure = model.info().structure;
    std::map<std::string, int> blocksOf; // the number of blocks of each stack
    for (const int site : structure.firstSites()) ++blocksOf[model.info().site(site).stack()];
    std::vector<std::string> hooks; // in execution order
    std::map<std::string, int> blocksWith;
    for (const std::string& name : model.info().hooks)
        for (const int site : structure.firstSites()) {
            const std::string block = model.info().site(site).inBlock("");
            const auto probe = probes.find(name);
            if (!name.starts_with(block) || probe == probes.end() || !isByToken(name, probe->second.axes)) continue;
            const std::string hook = name.substr(block.size()), stack = model.info().site(site).stack();
            if (++blocksWith[stack + hook] == blocksOf[stack] && std::ranges::find(hooks, hook) == hooks.end())
                hooks.push_back(hook);
        }
    return hooks;
}

std::shared_ptr<AnalysisResult> AblationSweepAnalysis::run(RunningModel& model, const AnalysisContext& context) const {
    const ModelInfo& info = model.info();
    auto result = std::make_shared<AblationSweep>();
    result->sites = info.siteCount();
    result->heads = info.heads;
    const std::vector<float> before = answerTo(model, context.input), gates = model.gates();
    result->target = resolved(target, before, info);
    const double whole = logitOf(result->target, before);
    result->whole = static_cast<float>(whole);
    const auto effect = [&] {
        return static_cast<float>(logitOf(result->target, model.predict(context.input)) - whole);
    };
    const int all = info.siteCount() * (info.heads + 1);
    const auto report = [&](int done) {
        if (context.report) context.report(static_cast<float>(done) / static_cast<float>(all), "effect of each head");
    };
    result->headEffects.assign(gates.size(), std::numeric_limits<float>::quiet_NaN()); // layers may have fewer heads
    for (int site = 0; site < info.siteCount(); ++site)
        for (int head = 0; head < info.site(site).heads; ++head) {
            report(site * info.heads + head);
            const auto at = static_cast<size_t>(site * info.heads + head);
            model.setGate(site, head, 0);
            result->headEffects[at] = effect();
            model.setGate(site, head, gates[at]);
        }
    // All MLPs are declared at once, so that one plan serves them.
    HookChanges hookChanges = model.hookChanges();
    const std::vector<int> ends = sitesWith(model, "hook_mlp_out");
    if (ends.size() != info.structure.firstSites().size()) return result;
    for (const int site : ends)
        hookChanges.declare(info.site(site).inBlock("hook_mlp_out"), 1,
                            info.structure.streams[static_cast<size_t>(info.site(site).queryStream)].width);
    for (int site = 0; site < info.siteCount(); ++site) {
        report(info.siteCount() * info.heads + site);
        const std::string hook = info.site(site).inBlock("hook_mlp_out");
        if (site + 1 < info.siteCount() && info.site(site + 1).block == info.site(site).block) {
            result->mlpEffects.push_back(std::numeric_limits<float>::quiet_NaN());
            continue;
        }
        HookChanges without = hookChanges;
        without.add(hook, {.keep = 0});
        model.setHookChanges(std::move(without));
        result->mlpEffects.push_back(effect());
    }
    return result;
}

std::shared_ptr<AnalysisResult> PatchSweepAnalysis::run(RunningModel& model, const AnalysisContext& context) const {
    const ModelInfo& info = model.info();
    checkPatchable(model, hook);
    const Input other = otherInput(model, context, text);
    auto result = std::make_shared<PatchSweep>();
    result->hook = hook;
    result->sites = sitesWith(model, hook);
    const bool isText = context.input.isText();
    const std::optional<TextRows> ofText =
        isText ? std::optional(TextRows(info.structure, context.input)) : std::nullopt;
    result->tokens = ofText ? static_cast<int>(ofText->all()) : info.tokens();
    if (isText && !info.readsSource)
        for (size_t token = 0; token < other.tokens().size(); ++token)
            if (other.tokens()[token] != context.input.tokens()[token])
                result->otherTokens[static_cast<int>(token)] = other.tokens()[token];
    const HookChanges before = model.hookChanges();
    std::vector<std::string> names;
    for (const int site : result->sites) names.push_back(info.site(site).inBlock(hook));
    const auto values = model.capture(other, fmt::format("{}", fmt::join(names, ","))); // in the order of the blocks
    findGap(*result, target, model, context.input, other);

    const HookChanges ready = declared(model, before, values);
    for (size_t block = 0; block < values.size(); ++block) {
        const CapturedHook& from = values[block];
        const int site = result->sites[block], stream = info.site(site).queryStream;
        const auto count = static_cast<size_t>(isPattern(hook) ? from.shape[1] : from.shape[0]);
        const bool isOfSource = info.readsSource && stream == 0;
        std::vector<double> logits(count);
        model.setHookChanges(ready);
        model.predict(context.input);
        // Starts at the last row, because a cache still holds the rows before the patched one.
        for (size_t row = count; row-- > 0;) {
            if (context.report)
                context.report((static_cast<float>(block) + 1 - static_cast<float>(row) / static_cast<float>(count)) /
                                   static_cast<float>(values.size()),
                               "effect of each value");
            model.setHookChanges(patched(info.structure, ready, from, row));
            logits[row] = logitOf(result->target, model.predictFrom(context.input, isOfSource ? 0 : row));
        }
        const std::vector<int> rows = model.rowsOfInput(site);
        for (int token = 0; token < result->tokens; ++token) {
            int row = rows.empty() ? token : rows[static_cast<size_t>(token)];
            if (ofText) row -= static_cast<int>(ofText->first(stream));
            const bool isThere = row >= 0 && row < static_cast<int>(count);
            const double logit = isThere ? logits[static_cast<size_t>(row)] : std::numeric_limits<double>::quiet_NaN();
            result->rows.push_back(isThere ? row : -1);
            result->logits.push_back(static_cast<float>(logit));
            result->effects.push_back(isThere ? result->shareOf(logit) : std::numeric_limits<float>::quiet_NaN());
        }
    }
    return result;
}

std::shared_ptr<AnalysisResult> HeadPatchAnalysis::run(RunningModel& model, const AnalysisContext& context) const {
    const ModelInfo& info = model.info();
    checkPatchable(model, "attn.hook_z");
    const Input other = otherInput(model, context, text);
    auto result = std::make_shared<HeadPatchSweep>();
    result->sites = info.siteCount();
    result->heads = info.heads;
    std::vector<std::string> names;
    for (int site = 0; site < info.siteCount(); ++site) names.push_back(info.site(site).hook("z"));
    const HookChanges before = model.hookChanges();
    const auto values = model.capture(other, fmt::format("{}", fmt::join(names, ",")));
    findGap(*result, target, model, context.input, other);

    const HookChanges ready = declared(model, before, values);
    const size_t all = static_cast<size_t>(info.siteCount()) * static_cast<size_t>(info.heads);
    result->effects.assign(all, std::numeric_limits<float>::quiet_NaN());
    result->logits = result->effects;
    for (const CapturedHook& from : values) {
        const int site = info.structure.siteOf(from.name).value();
        for (int head = 0; head < info.site(site).heads; ++head) {
            const auto at = static_cast<size_t>(site * info.heads + head);
            if (context.report) context.report(static_cast<float>(at) / static_cast<float>(all), "effect of each head");
            HookChanges patch = ready;
            patch.add(from.name,
                      {.head = head, .keep = 0, .values = from.values, .rows = from.shape[0], .isByToken = true});
            model.setHookChanges(std::move(patch));
            const double logit = logitOf(result->target, model.predict(context.input));
            result->logits[at] = static_cast<float>(logit);
            result->effects[at] = result->shareOf(logit);
        }
    }
    return result;
}

std::shared_ptr<const Analysis> AblationSweepAnalysis::settled(const AnalysisResult& result) const {
    auto same = std::make_shared<AblationSweepAnalysis>(*this);
    same->target = static_cast<const AblationSweep&>(result).target;
    return same;
}

std::shared_ptr<const Analysis> PatchSweepAnalysis::settled(const AnalysisResult& result) const {
    auto same = std::make_shared<PatchSweepAnalysis>(*this);
    same->target = static_cast<const PatchSweep&>(result).target;
    return same;
}

std::shared_ptr<const Analysis> HeadPatchAnalysis::settled(const AnalysisResult& result) const {
    auto same = std::make_shared<HeadPatchAnalysis>(*this);
    same->target = static_cast<const HeadPatchSweep&>(result).target;
    return same;
}

} // namespace attn
