#pragma once

#include "app/figures/figure.h"
#include "engine/core/failure.h"

#include <QImage>
#include <QString>

#include <optional>

class QWidget;

namespace attn {

/// A widget exactly as it is on screen, twice as fine.
QImage pictureOf(QWidget& widget);

/// Writes a widget as it is on screen: .png as pixels, .svg and .pdf as vectors.
std::optional<Failure> exportPicture(QWidget& widget, const QString& path);

/// Writes text through a temporary file.
std::optional<Failure> exportText(const QString& text, const QString& path);

/// Writes arrays as NumPy's .npz.
std::optional<Failure> exportNumbers(const std::vector<NumberArray>& arrays, const QString& path);

} // namespace attn
