#pragma once

#include "engine/core/failure.h"
#include "engine/io/image.h"

#include <QByteArray>
#include <QImage>
#include <QString>

#include <variant>

namespace attn {

/// Decodes a picture of any format that Qt reads. Applies its EXIF rotation and converts it to 8 bits per colour. As in
/// Pillow, which most models were trained with, a transparent pixel keeps its stored colour, and a colour of 16 bits
/// keeps its higher byte. `remark` lists transparent pixels.
/// @return a failure if the file does not exist, is not a picture, is damaged, or has no pixels or too many
std::variant<Image, Failure> readImage(const QString& path);

/// Decodes the bytes of a file in the same way. @param where named by failures
std::variant<Image, Failure> readImage(const QByteArray& bytes, const QString& where);

/// Converts a decoded picture in the same way. @return an empty image if it has no pixels
Image imageFrom(const QImage& image);
/// Converts an image for drawing with Qt.
QImage toQImage(const Image& image);

} // namespace attn
