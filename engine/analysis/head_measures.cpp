#include "engine/analysis/head_measures.h"

#include "engine/analysis/attention_distance.h"
#include "engine/analysis/whole_run.h"
#include "engine/core/error.h"

#include <cmath>
#include <cstdlib>
#include <limits>

namespace attn {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

constexpr std::array<HeadMeasure, HeadMeasure::Count> kMeasures{{
    {.id = "entropy",
     .title = "entropy, in bits",
     .meaning = "How widely a head spreads its attention: 0 is a single token, 1 bit is two tokens alike, 3 bits are "
                "eight.",
     .source = "Clark et al. 2019, arXiv:1906.04341, section 3.2",
     .isShare = false},
    {.id = "distance",
     .title = "distance",
     .meaning = "How far a head looks, weighted by its attention: in tokens, and in a picture in pixels.",
     .source = "Vig and Belinkov 2019, arXiv:1906.04284, section 4.3",
     .isShare = false},
    {.id = "first",
     .title = "share on the first token",
     .meaning = "How much of a head's attention goes to the first token.",
     .source = "Xiao et al. 2023, arXiv:2309.17453",
     .isShare = true},
    {.id = "self",
     .title = "share on the token itself",
     .meaning = "How much of a head's attention stays on the token that looks.",
     .source = "",
     .isShare = true},
    {.id = "previous",
     .title = "share on the previous token",
     .meaning = "How much of a head's attention goes to the token before the one that looks.",
     .source = "",
     .isShare = true},
}};

/// @param isOneStream queries and keys are the same tokens
HeadMeasures::OfHead measuresOf(const SitePattern& pattern, int site, int head, bool isOneStream, bool isPicture) {
    std::array<double, HeadMeasure::Count> sums{};
    int64_t rows = 0;
    pattern.layout.forRows([&](int64_t query, int64_t first, std::span<const int32_t> keys) {
        const float* cells = pattern.values.data() + pattern.at(head, first);
        double all = 0;
        for (size_t i = 0; i < keys.size(); ++i)
            if (keys[i] >= 0) all += static_cast<double>(cells[i]);
        if (!(all > 0)) return;
        ++rows;
        for (size_t i = 0; i < keys.size(); ++i) {
            const double share = keys[i] < 0 ? 0 : static_cast<double>(cells[i]) / all;
            if (!(share > 0)) continue;
            sums[HeadMeasure::Entropy] -= share * std::log2(share);
            sums[HeadMeasure::Distance] += share * static_cast<double>(std::abs(keys[i] - query));
            if (keys[i] == 0) sums[HeadMeasure::First] += share;
            if (keys[i] == query) sums[HeadMeasure::Self] += share;
            if (keys[i] == query - 1) sums[HeadMeasure::Previous] += share;
        }
    });
    HeadMeasures::OfHead result{.site = site, .head = head};
    for (size_t id = 0; id < sums.size(); ++id)
        result.values[id] = rows > 0 ? static_cast<float>(sums[id] / static_cast<double>(rows)) : kNone;
    if (!isOneStream) result.values[HeadMeasure::Self] = kNone;
    if (!isOneStream || isPicture)
        for (const auto id : {HeadMeasure::Distance, HeadMeasure::Previous}) result.values[id] = kNone;
    if (isPicture && pattern.layout.prefix == 0) result.values[HeadMeasure::First] = kNone; // a patch in a corner
    return result;
}

} // namespace

std::span<const HeadMeasure> headMeasures() { return kMeasures; }

std::shared_ptr<AnalysisResult> HeadMeasuresAnalysis::run(RunningModel& model, const AnalysisContext& context) const {
    const std::vector<SitePattern> patterns =
        context.patterns ? *context.patterns : wholePatterns(model, context.input);
    const ModelInfo& info = model.info();
    const bool isPicture = !context.input.isText();
    auto result = std::make_shared<HeadMeasures>();
    for (size_t site = 0; site < patterns.size(); ++site) {
        const SitePattern& pattern = patterns[site];
        if (pattern.values.empty()) continue;
        const Site& of = info.structure.sites[site];
        const std::vector<float> distances =
            isPicture ? attentionDistances(pattern, info.grid.width, info.patch) : std::vector<float>();
        for (int head = 0; head < pattern.heads; ++head) {
            result->heads.push_back(
                measuresOf(pattern, static_cast<int>(site), head, of.queryStream == of.keyStream, isPicture));
            if (isPicture) result->heads.back().values[HeadMeasure::Distance] = distances[static_cast<size_t>(head)];
        }
    }
    if (result->heads.empty())
        throw Error({.what = "no layer forms a pattern",
                     .where = info.name,
                     .hint = "open a model whose attention has patterns"});
    return result;
}

} // namespace attn
