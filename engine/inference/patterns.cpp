#include "engine/inference/patterns.h"

#include "engine/core/error.h"
#include "engine/inference/cached_patterns.h"
#include "engine/inference/formed_patterns.h"
#include "engine/inference/language_model.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace attn {
namespace {

/// Limits a token range to existing tokens; an empty range means all.
std::pair<int, int> clampRange(int begin, int end, int count) {
    if (end <= begin) return {0, count};
    begin = std::clamp(begin, 0, count - 1);
    return {begin, std::clamp(end, begin + 1, count)};
}

} // namespace

bool Patterns::refine(double) { return false; }

void Patterns::tokensChange(size_t) {}

float Patterns::weight(const CellRequest& cell) {
    return tile({.site = cell.site,
                 .head = cell.head,
                 .queryBegin = cell.query,
                 .queryEnd = cell.query + 1,
                 .keyBegin = cell.key,
                 .keyEnd = cell.key + 1})
        .values.front();
}

PatternTile Patterns::emptyTile(const PatternRequest& view, int rows, int columns) const {
    return {.site = view.site,
            .head = view.aggregate == HeadAggregate::None ? view.head : -1,
            .rows = rows,
            .columns = columns,
            .queryBegin = view.queryBegin,
            .queryEnd = view.queryEnd,
            .keyBegin = view.keyBegin,
            .keyEnd = view.keyEnd,
            .isCross = model_.info().structure.isCross(view.site),
            .values = {}};
}

std::vector<float> Patterns::formedRow(int, int, int) const { return {}; }

ReadoutRows Patterns::readoutRows() const {
    ReadoutRows rows{.sites = model_.info().siteCount(), .heads = model_.info().heads};
    if (model_.tokens().empty()) return rows;
    const ModelStructure& structure = model_.info().structure;
    const int stream =
        structure.readouts.empty() ? static_cast<int>(structure.streams.size()) - 1 : structure.readouts.front().stream;
    const auto read = static_cast<int>(model_.predictedRow(model_.input()));
    for (int site = 0; site < rows.sites; ++site) {
        const int last = model_.queryCount(site) - 1;
        rows.queries.push_back(model_.info().site(site).queryStream == stream ? std::min(read, last) : last);
        rows.keys = std::max(rows.keys, model_.keyCount(site));
    }
    const int keys = rows.keys;
    const GpuExecutor* step = model_.noCacheReason().empty() ? model_.newestExecutor() : nullptr;
    if (!step && model_.isCached()) return {.sites = rows.sites, .heads = rows.heads, .queries = rows.queries};
    /// The newest row of a head in the step that formed it, of [H,1,S]; empty if the site has no pattern.
    const auto newestOf = [&](int site, int head) -> std::span<const float> {
        const std::string hook = model_.info().site(site).hook("pattern");
        if (!step->plan().results.contains(hook)) return {};
        const Shape& shape = step->plan().result(hook).type.shape;
        return step->result(hook).subspan(static_cast<size_t>(head * shape.rowStride()),
                                          static_cast<size_t>(std::min<int64_t>(keys, shape.columns())));
    };
    if (model_.isCached() && !step->plan().results.contains(model_.info().site(0).hook("pattern")))
        return {.sites = rows.sites, .heads = rows.heads, .queries = rows.queries}; // too many for each token
    for (int site = 0; site < rows.sites; ++site)
        for (int head = 0; head < rows.heads; ++head) {
            if (step) {
                const auto row = newestOf(site, head);
                rows.values.insert(rows.values.end(), row.begin(), row.end());
            } else {
                const auto row = formedRow(site, head, rows.queries[static_cast<size_t>(site)]);
                rows.values.insert(rows.values.end(), row.begin(), row.end());
            }
            rows.values.resize(static_cast<size_t>((site * rows.heads + head + 1) * keys), 0);
        }
    return rows;
}

DevicePattern Patterns::onDevice(const PatternRequest&) {
    throw Error({.what = "the patterns of this model do not stay on the device",
                 .where = model_.info().name,
                 .hint = "open the model in attention-lab"});
}

bool Patterns::hasChangedPattern(int site, int head) const {
    return !model_.isBypassed() && model_.hookChanges().patterns().contains({site, head});
}

PatternRequest Patterns::bounded(PatternRequest view) const {
    view.site = std::clamp(view.site, 0, model_.info().siteCount() - 1);
    view.head = std::clamp(view.head, 0, model_.info().site(view.site).heads - 1);
    const int queries = model_.queryCount(view.site), keys = model_.keyCount(view.site);
    std::tie(view.queryBegin, view.queryEnd) = clampRange(view.queryBegin, view.queryEnd, queries);
    std::tie(view.keyBegin, view.keyEnd) = clampRange(view.keyBegin, view.keyEnd, keys);
    view.detailSize = std::clamp(view.detailSize, 1, 2048);
    // A whole picture with one pixel per cell always includes key 0 here. The host can leave it out exactly.
    if (view.queryEnd - view.queryBegin == queries && view.keyEnd - view.keyBegin == keys &&
        view.detailSize >= std::max(queries, keys))
        view.hidesFirst = false;
    return view;
}

std::unique_ptr<Patterns> makePatterns(LanguageModel& model) {
    if (model.isCached()) return std::make_unique<CachedPatterns>(model);
    return std::make_unique<FormedPatterns>(model);
}

} // namespace attn
