#pragma once

#include "engine/io/image.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace attn {

enum class ShapeKind : uint8_t { Circle, Square, Triangle, Cross, Ring };
inline constexpr int kShapeKinds = 5;
inline constexpr std::array<std::string_view, kShapeKinds> kShapeNames{"circle", "square", "triangle", "cross", "ring"};

using Colour = std::array<uint8_t, 3>; ///< red, green, blue
inline constexpr std::array<Colour, 7> kShapeColours{Colour{229, 57, 53},  Colour{30, 136, 229}, Colour{67, 160, 71},
                                                     Colour{253, 216, 53}, Colour{142, 36, 170}, Colour{251, 140, 0},
                                                     Colour{0, 172, 193}};

/// Draws a filled shape with smooth edges.
/// @param x, y its centre, in pixels  @param radius of its circumscribed circle  @param turn rotation, in radians
void drawShape(Image& image, ShapeKind kind, double x, double y, double radius, double turn, Colour colour);
/// Draws an arrow with its centre at (x, y). @param angle of its direction, clockwise from the right, in radians
void drawArrow(Image& image, double x, double y, double length, double angle, Colour colour);
/// Draws a thin line.
void drawLine(Image& image, double x0, double y0, double x1, double y1, Colour colour);

} // namespace attn
