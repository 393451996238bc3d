#include "app/figures/read_image.h"

#include "app/figures/decoder_words.h"
#include "engine/core/error.h"
#include "engine/io/picture_count.h"
#include "engine/io/picture_formats.h"
#include "engine/io/whole_picture.h"

#include <QBuffer>
#include <QCoreApplication>
#include <QFile>
#include <QFileInfo>
#include <QImageReader>
#include <QLoggingCategory>
#include <QRgba64>

#include <algorithm>
#include <span>

namespace attn {
namespace {

/// More pixels than any camera produces. The limit bounds the memory that a decoder allocates.
constexpr qint64 kMostPixels = 100'000'000;
constexpr int kMostMebibytes = 1024; ///< 100 million pixels of 16 bits a colour

struct ReadImageText {
    Q_DECLARE_TR_FUNCTIONS(attn::readImage)
};

std::string formats() {
    QByteArrayList known = QImageReader::supportedImageFormats();
    return known.join(", ").toStdString();
}

/// Checks the size that a file claims to have. @return the problem; empty if it can be read
QString objectionTo(const QSize& size) {
    if (size.isEmpty()) return ReadImageText::tr("the picture is %1 x %2 pixels").arg(size.width()).arg(size.height());
    if (static_cast<qint64>(size.width()) * size.height() > kMostPixels)
        return ReadImageText::tr("the picture has %1 x %2 pixels; at most %3 million can be read")
            .arg(size.width())
            .arg(size.height())
            .arg(kMostPixels / 1'000'000);
    return {};
}

Failure failureOf(const QString& where, const QString& what, const std::string& hint) {
    return {.what = what.toStdString(), .where = where.toStdString(), .hint = hint};
}

/// Restores the one transparent grey of a PNG: Qt makes a ramp of greys and writes black in its place.
QImage withItsGrey(QImage image) {
    const QList<QRgb> table = image.colorTable();
    const auto greyAt = [&](qsizetype at) { return static_cast<int>(at * 255 / (table.size() - 1)); };
    const qsizetype clear = table.indexOf(QRgb(0));
    if (clear < 0 || table.size() < 2) return image;
    for (qsizetype at = 0; at < table.size(); ++at)
        if (at != clear && table[at] != qRgb(greyAt(at), greyAt(at), greyAt(at))) return image; // this is a palette
    const int grey = greyAt(clear);
    image.setColor(static_cast<int>(clear), qRgba(grey, grey, grey, 0));
    return image;
}

std::span<const std::byte> bytesOf(const QByteArray& bytes) {
    return std::as_bytes(std::span(bytes.constData(), static_cast<size_t>(bytes.size())));
}

/// The whole file; empty if it is very large.
QByteArray contentOf(QImageReader& reader) {
    constexpr qint64 kMostBytes = qint64{1} << 28;
    QIODevice& device = *reader.device();
    if (device.size() > kMostBytes) return {};
    const QByteArray bytes = device.readAll();
    device.seek(0);
    return bytes;
}

/// The damage of a picture that can be read anyway. @throws Error as damageIn()
std::string damageOf(QImageReader& reader, const QByteArray& bytes, const std::string& name) {
    if (bytes.startsWith("\xff\xd8")) // the decoder itself prints no warnings
        if (const QSize size = reader.size(); qint64{size.width()} * size.height() > kMostPicturePixels) return {};
    return damageIn(bytesOf(bytes), name);
}

/// Chooses one picture of a file with several, as Pillow does: the largest of an icon, otherwise the first.
/// @return a remark about the choice; empty if the file holds one picture
std::string chosenOf(QImageReader& reader, const QByteArray& bytes) {
    const int64_t count = picturesIn(bytesOf(bytes));
    if (count < 2) return {};
    const bool isIcon = bytes.startsWith(QByteArray("\0\0\1\0", 4));
    if (isIcon) reader.jumpToImage(static_cast<int>(largestPicture(bytesOf(bytes))));
    return ReadImageText::tr("The file holds %1 pictures. The model reads the %2, as timm and transformers do")
        .arg(count)
        .arg(isIcon ? ReadImageText::tr("largest") : ReadImageText::tr("first"))
        .toStdString();
}

std::variant<Image, Failure> decoded(QImageReader& reader, const QString& where) {
    const auto failure = [&](const QString& what, const std::string& hint) { return failureOf(where, what, hint); };
    static const bool isSet = [] { // once, because threads read it
        QImageReader::setAllocationLimit(kMostMebibytes);
        QLoggingCategory::setFilterRules("qt.gui.imageio*=false"); // problems are reported in a sentence
        return true;
    }();
    Q_UNUSED(isSet)
    reader.setAutoTransform(true);
    reader.setDecideFormatFromContent(true);
    const QByteArray bytes = contentOf(reader);
    std::string damage;
    try { // before Qt reads it, because libpng writes to standard error
        damage = damageOf(reader, bytes, where.toStdString());
    } catch (const Error& error) {
        return Failure{.what = error.message(), .where = error.where(), .hint = error.hint()};
    }
    const DecoderWords words;
    const bool isKnown = reader.canRead();
    if (bytes.startsWith("II") || bytes.startsWith("MM")) DecoderWords::listenToTiff();
    if (!isKnown)
        return failure(ReadImageText::tr("the file is not a picture in a known format"),
                       "use one of these formats: " + formats());
    if (const QSize size = reader.size(); size.isValid()) // some formats know the size only after decoding
        if (const QString objection = objectionTo(size); !objection.isEmpty())
            return failure(objection, "make it smaller");
    const std::string choice = chosenOf(reader, bytes);
    const QImage image = reader.read();
    if (image.isNull())
        return failure(ReadImageText::tr("the picture is damaged: %1")
                           .arg(words.first().empty() ? reader.errorString() : QString::fromStdString(words.first())),
                       "fetch the file again");
    if (damage.empty() && !words.ofPixels().empty())
        damage = ReadImageText::tr("The file is damaged: some of its pixels may be wrong (%1)")
                     .arg(QString::fromStdString(words.ofPixels()))
                     .toStdString();
    if (const QString objection = objectionTo(image.size()); !objection.isEmpty())
        return failure(objection, "make it smaller");
    Image result = imageFrom(withItsGrey(image));
    for (const std::string& before : {choice, damage})
        if (!before.empty()) result.remark = before + (result.remark.empty() ? "" : ". " + result.remark);
    return result;
}

} // namespace

std::variant<Image, Failure> readImage(const QString& path) {
    const QFileInfo file(path);
    if (!file.exists() && file.isSymLink())
        return failureOf(path, ReadImageText::tr("is a link that leads to no file"), "fetch the picture again");
    if (!file.exists()) return failureOf(path, ReadImageText::tr("there is no such file"), "check the path");
    if (!file.isFile()) return failureOf(path, ReadImageText::tr("is not a file"), "choose a picture");
    if (file.size() == 0) return failureOf(path, ReadImageText::tr("the file is empty"), "choose another picture");
    QFile opened(path);
    if (!opened.open(QIODevice::ReadOnly))
        return failureOf(path, ReadImageText::tr("cannot be opened: %1").arg(opened.errorString()),
                         "give yourself permission to read it and its folder");
    QImageReader reader(&opened);
    return decoded(reader, path);
}

std::variant<Image, Failure> readImage(const QByteArray& bytes, const QString& where) {
    QBuffer buffer;
    buffer.setData(bytes);
    buffer.open(QIODevice::ReadOnly);
    QImageReader reader(&buffer);
    return decoded(reader, where);
}

Image imageFrom(const QImage& image) {
    // 64 bits hold every format exactly; transparent colours are not multiplied.
    const bool isDeep = image.depth() == 64 || image.format() == QImage::Format_Grayscale16;
    const QImage pixels = image.convertToFormat(isDeep ? QImage::Format_RGBA64 : QImage::Format_ARGB32);
    Image result{.height = pixels.height(), .width = pixels.width()};
    result.rgb.reserve(static_cast<size_t>(result.size().area() * 3));
    int64_t clear = 0;
    const auto take = [&](int red, int green, int blue, bool isOpaque) {
        for (const int value : {red, green, blue}) result.rgb.push_back(static_cast<uint8_t>(value));
        clear += isOpaque ? 0 : 1;
    };
    for (int row = 0; row < pixels.height(); ++row) {
        const auto* deep = reinterpret_cast<const QRgba64*>(pixels.constScanLine(row));
        const auto* plain = reinterpret_cast<const QRgb*>(pixels.constScanLine(row));
        for (int column = 0; column < pixels.width(); ++column)
            if (isDeep)
                take(deep[column].red() >> 8, deep[column].green() >> 8, deep[column].blue() >> 8,
                     deep[column].isOpaque());
            else
                take(qRed(plain[column]), qGreen(plain[column]), qBlue(plain[column]), qAlpha(plain[column]) == 255);
    }
    if (image.format() == QImage::Format_Grayscale16)
        result.remark =
            ReadImageText::tr("The picture has 16 bits of grey. The model reads the higher 8 of them; timm and "
                              "transformers cut every grey above 255 to white")
                .toStdString();
    if (clear > 0)
        result.remark = ReadImageText::tr("%1 of %2 pixels are transparent. The model reads the colours that the file "
                                          "stores for them, as timm and transformers do")
                            .arg(clear)
                            .arg(result.size().area())
                            .toStdString();
    return result;
}

QImage toQImage(const Image& image) {
    QImage result(static_cast<int>(image.width), static_cast<int>(image.height), QImage::Format_RGB888);
    for (int row = 0; row < result.height(); ++row)
        std::copy_n(image.rgb.begin() + row * image.width * 3, image.width * 3, result.scanLine(row));
    return result;
}

} // namespace attn
