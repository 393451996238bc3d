#include "app/figures/export_figure.h"

#include "app/figures/typeface.h"
#include "engine/core/attempt.h"
#include "engine/system/atomic_file.h"

#include <QBuffer>
#include <QFileInfo>
#include <QMarginsF>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QSvgGenerator>

#include <algorithm>
#include <cmath>
#include <span>

namespace attn {
namespace {

constexpr double kLogicalDpi = 96, kPointsPerInch = 72;

void paintSvg(const Figure& figure, const FigureTheme& theme, const QSize& size, QIODevice& device) {
    QSvgGenerator generator;
    generator.setOutputDevice(&device);
    generator.setSize(size);
    generator.setViewBox(QRect(QPoint(0, 0), size));
    generator.setResolution(static_cast<int>(kLogicalDpi));
    generator.setTitle(QStringLiteral("Attention Lab"));
    QPainter painter(&generator);
    figure.paint(painter, QRectF(QPointF(0, 0), QSizeF(size)), theme);
}

void paintPdf(const Figure& figure, const FigureTheme& theme, const QSize& size, QIODevice& device) {
    QPdfWriter writer(&device);
    constexpr int kResolution = 1200; // fine enough that rounding to device units is invisible
    writer.setResolution(kResolution);
    writer.setCreator(QStringLiteral("Attention Lab"));
    writer.setPageSize(
        QPageSize(QSizeF(size) * kPointsPerInch / kLogicalDpi, QPageSize::Point, {}, QPageSize::ExactMatch));
    writer.setPageMargins(QMarginsF());
    QPainter painter(&writer);
    painter.scale(kResolution / kLogicalDpi, kResolution / kLogicalDpi);
    figure.paint(painter, QRectF(QPointF(0, 0), QSizeF(size)), theme);
}

} // namespace

std::optional<Failure> writeBytes(const QByteArray& bytes, const QString& path) {
    return attempt(path.toStdString(), [&] {
        writeAtomically(path.toStdString(), std::as_bytes(std::span(bytes.data(), static_cast<size_t>(bytes.size()))));
    });
}

std::optional<Failure> writePng(const QImage& image, const QString& path) {
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    image.save(&buffer, "PNG");
    return writeBytes(buffer.data(), path);
}

QByteArray wellFormed(const QByteArray& markup) {
    QString text = QString::fromUtf8(markup);
    for (QChar& c : text) {
        const bool isSpace = c == u'\t' || c == u'\n' || c == u'\r';
        if ((c < QChar(0x20) && !isSpace) || c.unicode() >= 0xfffe) c = QChar::ReplacementCharacter;
    }
    return text.toUtf8();
}

QByteArray svgOf(const Figure& figure, const FigureTheme& theme, const QSize& size) {
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    paintSvg(figure, theme, size, buffer);
    return withSubstitutes(wellFormed(buffer.data()));
}

QImage imageOf(const Figure& figure, const FigureTheme& theme, const QSize& size, double scale) {
    QImage image(QSize(std::max(1, static_cast<int>(std::lround(size.width() * scale))),
                       std::max(1, static_cast<int>(std::lround(size.height() * scale)))),
                 QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(scale);
    image.fill(theme.background);
    QPainter painter(&image);
    figure.paint(painter, QRectF(QPointF(0, 0), QSizeF(size)), theme);
    return image;
}

std::optional<Failure> exportFigure(const Figure& figure, const FigureTheme& theme, const QSize& size,
                                    const QString& path) {
    const QString suffix = QFileInfo(path).suffix().toLower();
    if (suffix != "png" && suffix != "svg" && suffix != "pdf")
        return Failure{.what = "figures cannot be saved as \"" + suffix.toStdString() + "\"",
                       .where = path.toStdString(),
                       .hint = "end the name in .png, .svg or .pdf"};
    if (suffix == "png") return writePng(imageOf(figure, theme, size), path);
    if (suffix == "svg") return writeBytes(svgOf(figure, theme, size), path);
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    paintPdf(figure, theme, size, buffer);
    return writeBytes(buffer.data(), path);
}

std::optional<Failure> exportCsv(const Figure& figure, const QString& path) {
    const QString text = figure.csv();
    if (text.isEmpty())
        return Failure{
            .what = "there are no numbers to save yet", .where = path.toStdString(), .hint = "run a prompt first"};
    return writeBytes(text.toUtf8(), path);
}

} // namespace attn
