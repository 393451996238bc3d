#pragma once

#include "engine/playground/playground_input.h"

#include <QImage>

#include <memory>
#include <optional>
#include <span>

namespace attn {

/// A built-in picture, drawn by code.
struct BuiltInPicture {
    const char *id, *title; ///< title marked for translation
    QImage (*draw)();
};
std::span<const BuiltInPicture> builtInPictures();

/// @return the built-in picture with this name; none for other names, which are file paths
std::optional<QImage> builtInPicture(const QString& name);

/// @return the colours of each patch, row by row, as features with mean 0 and standard deviation 1
std::shared_ptr<const TokenFeatures> patchFeatures(const QImage& picture, int rows, int columns);

} // namespace attn
