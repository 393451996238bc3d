#pragma once

#include "engine/core/failure.h"

#include <QImage>
#include <QString>

#include <optional>

namespace attn {

/// Writes pictures of one size as an animated GIF (GIF89a, endless, each with its own 256 colours).
/// @param delayMs of each picture, rounded to hundredths of a second
std::optional<Failure> writeGif(const QString& path, const QList<QImage>& frames, int delayMs);

} // namespace attn
