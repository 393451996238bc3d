#include "app/lab/shell/widget_export.h"

#include "app/figures/export_figure.h"
#include "engine/core/error.h"
#include "engine/io/tensor_writer.h"

#include <QBuffer>
#include <QFileInfo>
#include <QPainter>
#include <QPdfWriter>
#include <QSvgGenerator>
#include <QWidget>

namespace attn {
namespace {

constexpr qreal kPixelRatio = 2;
constexpr int kPdfDpi = 96; // widgets are laid out in pixels of 1/96 inch

void draw(QWidget& widget, QPaintDevice& device) {
    QPainter painter(&device);
    painter.fillRect(widget.rect(), widget.palette().window());
    widget.render(&painter, QPoint(), QRegion(), QWidget::DrawChildren | QWidget::DrawWindowBackground);
}

std::optional<Failure> writeArrays(const std::vector<NumberArray>& arrays, const QString& path) {
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

} // namespace

QImage pictureOf(QWidget& widget) {
    QImage image(widget.size() * kPixelRatio, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(kPixelRatio);
    draw(widget, image);
    return image;
}

Export pictureExport(QWidget& widget, const QString& path) {
    const QString suffix = QFileInfo(path).suffix().toLower();
    if (suffix != "svg" && suffix != "pdf")
        return [picture = pictureOf(widget), path](const std::atomic<bool>& isStopped) {
            return isStopped ? std::nullopt : writePng(picture, path);
        };
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    if (suffix == "svg") {
        QSvgGenerator svg;
        svg.setOutputDevice(&buffer);
        svg.setSize(widget.size());
        svg.setViewBox(widget.rect());
        svg.setTitle(widget.accessibleName());
        draw(widget, svg);
    } else {
        QPdfWriter pdf(&buffer);
        pdf.setResolution(kPdfDpi);
        pdf.setPageMargins(QMarginsF());
        pdf.setPageSize(QPageSize(QSizeF(widget.size()) * 72 / kPdfDpi, QPageSize::Point));
        draw(widget, pdf);
    }
    return [bytes = buffer.data(), path](const std::atomic<bool>& isStopped) {
        return isStopped ? std::nullopt : writeBytes(bytes, path);
    };
}

Export numbersExport(ExportNumbers numbers, const QString& path) {
    if (path.endsWith(".csv", Qt::CaseInsensitive))
        return [csv = std::move(numbers.csv), path](const std::atomic<bool>& isStopped) -> std::optional<Failure> {
            if (isStopped) return std::nullopt;
            const QByteArray text = csv().toUtf8();
            return isStopped ? std::nullopt : writeBytes(text, path);
        };
    return [form = std::move(numbers.arrays), path](const std::atomic<bool>& isStopped) -> std::optional<Failure> {
        if (isStopped) return std::nullopt;
        const std::vector<NumberArray> arrays = form ? form() : std::vector<NumberArray>{};
        return isStopped ? std::nullopt : writeArrays(arrays, path);
    };
}

} // namespace attn
