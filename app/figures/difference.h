#pragma once

#include "app/figures/scale.h"

#include <QColor>

namespace attn {

/// The smallest difference that may have the full colour, so that tiny differences look pale.
inline constexpr float kSmallestRange = 0.01f;

/// Whether the pixels of two tiles show the same cells of the same head (or aggregate).
bool haveSameCells(const PatternTile& a, const PatternTile& b);
bool haveSameCells(const ReadoutRows& a, const ReadoutRows& b);

/// The changed weights minus the original ones.
/// @return [layers, heads, keys]
/// @pre haveSameCells(after, before)
std::vector<float> changeOf(const ReadoutRows& after, const ReadoutRows& before);

/// The difference of two patterns: the changed weights minus the original ones, after Scale::hidesFirst is applied to
/// both. The kind of the scale does not matter. Level 0 stands for -range and level 1 for +range. Cells that are masked
/// or hidden in both have no level.
/// @param range 0: use the largest difference in the tile, at least kSmallestRange
/// @pre haveSameCells(after, before)
ScaledTile scaleDifference(const PatternTile& after, const PatternTile& before, const Scale& scale, float range = 0);

/// The largest absolute difference; 0 if the tiles cannot be compared.
float largestDifference(const PatternTile& after, const PatternTile& before, const Scale& scale);

/// The colour of a difference on any background: red for an increase, blue for a decrease, as in
/// ColourMapId::Diverging.
QColor changeColour(float change);

/// A number with its sign, or without one if it rounds to zero: "+5.5", "−0.1", "0.0".
QString formatSigned(double value, int decimals);

/// A readable difference of probabilities: "+0.12", "−<.01", "0".
QString formatChange(double value);

} // namespace attn
