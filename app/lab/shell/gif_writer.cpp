#include "app/lab/shell/gif_writer.h"

#include "app/figures/export_figure.h"

#include <QByteArray>

#include <gif_lib.h>

#include <memory>
#include <vector>

namespace attn {
namespace {

/// @return false when the frame cannot be written
bool writeFrame(GifFileType* gif, const QImage& picture, int delayMs) {
    const int width = gif->SWidth, height = gif->SHeight, colours = 256;
    const auto count = static_cast<size_t>(width) * static_cast<size_t>(height);
    std::vector<GifByteType> red(count), green(count), blue(count), indices(count);
    const QImage image = picture.convertToFormat(QImage::Format_RGB32);
    for (size_t i = 0; i < count; ++i) {
        const QRgb pixel = image.pixel(static_cast<int>(i) % width, static_cast<int>(i) / width);
        red[i] = static_cast<GifByteType>(qRed(pixel));
        green[i] = static_cast<GifByteType>(qGreen(pixel));
        blue[i] = static_cast<GifByteType>(qBlue(pixel));
    }
    int size = colours;
    const std::unique_ptr<ColorMapObject, decltype(&GifFreeMapObject)> map(GifMakeMapObject(colours, nullptr),
                                                                           &GifFreeMapObject);
    if (!map || GifQuantizeBuffer(static_cast<unsigned>(width), static_cast<unsigned>(height), &size, red.data(),
                                  green.data(), blue.data(), indices.data(), map->Colors) == GIF_ERROR)
        return false;
    GraphicsControlBlock control{.DisposalMode = DISPOSE_DO_NOT,
                                 .UserInputFlag = false,
                                 .DelayTime = delayMs / 10,
                                 .TransparentColor = NO_TRANSPARENT_COLOR};
    GifByteType bytes[4];
    const auto length = static_cast<int>(EGifGCBToExtension(&control, bytes));
    if (EGifPutExtension(gif, GRAPHICS_EXT_FUNC_CODE, length, bytes) == GIF_ERROR ||
        EGifPutImageDesc(gif, 0, 0, width, height, false, map.get()) == GIF_ERROR)
        return false;
    for (int row = 0; row < height; ++row)
        if (EGifPutLine(gif, indices.data() + static_cast<size_t>(row) * static_cast<size_t>(width), width) ==
            GIF_ERROR)
            return false;
    return true;
}

bool writeHeader(GifFileType* gif, QSize size) {
    EGifSetGifVersion(gif, true);
    if (EGifPutScreenDesc(gif, size.width(), size.height(), 8, 0, nullptr) == GIF_ERROR) return false;
    const GifByteType endless[] = {1, 0, 0}; // the Netscape extension
    return EGifPutExtensionLeader(gif, APPLICATION_EXT_FUNC_CODE) == GIF_OK &&
           EGifPutExtensionBlock(gif, 11, "NETSCAPE2.0") == GIF_OK &&
           EGifPutExtensionBlock(gif, 3, endless) == GIF_OK && EGifPutExtensionTrailer(gif) == GIF_OK;
}

} // namespace

std::optional<Failure> writeGif(const QString& path, const QList<QImage>& frames, int delayMs,
                                const std::atomic<bool>& isStopped) {
    if (frames.isEmpty()) return Failure{"there are no figures to write", path.toStdString(), "train a model first"};
    QByteArray bytes;
    const auto append = [](GifFileType* gif, const GifByteType* data, int count) {
        static_cast<QByteArray*>(gif->UserData)->append(reinterpret_cast<const char*>(data), count);
        return count;
    };
    int error = 0;
    GifFileType* gif = EGifOpen(&bytes, append, &error);
    bool isWritten = gif && writeHeader(gif, frames.front().size());
    for (const QImage& frame : frames)
        isWritten = isWritten && !isStopped && writeFrame(gif, frame.scaled(frames.front().size()), delayMs);
    isWritten = gif && EGifCloseFile(gif, &error) == GIF_OK && isWritten;
    if (!isWritten) return Failure{"the animation could not be encoded", path.toStdString(), "choose a smaller figure"};
    return writeBytes(bytes, path);
}

} // namespace attn
