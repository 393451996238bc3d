#pragma once

#include "app/figures/figure.h"

#include "engine/core/failure.h"

#include <QByteArray>
#include <QImage>
#include <QSize>
#include <QString>

#include <optional>

namespace attn {

/// Writes a file completely or not at all. @return why it could not be written
std::optional<Failure> writeBytes(const QByteArray& bytes, const QString& path);

/// Writes an image as PNG, whatever the path's suffix is.
std::optional<Failure> writePng(const QImage& image, const QString& path);

/// Draws the figure into an image.
/// @param size  in logical pixels, as on screen
/// @param scale image pixels per logical pixel
QImage imageOf(const Figure& figure, const FigureTheme& theme, const QSize& size, double scale = 2);

/// Markup (SVG, HTML) in which "�" replaces the characters that labels may contain and XML forbids: control characters,
/// U+FFFE and U+FFFF.
QByteArray wellFormed(const QByteArray& markup);

/// The figure as an SVG file.
QByteArray svgOf(const Figure& figure, const FigureTheme& theme, const QSize& size);

/// Writes the figure as it looks on screen at `size`: .png (at twice the resolution), .svg or .pdf, by the path's
/// suffix.
std::optional<Failure> exportFigure(const Figure& figure, const FigureTheme& theme, const QSize& size,
                                    const QString& path);

/// Writes the figure's numbers as a CSV file.
std::optional<Failure> exportCsv(const Figure& figure, const QString& path);

} // namespace attn
