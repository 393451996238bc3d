#pragma once

/// Distances in windows and in figures, in pixels: multiples of 8, or 4 between parts of one thing. By default, a
/// layout has kGap between its items and around them (LabStyle).
namespace attn::spacing {

inline constexpr int kTight = 4;
inline constexpr int kGap = 8;
inline constexpr int kWide = 16;
inline constexpr int kPage = 24;

} // namespace attn::spacing
