#pragma once

#include "app/figures/scale.h"

#include <QColor>

namespace attn {

/// Where the colours of a change end at least: what changes by less is pale, not blown up.
inline constexpr float kSmallestRange = 0.01f;

/// Whether the pixels of two tiles stand for the same cells of the same head (or aggregate).
bool haveSameCells(const PatternTile& a, const PatternTile& b);
bool haveSameCells(const NewestRows& a, const NewestRows& b);

/// [layers, heads, keys] later weights less earlier ones. @pre haveSameCells(after, before)
std::vector<float> changeOf(const NewestRows& after, const NewestRows& before);

/// A change of a pattern: what a scale makes of the later weights less what it makes of the earlier ones. Its kind
/// does not matter. Levels go from 0, `range` less than before, to 1, as much more; cells that are masked or hidden in
/// both have none.
/// @param range 0: the largest change of the tile, or kSmallestRange  @pre haveSameCells(after, before)
ScaledTile scaleDifference(const PatternTile& after, const PatternTile& before, const Scale& scale, float range = 0);

/// The largest change, without regard to its sign; 0 where none can be told.
float largestDifference(const PatternTile& after, const PatternTile& before, const Scale& scale);

/// For marks on any background: more than before is red, less is blue, as in ColourMapId::Diverging.
QColor changeColour(float change);

/// With its sign, unless it reads as nothing: "+5.5", "−0.1", "0.0".
QString formatSigned(double value, int decimals);

/// A change of a probability for people: "+0.12", "−<.01", "0".
QString formatChange(double value);

} // namespace attn
