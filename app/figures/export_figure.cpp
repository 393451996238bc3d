#include "app/figures/export_figure.h"

#include <QBuffer>
#include <QFileInfo>
#include <QMarginsF>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QSaveFile>
#include <QSvgGenerator>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr double kLogicalDpi = 96, kPointsPerInch = 72;

std::optional<Failure> write(const QByteArray& bytes, const QString& path) {
    QSaveFile file(path); // renamed when complete, so a full disk leaves an older file unchanged
    if (file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.commit()) return {};
    return Failure{.what = "the file cannot be written: " + file.errorString().toStdString(),
                   .where = path.toStdString(),
                   .hint = "choose a folder that you may write to"};
}

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
    QBuffer buffer; // the generators close their device, which a QSaveFile forbids
    buffer.open(QIODevice::WriteOnly);
    if (suffix == "png")
        imageOf(figure, theme, size).save(&buffer, "PNG");
    else if (suffix == "svg")
        paintSvg(figure, theme, size, buffer);
    else
        paintPdf(figure, theme, size, buffer);
    return write(buffer.data(), path);
}

std::optional<Failure> exportCsv(const Figure& figure, const QString& path) {
    const QString text = figure.csv();
    if (text.isEmpty())
        return Failure{
            .what = "there are no numbers to save yet", .where = path.toStdString(), .hint = "run a prompt first"};
    return write(text.toUtf8(), path);
}

} // namespace attn
