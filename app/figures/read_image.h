#pragma once

#include "engine/core/failure.h"
#include "engine/io/image.h"

#include <QImage>
#include <QString>

#include <variant>

namespace attn {

/// Decodes a picture of any format that Qt reads, as it should be seen: turned as its EXIF says, on white where it is
/// transparent, 8 bits a colour.
/// @return why it cannot be read: there is no such file, it is no picture, it is broken, it has no pixels or too many
std::variant<Image, Failure> readImage(const QString& path);

/// The same for a picture that is already decoded. @return nothing where it has no pixels
Image imageFrom(const QImage& image);
/// For drawing.
QImage toQImage(const Image& image);

} // namespace attn
