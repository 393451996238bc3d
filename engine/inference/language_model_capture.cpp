#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/inference/step_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attn {

std::vector<CapturedHook> LanguageModel::capture(const Input& input, const std::string& hooks) {
    const std::vector<std::string> names = matchHooks(hooks);
    require(input);
    const std::vector<int>& tokens = input.tokens();
    requireHooks(names, tokens.size());
    // A run of the whole leaves caches alone.
    if (isCached_ || tokens != tokens_) truncate(0);
    setSides(input);
    returnRoom(tokens.size(), 1); // the values of a pattern have a column for each row of the cache
    if (isCached_) makeRoom(tokens.size());
    const std::set<std::string> probes(names.begin(), names.end());
    const auto step = isCached_ ? makeStep(std::ssize(tokens), 0, true, probes) : makeWholeStep(probes, tokens.size());
    if (!isCached_) {
        logits_ = *runWhole(*step, tokens, {});
        tokens_ = tokens;
        hasPatterns_ = false;
    } else {
        extend(tokens, [&] { return runStep(*step, tokens.size(), {}); });
        const auto next = step->executor->result("next_logits");
        logits_.assign(next.begin(), next.begin() + info_.vocabulary);
    }

    const Graph& graph = *step->executor->plan().graph;
    std::vector<CapturedHook> captured;
    for (const std::string& name : names) {
        const Shape& full = step->executor->plan().result(name).type.shape;
        const std::string& axes = graph.probes().at(name).axes;
        std::vector<int64_t> cut = full.extents();
        for (size_t axis = 0; axis < cut.size(); ++axis)
            if (axes[axis] == 'T' || axes[axis] == 'S')
                cut[axis] =
                    rowsAlong(info_.structure.axisOf(name, axes[axis]), input.tokens().size(), input.source().size());
        CapturedHook& hook = captured.emplace_back(CapturedHook{name, Shape(cut), {}});
        hook.values.reserve(static_cast<size_t>(hook.shape.elements()));
        const std::span<const float> padded = step->executor->result(name);
        // T is the second axis of patterns and the first axis of other hooks, so rows are copied by index.
        for (int64_t row = 0; row < hook.shape.rows(); ++row) {
            int64_t from = 0, rest = row, place = 1;
            for (int axis = hook.shape.rank() - 2; axis >= 0; --axis) {
                from += rest % hook.shape[axis] * place;
                rest /= hook.shape[axis];
                place *= full[axis];
            }
            const auto begin = padded.begin() + static_cast<std::ptrdiff_t>(from * full.rowStride());
            hook.values.insert(hook.values.end(), begin, begin + static_cast<std::ptrdiff_t>(hook.shape.columns()));
        }
    }
    return captured;
}

void LanguageModel::requireHooks(const std::vector<std::string>& hooks, size_t tokens) const {
    if (tokens <= static_cast<size_t>(kMostWhole)) return;
    const ModelGraph graph = buildForListing(config());
    for (const std::string& name : hooks)
        if (const std::string& axes = graph.graph->probes().at(name).axes; axes.find('S') != axes.npos)
            throw Error({.what = fmt::format("the values grow with the square of the text: they are kept for at most "
                                             "{} tokens, and there are {}",
                                             groupDigits(kMostWhole), groupDigits(tokens)),
                         .where = name,
                         .hint = "shorten the text, or leave out scores and patterns"});
}

SiteInputs LanguageModel::siteInputs(int layer, uint64_t sequenceVersion) {
    const auto hook = [&](const char* name) { return info_.site(layer).hook(name); };
    const auto has = [&](const char* name) { return std::ranges::find(info_.hooks, hook(name)) != info_.hooks.end(); };
    const bool hasQueries = has("q"), sharesKeys = !has("k"); // else keys are queries
    const std::string rows = info_.site(layer).inBlock("hook_resid_pre");
    std::string hooks = rows;
    for (const char* name : {"q", "k", "v"})
        if (has(name)) hooks += "," + hook(name);
    const auto captured = capture(input(), hooks);
    const auto named = [&](const std::string& name) -> const CapturedHook& {
        return *std::ranges::find(captured, name, &CapturedHook::name);
    };
    const auto byHead = [](const CapturedHook& from) { // [T,heads,D] -> [heads,T,D]
        const int64_t T = from.shape[0], heads = from.shape[1], D = from.shape[2];
        std::vector<float> values;
        values.reserve(from.values.size());
        for (int64_t head = 0; head < heads; ++head)
            for (int64_t t = 0; t < T; ++t) {
                const auto begin = from.values.begin() + (t * heads + head) * D;
                values.insert(values.end(), begin, begin + D);
            }
        return values;
    };
    const CapturedHook& stream = named(rows);
    SiteInputs inputs{.sequenceVersion = sequenceVersion,
                      .site = layer,
                      .tokens = stream.shape[0],
                      .streamWidth = stream.shape[1],
                      .stream = stream.values};
    if (!hasQueries) return inputs;
    const CapturedHook &q = named(hook("q")), &k = named(sharesKeys ? hook("q") : hook("k"));
    // Queries carry the factor between the model's scale of scores and 1 / sqrt(D).
    const double scale = attentionOf(layer).scoreScale() * std::sqrt(static_cast<double>(q.shape[2]));
    std::vector<float> queries = byHead(q);
    for (float& value : queries) value *= static_cast<float>(scale);
    inputs.heads = q.shape[1];
    inputs.keyValueHeads = k.shape[1];
    inputs.width = q.shape[2];
    inputs.q = std::move(queries);
    inputs.k = byHead(k);
    inputs.v = byHead(named(hook("v")));
    return inputs;
}

std::string SiteInputs::headsText() const {
    if (heads == 1) return "single";
    return heads == keyValueHeads ? fmt::format("multi_head({})", heads)
                                  : fmt::format("grouped_query({}, {})", heads, keyValueHeads);
}

} // namespace attn
