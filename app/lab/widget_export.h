#pragma once

#include "app/figures/figure.h"
#include "engine/core/failure.h"

#include <QImage>
#include <QString>

#include <optional>

class QWidget;

namespace attn {

/// Draws a widget as it is on screen, at twice the resolution.
QImage pictureOf(QWidget& widget);

/// Writes a widget as it is on screen: .png files hold pixels, .svg and .pdf files hold vector graphics.
std::optional<Failure> exportPicture(QWidget& widget, const QString& path);

/// Writes text through a temporary file.
std::optional<Failure> exportText(const QString& text, const QString& path);

/// Writes arrays as a NumPy .npz archive.
std::optional<Failure> exportNumbers(const std::vector<NumberArray>& arrays, const QString& path);

} // namespace attn
