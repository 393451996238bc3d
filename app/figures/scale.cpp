#include "app/figures/scale.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr ScaleInfo kScales[] = {
    {ScaleKind::Linear, "linear", QT_TRANSLATE_NOOP("attn::Scale", "Linear"),
     QT_TRANSLATE_NOOP("attn::Scale", "Colour follows the attention weight, from 0 to 1")},
    {ScaleKind::Log, "log", QT_TRANSLATE_NOOP("attn::Scale", "Log"),
     QT_TRANSLATE_NOOP("attn::Scale",
                       "Colour follows the logarithm of the weight, from 0.0001 to 1: shows small weights")},
    {ScaleKind::RowMaximum, "row-maximum", QT_TRANSLATE_NOOP("attn::Scale", "Row maximum"),
     QT_TRANSLATE_NOOP("attn::Scale", "The largest weight of each query has the full colour")},
};

float levelOf(float value, ScaleKind kind, float rowMaximum) {
    switch (kind) {
    case ScaleKind::Log:
        return 1.0f - std::log10(std::max(value, kLogFloor)) / std::log10(kLogFloor);
    case ScaleKind::RowMaximum:
        return rowMaximum > 0 ? value / rowMaximum : 0.0f;
    case ScaleKind::Linear:
        break;
    }
    return value;
}

/// Whether a pixel shows only masked cells: keys after their queries, with weight 0.
bool isMasked(const PatternTile& tile, size_t row, size_t column, float value) {
    const int lastQuery = tileToken(static_cast<int>(row) + 1, tile.queryBegin, tile.queryEnd, tile.rows) - 1;
    const int firstKey = tileToken(static_cast<int>(column), tile.keyBegin, tile.keyEnd, tile.columns);
    return !tile.isCross && value == 0 && firstKey > lastQuery;
}

} // namespace

std::span<const ScaleInfo> scaleKinds() { return kScales; }

QString scaleKey(ScaleKind kind) { return QString::fromLatin1(kScales[static_cast<size_t>(kind)].key); }

ScaleKind scaleFromKey(const QString& key) {
    for (const ScaleInfo& scale : kScales)
        if (key == QLatin1String(scale.key)) return scale.kind;
    return ScaleKind::Linear;
}

int tilePixel(int token, int begin, int end, int pixels) {
    // The inverse of tileToken, even if the pixels do not divide the tokens evenly.
    const int64_t count = std::max(1, end - begin);
    return std::clamp(static_cast<int>((static_cast<int64_t>(token - begin + 1) * pixels + count - 1) / count) - 1, 0,
                      std::max(0, pixels - 1));
}

int tileToken(int pixel, int begin, int end, int pixels) {
    return begin + static_cast<int>(static_cast<int64_t>(pixel) * (end - begin) / std::max(1, pixels));
}

ScaledTile scaleTile(const PatternTile& tile, const Scale& scale) {
    const size_t rows = static_cast<size_t>(tile.rows), columns = static_cast<size_t>(tile.columns);
    ScaledTile result{.values = tile.values, .levels = std::vector<float>(tile.values.size(), kNoLevel)};
    const bool hasFirst = tile.keyBegin == 0 && columns > 0;
    const bool hidesFirst = scale.hidesFirst && hasFirst && !tile.leavesOutFirst;
    const bool hidesColumn =
        tile.leavesOutFirst && hasFirst && tileToken(1, tile.keyBegin, tile.keyEnd, tile.columns) == 1;
    for (size_t row = 0; row < rows; ++row) {
        float* values = result.values.data() + row * columns;
        if (hidesColumn) values[0] = std::numeric_limits<float>::quiet_NaN();
        if (hidesFirst) {
            const float rest = 1.0f - values[0];
            values[0] = std::numeric_limits<float>::quiet_NaN();
            // 1e-6: the rounding error of a row whose weight is all on the first token.
            for (size_t column = 1; column < columns; ++column)
                values[column] = rest > 1e-6f ? std::min(1.0f, values[column] / rest) : 0.0f;
        }
        float rowMaximum = 0;
        for (size_t column = 0; column < columns; ++column)
            if (values[column] > rowMaximum) rowMaximum = values[column];
        for (size_t column = 0; column < columns; ++column) {
            if (isMasked(tile, row, column, values[column]) || std::isnan(values[column])) continue;
            result.levels[row * columns + column] =
                std::clamp(levelOf(values[column], scale.kind, rowMaximum), 0.0f, 1.0f);
        }
    }
    return result;
}

std::vector<float> visibleWeights(const PatternTile& tile) {
    std::vector<float> weights = tile.values;
    for (size_t at = 0; at < weights.size(); ++at) {
        const auto columns = static_cast<size_t>(tile.columns);
        if (isMasked(tile, at / columns, at % columns, weights[at]))
            weights[at] = std::numeric_limits<float>::quiet_NaN();
    }
    return weights;
}

std::vector<float> visibleWeights(std::vector<float> weights, int tokens) {
    return visibleWeights(PatternTile{
        .rows = tokens, .columns = tokens, .queryEnd = tokens, .keyEnd = tokens, .values = std::move(weights)});
}

} // namespace attn
