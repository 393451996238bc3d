#include "engine/training/tasks/shape_drawing.h"

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

/// Fills the area where isInside(x, y). Pixels at the edge are mixed by the share of their samples inside.
template <class Inside>
void fillWhere(Image& image, double left, double top, double right, double bottom, Colour colour, Inside isInside) {
    constexpr int kSamples = 3; // samples per side of a pixel
    const auto firstOf = [](double edge) { return std::max<int64_t>(0, static_cast<int64_t>(std::floor(edge))); };
    const auto lastOf = [](double edge, int64_t size) {
        return std::min(size - 1, static_cast<int64_t>(std::floor(edge)));
    };
    for (int64_t row = firstOf(top); row <= lastOf(bottom, image.height); ++row)
        for (int64_t column = firstOf(left); column <= lastOf(right, image.width); ++column) {
            int inside = 0;
            for (int i = 0; i < kSamples * kSamples; ++i)
                inside += isInside(static_cast<double>(column) + (i % kSamples + 0.5) / kSamples,
                                   static_cast<double>(row) + (static_cast<double>(i / kSamples) + 0.5) / kSamples)
                              ? 1
                              : 0;
            if (inside == 0) continue;
            uint8_t* pixel = &image.rgb[static_cast<size_t>((row * image.width + column) * 3)];
            for (size_t channel = 0; channel < 3; ++channel)
                pixel[channel] =
                    static_cast<uint8_t>((pixel[channel] * (kSamples * kSamples - inside) + colour[channel] * inside) /
                                         (kSamples * kSamples));
        }
}

/// @param x, y in units of the radius
bool isInShape(ShapeKind kind, double x, double y) {
    switch (kind) {
    case ShapeKind::Circle:
        return x * x + y * y <= 0.81;
    case ShapeKind::Ring:
        return x * x + y * y <= 0.9 && x * x + y * y >= 0.3;
    case ShapeKind::Square:
        return std::max(std::abs(x), std::abs(y)) <= 0.75;
    case ShapeKind::Cross:
        return std::max(std::abs(x), std::abs(y)) <= 0.9 && std::min(std::abs(x), std::abs(y)) <= 0.3;
    case ShapeKind::Triangle:
        return y <= 0.7 && 0.6 * (y + 0.95) >= std::abs(x);
    }
    return false;
}

} // namespace

void drawShape(Image& image, ShapeKind kind, double x, double y, double radius, double turn, Colour colour) {
    const double c = std::cos(turn) / radius, s = std::sin(turn) / radius;
    const double reach = radius * 1.45; // reaches the corner of a rotated square
    fillWhere(image, x - reach, y - reach, x + reach, y + reach, colour, [&](double px, double py) {
        const double dx = px - x, dy = py - y;
        return isInShape(kind, c * dx + s * dy, c * dy - s * dx);
    });
}

void drawArrow(Image& image, double x, double y, double length, double angle, Colour colour) {
    const double c = std::cos(angle), s = std::sin(angle), half = length / 2, head = length * 0.45;
    fillWhere(image, x - half, y - half, x + half, y + half, colour, [&](double px, double py) {
        const double along = c * (px - x) + s * (py - y), across = std::abs(c * (py - y) - s * (px - x));
        if (along < -half || along > half) return false;
        return along > half - head ? across <= (half - along) * 0.8 : across <= length * 0.09;
    });
}

void drawLine(Image& image, double x0, double y0, double x1, double y1, Colour colour) {
    const double length = std::max(std::hypot(x1 - x0, y1 - y0), 1e-6), c = (x1 - x0) / length, s = (y1 - y0) / length;
    fillWhere(image, std::min(x0, x1) - 1, std::min(y0, y1) - 1, std::max(x0, x1) + 1, std::max(y0, y1) + 1, colour,
              [&](double px, double py) {
                  const double along = c * (px - x0) + s * (py - y0), across = c * (py - y0) - s * (px - x0);
                  return along >= 0 && along <= length && std::abs(across) <= 0.6;
              });
}

} // namespace attn
