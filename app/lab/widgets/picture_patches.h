#pragma once

#include "app/figures/read_image.h"
#include "engine/session/playground_input.h"

#include <QImage>

#include <memory>
#include <span>
#include <variant>

namespace attn {

/// A picture that is drawn by code.
struct BuiltInPicture {
    const char *id, *title; ///< title marked for translation
    QImage (*draw)();
};
std::span<const BuiltInPicture> builtInPictures();

/// @param name of a built-in one, or a path of a file that Qt reads  @return null if it cannot be read
QImage pictureNamed(const QString& name);

/// The same for a vision model. @return why it cannot be read, as readImage()
std::variant<Image, Failure> readPicture(const QString& name);

/// The colours of each patch of a grid, row by row, as features of mean 0 and deviation 1.
std::shared_ptr<const TokenFeatures> patchFeatures(const QImage& picture, int rows, int columns);

} // namespace attn
