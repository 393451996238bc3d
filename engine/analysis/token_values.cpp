#include "engine/analysis/token_values.h"

#include "engine/attention/head_counts.h"
#include "engine/core/error.h"
#include "engine/inference/running_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace attn {
namespace {

constexpr int64_t kMostNumbers = int64_t{1} << 20; // that a matrix of them shows

} // namespace

std::vector<std::string> tokenHooks(const ModelInfo& model, int site) {
    const Site& own = model.site(site);
    const bool isOfStream = mixesStream(model.attentions[static_cast<size_t>(site)]);
    std::vector<std::string> hooks;
    for (const std::string& hook : model.hooks)
        if ((hook.starts_with(own.inBlock("hook_")) && !hook.ends_with("pooled_into")) || // places of a picture
            (isOfStream && hook.starts_with(own.hook(""))))
            hooks.push_back(hook);
    std::stable_partition(hooks.begin(), hooks.end(), [&](const std::string& hook) {
        return hook == own.hook("state") || hook == own.inBlock("hook_resid_post");
    });
    return hooks;
}

std::shared_ptr<AnalysisResult> TokenValuesAnalysis::run(RunningModel& model, const AnalysisContext& context) const {
    const ModelInfo& info = model.info();
    info.requireHead(site, 0);
    const std::vector<std::string> known = tokenHooks(info, site);
    if (!hook.empty() && std::ranges::find(known, hook) == known.end())
        throw Error({.what = fmt::format("{} has no hook {} with numbers by token", info.structure.labelOf(site), hook),
                     .where = info.name,
                     .hint = fmt::format("choose one of {}", fmt::join(known, ", "))});
    const CapturedHook captured = model.capture(context.input, hook.empty() ? known.front() : hook).front();
    const int64_t rows = captured.shape[0], units = captured.shape.elements() / rows;
    if (rows * units > kMostNumbers)
        throw Error({.what = fmt::format("{} tokens with {} units each are too many to draw", rows, units),
                     .where = info.name,
                     .hint = fmt::format("use at most {} tokens", kMostNumbers / units)});
    auto result = std::make_shared<TokenValues>();
    result->site = site;
    result->hook = captured.name;
    result->rows = static_cast<int>(rows);
    result->units = static_cast<int>(units);
    result->values = captured.values;
    return result;
}

} // namespace attn
