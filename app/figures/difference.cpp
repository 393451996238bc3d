#include "app/figures/difference.h"

#include "app/figures/colour_map.h"
#include "app/figures/drawing.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace attn {

bool haveSameCells(const PatternTile& a, const PatternTile& b) {
    const auto cells = [](const PatternTile& tile) {
        return std::tuple(tile.site, tile.head, tile.rows, tile.columns, tile.queryBegin, tile.queryEnd, tile.keyBegin,
                          tile.keyEnd, tile.leavesOutFirst, tile.values.size());
    };
    return cells(a) == cells(b);
}

bool haveSameCells(const ReadoutRows& a, const ReadoutRows& b) {
    return a.sites == b.sites && a.heads == b.heads && a.keys == b.keys && a.values.size() == b.values.size();
}

std::vector<float> changeOf(const ReadoutRows& after, const ReadoutRows& before) {
    std::vector<float> change = after.values;
    for (size_t i = 0; i < change.size(); ++i) change[i] -= before.values[i];
    return change;
}

ScaledTile scaleDifference(const PatternTile& after, const PatternTile& before, const Scale& scale, float range) {
    const Scale plain{ScaleKind::Linear, scale.hidesFirst};
    ScaledTile result = scaleTile(after, plain);
    const ScaledTile earlier = scaleTile(before, plain);
    float largest = 0;
    for (size_t i = 0; i < result.values.size(); ++i) {
        result.values[i] -= earlier.values[i];
        if (std::abs(result.values[i]) > largest) largest = std::abs(result.values[i]);
    }
    result.range = range > 0 ? range : std::max(largest, kSmallestRange);
    for (size_t i = 0; i < result.values.size(); ++i) {
        const bool isNowhere = result.levels[i] == kNoLevel && earlier.levels[i] == kNoLevel;
        result.levels[i] = isNowhere || std::isnan(result.values[i])
                               ? kNoLevel
                               : std::clamp(0.5f + 0.5f * result.values[i] / result.range, 0.0f, 1.0f);
    }
    return result;
}

float largestDifference(const PatternTile& after, const PatternTile& before, const Scale& scale) {
    if (!haveSameCells(after, before)) return 0;
    float largest = 0;
    for (const float value : scaleDifference(after, before, scale).values)
        if (std::abs(value) > largest) largest = std::abs(value);
    return largest;
}

QColor changeColour(float change) {
    return QColor(ColourMap::of(ColourMapId::Diverging).at(change > 0 ? 0.82f : 0.18f));
}

QString formatSigned(double value, int decimals) {
    const QString text = formatNumber(value, decimals);
    return value > 0 && text != formatNumber(0, decimals) ? QStringLiteral("+") + text : text;
}

QString formatChange(double value) {
    if (std::isnan(value)) return {};
    const QString amount = formatProbability(std::abs(value));
    if (value == 0) return amount;
    return (value > 0 ? QStringLiteral("+") : QStringLiteral("−")) + amount;
}

} // namespace attn
