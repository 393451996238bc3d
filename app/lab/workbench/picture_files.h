#pragma once

#include "engine/core/failure.h"
#include "engine/io/image.h"

#include <QString>
#include <QStringList>

#include <atomic>
#include <memory>
#include <variant>
#include <vector>

class QMimeData;

namespace attn {

/// "Circle, example 1" for a file "1 circle.ppm"; the name of the file if it has no number.
QString exampleTitle(const QString& path);

/// The mean brightness of pictures, from 0 to 1; grey if none can be read.
double brightnessOf(const QStringList& paths);

/// What a model was trained to do, as its folder says: "Training task: Shapes. Finds the shape …". Empty if the folder
/// does not say it, or says no more than the classes do. @param model path as StartingPoint::model
QString trainedTask(const std::string& model);

/// The first pictures of a folder by name.
QStringList picturesIn(const QString& folder, const std::atomic<bool>& isStopped);

/// What was dropped or copied, in a format that can be decoded on another thread; empty if there is none.
QString pictureFormat(const QMimeData& data);

/// Models are made for pictures without distortion, but most stretch what they read to a square.
Image middleSquare(const Image& image);

/// Pictures as session files keep them: the bytes of a PNG file in base64, with at most 512 pixels per side. Each is
/// made once, because sessions are saved again and again.
class KeptPictures {
public:
    const QString& textOf(const std::shared_ptr<const Image>& picture);

private:
    std::vector<std::pair<std::shared_ptr<const Image>, QString>> texts_; ///< of the last two
};

/// Reads a picture of a session file. @param name of the picture, which a failure names
std::variant<Image, Failure> keptPicture(const QString& text, const QString& name);

} // namespace attn
