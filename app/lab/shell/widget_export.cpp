#include "app/lab/shell/widget_export.h"

#include "app/figures/captioned_figure.h"
#include "app/figures/export_figure.h"
#include "app/figures/web_page.h"
#include "app/lab/widgets/figure_view.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/core/attempt.h"
#include "engine/io/tensor_writer.h"

#include <QBuffer>
#include <QFileInfo>
#include <QPainter>
#include <QPdfWriter>
#include <QSvgGenerator>
#include <QWidget>

#include <list>
#include <span>
#include <utility>

namespace attn {
namespace {

constexpr qreal kPixelRatio = 2;
constexpr int kScreenDpi = 96; // widgets are laid out in pixels of 1/96 inch

void draw(QWidget& widget, QPaintDevice& device) {
    QPainter painter(&device);
    painter.fillRect(widget.rect(), widget.palette().window());
    widget.render(&painter, QPoint(), QRegion(), QWidget::DrawChildren | QWidget::DrawWindowBackground);
}

std::optional<Failure> writeArrays(const std::vector<NumberArray>& arrays, const Provenance& from,
                                   const QString& path) {
    std::vector<WrittenTensor> tensors;
    for (const NumberArray& array : arrays)
        tensors.push_back({.name = array.name, .shape = array.shape, .values = array.values});
    for (const auto& [name, place] : {std::pair("layer", &from.layer), std::pair("head", &from.head)})
        if (*place) tensors.push_back({.name = name, .shape = {}, .integers = std::span(&**place, 1)});
    std::list<std::vector<std::u32string>> texts; // stay where they are until they are written
    const auto write = [&](const std::string& name, const std::vector<QString>& values, bool isList) {
        if (isList && values.empty()) return;
        std::vector<std::u32string>& all = texts.emplace_back();
        for (const QString& value : values) all.push_back(value.toStdU32String());
        tensors.push_back(
            {.name = name, .shape = isList ? std::vector{std::ssize(all)} : std::vector<int64_t>{}, .texts = all});
    };
    if (!from.site.isEmpty()) write("site", {from.site}, false);
    write("program", {from.program}, false);
    write("device", {from.device}, false);
    const auto writeRun = [&](const std::string& prefix, const RunOrigin& run) {
        write(prefix + "tokens", run.tokens, true);
        write(prefix + "source_tokens", run.source, true);
        write(prefix + "model", {run.model}, false);
        write(prefix + "model_path", {run.modelPath}, false);
        write(prefix + "run", {run.run}, false);
        write(prefix + "changes", {run.changes}, false);
    };
    writeRun("", from.run);
    if (from.second) writeRun("second_", *from.second);
    return attempt(path.toStdString(), [&] { writeNpz(path.toStdString(), tensors); });
}

} // namespace

QImage pictureOf(QWidget& widget) {
    QImage image(widget.size() * kPixelRatio, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(kPixelRatio);
    draw(widget, image);
    return image;
}

Export pictureExport(QWidget& widget, const QString& path, const ExportSheet& sheet) {
    const QString suffix = QFileInfo(path).suffix().toLower();
    const auto* view = dynamic_cast<FigureWidget*>(&widget);
    if (const auto drawn = view ? view->drawn() : nullptr) {
        auto figure = std::make_shared<CaptionedFigure>();
        figure->figure = drawn;
        figure->caption = sheet.caption;
        const QSize page = sheet.page.value_or(figure->pageSize(widget.size(), view->theme()).toSize());
        const QString format = suffix == "svg" || suffix == "pdf" ? suffix : QStringLiteral("png");
        return [figure, theme = view->theme(), page, format, path](const std::atomic<bool>& isStopped) {
            if (isStopped) return std::optional<Failure>();
            return format == "png" ? writePng(imageOf(*figure, theme, page), path)
                                   : exportFigure(*figure, theme, page, path);
        };
    }
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
        svg.setResolution(kScreenDpi);
        svg.setTitle(widget.accessibleName());
        draw(widget, svg);
    } else {
        QPdfWriter pdf(&buffer);
        pdf.setResolution(kScreenDpi);
        pdf.setPageMargins(QMarginsF());
        pdf.setPageSize(QPageSize(QSizeF(widget.size()) * 72 / kScreenDpi, QPageSize::Point));
        draw(widget, pdf);
    }
    return [bytes = suffix == "svg" ? wellFormed(buffer.data()) : buffer.data(),
            path](const std::atomic<bool>& isStopped) { return isStopped ? std::nullopt : writeBytes(bytes, path); };
}

Export webPageExport(const QWidget& widget, const QString& title, const Provenance& from, const QString& path) {
    const auto* view = dynamic_cast<const FigureWidget*>(&widget);
    const auto figure = view ? view->drawn() : nullptr;
    if (!figure) return nullptr;
    std::vector<std::pair<QString, QString>> about{{QObject::tr("Model"), from.run.model},
                                                   {QObject::tr("Opened from"), from.run.modelPath}};
    if (!from.run.source.empty())
        about.emplace_back(QObject::tr("Source"),
                           QStringList(from.run.source.begin(), from.run.source.end()).join(QString()));
    if (!from.run.tokens.empty())
        about.emplace_back(QObject::tr("Text"),
                           QStringList(from.run.tokens.begin(), from.run.tokens.end()).join(QString()));
    about.insert(about.end(), {{QObject::tr("Run"), from.run.run},
                               {QObject::tr("Changes"), from.run.changes},
                               {QObject::tr("Device"), from.device},
                               {QObject::tr("Made with"), from.program}});
    std::erase_if(about, [](const auto& row) { return row.second.isEmpty(); });
    const QSize page = figure->pageSize(widget.size(), view->theme()).toSize();
    return [figure, title, about, page, path](const std::atomic<bool>& isStopped) -> std::optional<Failure> {
        if (isStopped) return std::nullopt;
        const QByteArray html = webPage(*figure, title, about, page);
        return isStopped ? std::nullopt : writeBytes(html, path);
    };
}

QString fileNameOf(const QStringList& parts, const QString& suffix) {
    QString name = parts.join('-').simplified();
    for (QChar& c : name)
        if (!c.isLetterOrNumber() && !QStringLiteral("-_.+").contains(c)) c = '-';
    while (name.startsWith('.') || name.startsWith('-')) name.remove(0, 1);
    return (name.isEmpty() ? QStringLiteral("figure") : name) + '.' + suffix;
}

Export numbersExport(ExportNumbers numbers, Provenance from, const QString& path) {
    if (path.endsWith(".csv", Qt::CaseInsensitive))
        return [csv = std::move(numbers.csv), path](const std::atomic<bool>& isStopped) -> std::optional<Failure> {
            if (isStopped) return std::nullopt;
            const QByteArray text = csv().toUtf8();
            return isStopped ? std::nullopt : writeBytes(text, path);
        };
    return [form = std::move(numbers.arrays), from = std::move(from),
            path](const std::atomic<bool>& isStopped) -> std::optional<Failure> {
        if (isStopped) return std::nullopt;
        const std::vector<NumberArray> arrays = form ? form() : std::vector<NumberArray>{};
        return isStopped ? std::nullopt : writeArrays(arrays, from, path);
    };
}

void choosePath(QWidget& parent, const QString& title, const QString& filter, const QString& suffix,
                std::function<void(const QString&)> chosen, const QString& suggested) {
    auto* dialog = makeFileDialog(&parent, title, QFileDialog::AnyFile);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setNameFilter(filter);
    dialog->setDefaultSuffix(suffix);
    if (!suggested.isEmpty()) dialog->selectFile(suggested);
    QObject::connect(dialog, &QFileDialog::fileSelected, &parent, std::move(chosen));
    dialog->open();
}

} // namespace attn
