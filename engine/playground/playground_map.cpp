#include "engine/playground/playground_map.h"

#include "engine/core/bit_row.h"
#include "engine/ops/ops.h"
#include "engine/playground/attention_run.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>

namespace attn {
namespace {

constexpr float kHiddenCell = std::numeric_limits<float>::quiet_NaN();

/// Whether a result has a value for each query and key, so that a mask can hide some of them.
bool isOfCells(std::string_view name) {
    constexpr std::array<std::string_view, 7> kNames{"scores", "pattern", "position.", "shaw.", "xl.", "mask.", "aft."};
    return std::ranges::any_of(kNames, [name](std::string_view each) { return name.starts_with(each); });
}

PlaygroundMap maskMap(const MaskExpression& mask, int64_t queries, int64_t keys, int64_t heads) {
    PlaygroundMap map{
        .name = "mask", .heads = mask.dependsOnHead() ? heads : 1, .rows = queries, .columns = keys, .values = {}};
    map.values.resize(static_cast<size_t>(map.heads * map.rows * map.columns), 0);
    BitRow row;
    for (int64_t head = 0; head < map.heads; ++head)
        for (int64_t i = 0; i < map.rows; ++i) {
            mask.row({.queries = map.rows,
                      .keys = map.columns,
                      .head = static_cast<int>(head),
                      .heads = static_cast<int>(heads)},
                     i, row);
            row.forEach(
                [&](int64_t j) { map.values[static_cast<size_t>((head * map.rows + i) * map.columns + j)] = 1; });
        }
    return map;
}

/// Converts leading axes to heads and planes.
PlaygroundMap mapOf(NamedTensor&& tensor, int64_t heads) {
    const std::vector<int64_t> extents = tensor.shape.extents();
    PlaygroundMap map{.name = std::move(tensor.name), .values = std::move(tensor.values)};
    map.columns = extents.back();
    map.rows = extents.size() > 1 ? extents[extents.size() - 2] : 1;
    const int64_t leading = static_cast<int64_t>(map.values.size()) / (map.rows * map.columns);
    map.heads = leading % heads == 0 ? heads : 1;
    map.planes = leading / map.heads;
    return map;
}

/// Sets cells that the mask hides to NaN, because they have no score or weight.
/// @param scores show which cells the content of tokens hides; null if there are none
void hide(PlaygroundMap& map, const PlaygroundMap& mask, const PlaygroundMap* scores) {
    if (map.rows != mask.rows || map.columns != mask.columns) return;
    if (scores && scores->heads != map.heads) scores = nullptr; // heads may hide different cells
    for (int64_t head = 0; head < map.heads; ++head)
        for (int64_t plane = 0; plane < map.planes; ++plane) {
            const auto cells = map.at(head, plane), seen = mask.at(head);
            const auto scored = scores ? scores->at(head) : std::span<const float>();
            float* values = map.values.data() + (cells.data() - map.values.data());
            for (size_t cell = 0; cell < cells.size(); ++cell)
                if (seen[cell] == 0 || (scores && !(scored[cell] > static_cast<float>(kMasked) / 2)))
                    values[cell] = kHiddenCell;
        }
}

} // namespace

std::span<const float> PlaygroundMap::at(int64_t head, int64_t plane) const {
    const auto size = static_cast<size_t>(rows * columns);
    const auto index = std::clamp<int64_t>(head, 0, heads - 1) * planes + std::clamp<int64_t>(plane, 0, planes - 1);
    return std::span(values).subspan(static_cast<size_t>(index) * size, size);
}

const PlaygroundMap* findMap(std::span<const PlaygroundMap> maps, std::string_view name) {
    const auto found = std::ranges::find(maps, name, &PlaygroundMap::name);
    return found == maps.end() ? nullptr : &*found;
}

std::vector<PlaygroundMap> mapsOf(const AttentionRun& run, const AttentionSpec& spec, int64_t queries, int64_t keys) {
    std::vector<PlaygroundMap> maps;
    const auto results = run.results();
    const auto take = [&](const std::string& name) {
        if (std::ranges::find(results, name) == results.end()) return;
        maps.push_back(mapOf(run.result(name), run.heads()));
    };
    PlaygroundMap mask = maskMap(spec.mask.staticPart(), queries, keys, run.heads());
    take("scores");
    for (const std::string& name : results)
        if (name != "scores" && name != "pattern" && name != "z") take(name);
    take("pattern");
    // Hide cells at the end, when all scores are known.
    std::optional<PlaygroundMap> scores;
    if (!maps.empty() && maps.front().name == "scores") scores = maps.front();
    for (PlaygroundMap& map : maps)
        if (isOfCells(map.name)) hide(map, mask, scores ? &*scores : nullptr);
    maps.insert(maps.begin() + (scores ? 1 : 0), std::move(mask));
    take("z");
    return maps;
}

PlaygroundMap windowMap(const AttentionRun& run, const AttentionSpec& spec, const PatternWindow& window) {
    PlaygroundMap map = mapOf(run.result("pattern"), run.heads());
    map.window = window;
    const int64_t queries = window.queryEnd, keys = window.keyEnd; // such a pattern has a causal or a full mask
    if (spec.mask.sight({.queries = queries, .keys = keys}) == MaskSight::All) return map;
    for (int64_t head = 0; head < map.heads; ++head)
        for (int64_t y = 0; y < map.rows; ++y) {
            const int64_t last = firstOfPixel(y + 1, window.rows, window.queryBegin, window.queryEnd) - 1;
            float* row = map.values.data() + (head * map.rows + y) * map.columns;
            for (int64_t x = 0; x < map.columns; ++x)
                if (firstOfPixel(x, window.columns, window.keyBegin, window.keyEnd) > last) row[x] = kHiddenCell;
        }
    return map;
}

} // namespace attn
