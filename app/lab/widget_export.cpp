#include "app/lab/widget_export.h"

#include "engine/core/error.h"
#include "engine/io/tensor_writer.h"

#include <QFileInfo>
#include <QPainter>
#include <QPdfWriter>
#include <QSaveFile>
#include <QSvgGenerator>
#include <QWidget>

namespace attn {
namespace {

constexpr qreal kPixelRatio = 2;
constexpr int kPdfDpi = 96; // widgets are laid out in pixels of 1/96 inch

Failure unwritable(const QString& path, const QString& why) {
    return {.what = "the file could not be written: " + why.toStdString(),
            .where = path.toStdString(),
            .hint = "choose a folder you can write to that has space left"};
}

void draw(QWidget& widget, QPaintDevice& device) {
    QPainter painter(&device);
    painter.fillRect(widget.rect(), widget.palette().window());
    widget.render(&painter, QPoint(), QRegion(), QWidget::DrawChildren | QWidget::DrawWindowBackground);
}

} // namespace

QImage pictureOf(QWidget& widget) {
    QImage image(widget.size() * kPixelRatio, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(kPixelRatio);
    draw(widget, image);
    return image;
}

std::optional<Failure> exportPicture(QWidget& widget, const QString& path) {
    // Check here, because the writers below report nothing useful after they have started.
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly)) return unwritable(path, file.errorString());
    const QString suffix = QFileInfo(path).suffix().toLower();
    if (suffix == "svg") {
        QSvgGenerator svg;
        svg.setOutputDevice(&file);
        svg.setSize(widget.size());
        svg.setViewBox(widget.rect());
        svg.setTitle(widget.accessibleName());
        draw(widget, svg);
    } else if (suffix == "pdf") {
        QPdfWriter pdf(&file);
        pdf.setResolution(kPdfDpi);
        pdf.setPageMargins(QMarginsF());
        pdf.setPageSize(QPageSize(QSizeF(widget.size()) * 72 / kPdfDpi, QPageSize::Point));
        draw(widget, pdf);
    } else if (!pictureOf(widget).save(&file, "PNG")) {
        return unwritable(path, file.errorString());
    }
    if (!file.commit()) return unwritable(path, file.errorString());
    return std::nullopt;
}

std::optional<Failure> exportText(const QString& text, const QString& path) {
    QSaveFile file(path);
    const QByteArray bytes = text.toUtf8();
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size() || !file.commit())
        return unwritable(path, file.errorString());
    return std::nullopt;
}

std::optional<Failure> exportNumbers(const std::vector<NumberArray>& arrays, const QString& path) {
    std::vector<WrittenTensor> tensors;
    for (const NumberArray& array : arrays)
        tensors.push_back({.name = array.name, .shape = array.shape, .values = array.values});
    try {
        writeNpz(path.toStdString(), tensors);
    } catch (const Error& error) {
        return Failure{error.message(), error.where(), error.hint()};
    }
    return std::nullopt;
}

} // namespace attn
