#pragma once

#include "app/figures/figure.h"
#include "engine/core/failure.h"

#include <QImage>
#include <QString>

#include <atomic>
#include <functional>
#include <optional>

class QWidget;

namespace attn {

/// Draws a widget as it is on screen, at twice the resolution.
QImage pictureOf(QWidget& widget);

/// The rest of an export, for another thread. It writes nothing if `isStopped` is true before it begins to write.
/// @return why the file could not be written
using Export = std::function<std::optional<Failure>(const std::atomic<bool>& isStopped)>;

/// Draws a widget as it is on screen; the export encodes and writes it. .png files hold pixels, .svg and .pdf files
/// hold vector graphics.
Export pictureExport(QWidget& widget, const QString& path);

/// Forms and writes numbers, through a temporary file: as text (.csv), or else as a NumPy archive (.npz).
Export numbersExport(ExportNumbers numbers, const QString& path);

} // namespace attn
