#pragma once

#include "engine/core/failure.h"

#include <QImage>
#include <QString>

#include <atomic>
#include <optional>

namespace attn {

/// Writes frames of one size as an animated GIF (GIF89a) that repeats forever. Each frame has its own 256 colours.
/// Stops early, and leaves no file, when `isStopped` becomes true.
/// @param delayMs how long each frame is shown, rounded to hundredths of a second
std::optional<Failure> writeGif(const QString& path, const QList<QImage>& frames, int delayMs,
                                const std::atomic<bool>& isStopped);

} // namespace attn
