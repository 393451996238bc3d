#pragma once

#include "app/figures/read_image.h"
#include "engine/session/playground_input.h"

#include <QImage>

#include <memory>
#include <span>
#include <variant>

namespace attn {

/// A built-in picture, drawn by code.
struct BuiltInPicture {
    const char *id, *title; ///< title marked for translation
    QImage (*draw)();
};
std::span<const BuiltInPicture> builtInPictures();

/// @param name of a built-in picture, or path of a file that Qt can read  @return null if it cannot be read
QImage pictureNamed(const QString& name);

/// Reads a picture for a vision model. @param name as for pictureNamed()  @return the failure of readImage() if it
/// cannot be read
std::variant<Image, Failure> readPicture(const QString& name);

/// @return the colours of each patch, row by row, as features with mean 0 and standard deviation 1
std::shared_ptr<const TokenFeatures> patchFeatures(const QImage& picture, int rows, int columns);

} // namespace attn
