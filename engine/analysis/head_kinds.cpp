#include "engine/analysis/head_kinds.h"

#include "engine/analysis/average_linkage.h"
#include "engine/analysis/patch_head_kinds.h"
#include "engine/analysis/text_head_kinds.h"
#include "engine/core/error.h"
#include "engine/inference/language_model.h"
#include "engine/inference/vision_model.h"
#include "engine/models/head_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>

namespace attn {
namespace {

/// @throws Error if fingerprints of the two cannot be compared
void requireComparable(const HeadDetection& a, const HeadDetection& b) {
    constexpr const char* kWhere = "heads like this one";
    if (a.kinds.data() != b.kinds.data())
        throw Error({.what = "heads that read text and heads that read pictures cannot be compared",
                     .where = kWhere,
                     .hint = "compare models of the same input"});
    if (a.period == 0 || a.prints.empty() || b.prints.empty()) return; // areas of pictures can always be pooled
    if (const int64_t tokens = a.prints.front().areas.width, others = b.prints.front().areas.width; tokens != others)
        throw Error(
            {.what = fmt::format("fingerprints of {} tokens and of {} tokens cannot be compared", tokens, others),
             .where = kWhere,
             .hint = "compare models whose vocabulary and context hold at least 16 tokens"});
}

} // namespace

HeadScores::HeadScores(int ofSite, int ofHead, std::span<const HeadKind> all)
    : site(ofSite), head(ofHead), kinds(all), scores(all.size(), std::numeric_limits<float>::quiet_NaN()),
      beyond(scores) {}

std::vector<size_t> HeadScores::labels() const {
    std::vector<size_t> found;
    for (size_t kind = 0; kind < kinds.size(); ++kind)
        if (beyond[kind] >= kinds[kind].least) found.push_back(kind);
    if (found.empty()) return found;
    const auto tierOf = [&](size_t kind) { return kinds[kind].tier; };
    const int first = tierOf(*std::ranges::min_element(found, {}, tierOf));
    std::erase_if(found, [&](size_t kind) { return tierOf(kind) != first; });
    std::ranges::stable_sort(found, std::greater(), [&](size_t kind) { return beyond[kind]; });
    return found;
}

std::optional<size_t> HeadScores::kind() const {
    const std::vector<size_t> found = labels();
    return found.empty() ? std::nullopt : std::optional(found.front());
}

std::string HeadScores::title() const {
    const auto own = kind();
    if (!own) return "mixed";
    return kinds[*own].offsetTitle ? kinds[*own].offsetTitle(down, right) : kinds[*own].title;
}

std::string HeadScores::finding(size_t kind) const {
    const std::string share = fmt::format("{:.0f} %", static_cast<double>(scores[kind]) * 100);
    return fmt::format(fmt::runtime(kinds[kind].finding), share, -right);
}

const HeadScores* HeadDetection::find(int site, int head) const {
    const auto found =
        std::ranges::find_if(heads, [&](const HeadScores& each) { return each.site == site && each.head == head; });
    return found == heads.end() ? nullptr : &*found;
}

size_t HeadDetection::indexOf(int site, int head) const {
    if (const HeadScores* found = find(site, head)) return static_cast<size_t>(found - heads.data());
    throw Error({.what = fmt::format("there is no head {} in layer {}", head, site),
                 .where = "heads like this one",
                 .hint = "choose a layer and a head from the list"});
}

void HeadDetection::add(std::vector<HeadScores> scores, std::vector<HeadPrint> fingerprints,
                        const ModelStructure& structure, int site) {
    for (HeadScores& each : scores) {
        each.site = site;
        each.label = headName(structure.labelOf(site), each.head);
    }
    std::ranges::move(scores, std::back_inserter(heads));
    std::ranges::move(fingerprints, std::back_inserter(prints));
}

std::shared_ptr<AnalysisResult> HeadDetectionAnalysis::run(RunningModel& model, const AnalysisContext& context) const {
    const auto report = [&](float share) {
        if (context.report) context.report(share, "head kinds");
    };
    report(0);
    auto result = std::make_shared<HeadDetection>(model.config().axis == AxisKind::Patches
                                                      ? detectOnPatches(visionModel(model), context.input, seed, report)
                                                      : detectOnText(languageModel(model), seed, report));
    const size_t count = result->heads.size();
    if (count == 0)
        throw Error({.what = "no layer forms a pattern",
                     .where = model.info().name,
                     .hint = "open a model whose attention has patterns"});
    result->alike.resize(count * count);
    for (size_t a = 0; a < count; ++a)
        for (size_t b = 0; b <= a; ++b)
            result->alike[a * count + b] = result->alike[b * count + a] =
                similarity(result->prints[a], result->prints[b]);
    return result;
}

std::vector<SimilarHead> similarHeads(const HeadDetection& detection, size_t head, const HeadDetection& others) {
    requireComparable(detection, others);
    std::vector<SimilarHead> found;
    for (size_t at = 0; at < others.heads.size(); ++at)
        if (&detection != &others || at != head)
            found.push_back({at, similarity(detection.prints.at(head), others.prints[at])});
    std::ranges::stable_sort(found, std::greater(), &SimilarHead::similarity);
    return found;
}

std::vector<std::vector<size_t>> headGroups(const HeadDetection& detection, float least) {
    const auto count = static_cast<std::ptrdiff_t>(detection.heads.size());
    std::vector<std::vector<double>> alike;
    for (auto row = detection.alike.begin(); row != detection.alike.end(); row += count)
        alike.emplace_back(row, row + count);
    return averageLinkage(std::move(alike), static_cast<double>(least));
}

std::vector<size_t> headsByKind(const HeadDetection& detection) {
    const auto rank = [&](size_t at) { // the kind, and the negated score
        const HeadScores& head = detection.heads[at];
        const auto kind = head.kind();
        return kind ? std::pair(*kind, -head.of(*kind)) : std::pair(detection.kinds.size(), 0.0f);
    };
    std::vector<size_t> order(detection.heads.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, rank);
    return order;
}

} // namespace attn
