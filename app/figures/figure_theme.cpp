#include "app/figures/figure_theme.h"

#include <QGuiApplication>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr double kRoomWidth = 50, kRoomHeight = 36; ///< text sizes of a room in which text keeps its size

} // namespace

FigureTheme FigureTheme::light(double size) {
    return {.background = "#ffffff",
            .plot = "#eceef2",
            .text = "#1c2029",
            .faint = "#636b79",
            .line = "#c9ced8",
            .accent = "#d6006c",
            .query = "#0072b2",
            .key = "#00855f",
            .value = "#a8488a",
            .prediction = "#b5541c",
            .font = QGuiApplication::font(),
            .size = size};
}

FigureTheme FigureTheme::dark(double size) {
    return {.background = "#15171c",
            .plot = "#2a2e37",
            .text = "#e7e9ee",
            .faint = "#98a0af",
            .line = "#3a404d",
            .accent = "#ff5fae",
            .query = "#56b4e9",
            .key = "#2cc295",
            .value = "#e39ac2",
            .prediction = "#f0883e",
            .font = QGuiApplication::font(),
            .size = size,
            .isDark = true};
}

FigureTheme FigureTheme::projector(double size) {
    FigureTheme theme{.background = "#ffffff",
                      .plot = "#e4e4e4",
                      .text = "#000000",
                      .faint = "#303030",
                      .line = "#606060",
                      .accent = "#c4005f",
                      .query = "#00509e",
                      .key = "#006b4a",
                      .value = "#8a2a6b",
                      .prediction = "#c04a00",
                      .font = QGuiApplication::font(),
                      .size = size,
                      .leastText = 18};
    theme.font.setWeight(QFont::Medium);
    return theme;
}

FigureTheme FigureTheme::inRoom(const QSizeF& room, double most) const {
    FigureTheme result = *this;
    result.fillsRoom = true;
    const double growth = std::min(room.width() / kRoomWidth, room.height() / kRoomHeight) / size;
    // Whole pixels, so that text does not creep while a window is resized.
    result.size = std::max(std::floor(size * std::clamp(growth, 1.0, std::clamp(most, 1.0, kMostGrowth))),
                           std::max(size, std::ceil(leastText / textRatio(TextSize::Caption))));
    return result;
}

QFont FigureTheme::sized(TextSize which) const {
    QFont result = font;
    result.setPixelSize(std::max(1, static_cast<int>(std::lround(size * textRatio(which)))));
    result.setWeight(textWeight(which, font.weight()));
    return result;
}

} // namespace attn
