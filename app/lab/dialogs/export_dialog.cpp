#include "app/lab/dialogs/export_dialog.h"

#include "app/figures/captioned_figure.h"
#include "app/lab/common/fit_screen.h"
#include "app/lab/widgets/ranged_box.h"
#include "app/lab/widgets/widget_makers.h"

#include <QComboBox>
#include <QCoreApplication>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QPainter>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSpinBox>

#include <algorithm>

namespace attn {
namespace {

struct Format {
    const char* suffix;
    const char* title;
    const char* explanation;
};

constexpr Format kFormats[] = {
    {"png", QT_TRANSLATE_NOOP("attn::ExportDialog", "Picture (PNG)"),
     QT_TRANSLATE_NOOP("attn::ExportDialog", "Pixels, for slides and chats.")},
    {"svg", QT_TRANSLATE_NOOP("attn::ExportDialog", "Drawing (SVG)"),
     QT_TRANSLATE_NOOP("attn::ExportDialog",
                       "Lines and letters that stay sharp at any size, for web pages and editors.")},
    {"pdf", QT_TRANSLATE_NOOP("attn::ExportDialog", "Page (PDF)"),
     QT_TRANSLATE_NOOP("attn::ExportDialog", "A page to print or to put into a paper.")},
    {"html", QT_TRANSLATE_NOOP("attn::ExportDialog", "Web page (HTML)"),
     QT_TRANSLATE_NOOP("attn::ExportDialog",
                       "One file for a browser, without a network. The pointer reads the cells of "
                       "attention; the page of all heads opens each of them.")},
    {"csv", QT_TRANSLATE_NOOP("attn::ExportDialog", "Table of numbers (CSV)"),
     QT_TRANSLATE_NOOP("attn::ExportDialog", "The numbers of the figure, for a spreadsheet.")},
    {"npz", QT_TRANSLATE_NOOP("attn::ExportDialog", "Arrays of numbers (NumPy)"),
     QT_TRANSLATE_NOOP("attn::ExportDialog",
                       "The numbers of the figure with the model, the text and the changes, for Python.")},
};

constexpr QSize kPreview(420, 280);
constexpr int kLeast = 200, kMost = 8000; ///< pixels of a side of one's own

/// Pages at 96 pixels to an inch.
struct PageSize {
    const char* title;
    QSize size;
};
constexpr PageSize kPageSizes[] = {
    {QT_TRANSLATE_NOOP("attn::ExportDialog", "Slide, 16 : 9"), {960, 540}},
    {QT_TRANSLATE_NOOP("attn::ExportDialog", "A4, landscape"), {1123, 794}},
    {QT_TRANSLATE_NOOP("attn::ExportDialog", "A4, portrait"), {794, 1123}},
    {QT_TRANSLATE_NOOP("attn::ExportDialog", "Letter, landscape"), {1056, 816}},
};

} // namespace

ExportDialog::ExportDialog(std::shared_ptr<const Figure> figure, const FigureTheme& theme, const QSize& onScreen,
                           const QStringList& formats, const QString& title, const QString& caption, QWidget* parent)
    : QDialog(parent), figure_(std::move(figure)), theme_(theme), onScreen_(onScreen), format_(new QComboBox),
      size_(new QComboBox), width_(new WholeBox), height_(new WholeBox), caption_(new QPlainTextEdit(caption)),
      preview_(plainLabel()), explanation_(makeHintLabel("exportExplanation")) {
    setObjectName("exportDialog");
    setWindowTitle(tr("Export %1").arg(title));
    named(format_, "exportFormat", tr("Format"), tr("The kind of file to save"));
    for (const Format& format : kFormats)
        if (formats.contains(QLatin1String(format.suffix))) format_->addItem(tr(format.title), QString(format.suffix));
    named(size_, "exportSize", tr("Size of the page"), tr("The size of the page. A picture has twice as many pixels."));
    named(width_, "exportWidth", tr("Width of the page in pixels"));
    named(height_, "exportHeight", tr("Height of the page in pixels"));
    for (QSpinBox* side : {width_, height_}) side->setRange(kLeast, kMost);
    addSizes();
    named(caption_, "exportCaption", tr("Caption"), tr("A text below the figure. Leave it empty for none."));
    caption_->setTabChangesFocus(true);
    caption_->setFixedHeight(3 * caption_->fontMetrics().lineSpacing() + spacing::kWide);
    spoken(preview_, "exportPreview", tr("Preview of the page"));
    explanation_->setAlignment(Qt::AlignTop);
    explanation_->setMinimumHeight(3 * explanation_->fontMetrics().lineSpacing()); // of the longest one
    preview_->setAlignment(Qt::AlignCenter);
    preview_->setWordWrap(true);
    preview_->setFixedSize(kPreview);

    auto* form = new QFormLayout;
    form->setContentsMargins(0, 0, 0, 0);
    form->addRow(tr("&Format"), format_);
    form->addRow(tr("&Size"), makeRow({{size_, 1}, width_, plainLabel(QStringLiteral("×")), height_}));
    static_cast<QLabel*>(form->itemAt(1, QFormLayout::LabelRole)->widget())->setBuddy(size_);
    form->addRow(tr("&Caption"), caption_);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Save | QDialogButtonBox::Cancel, this);
    buttons->button(QDialogButtonBox::Save)->setText(tr("Choose a file"));
    buttons->button(QDialogButtonBox::Save)->setObjectName("exportAccept");
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    makeColumn(this, spacing::kWide, {form, explanation_, preview_, room(), buttons});
    connect(format_, &QComboBox::currentIndexChanged, this, &ExportDialog::showPreview);
    connect(size_, &QComboBox::currentIndexChanged, this, &ExportDialog::showSize);
    for (QSpinBox* side : {width_, height_})
        connect(side, &QSpinBox::valueChanged, this, [this] {
            const QSignalBlocker quiet(size_);
            const int known = size_->findData(QSize(width_->value(), height_->value()));
            size_->setCurrentIndex(known >= 0 ? known : size_->count() - 1);
            showPreview();
        });
    connect(caption_, &QPlainTextEdit::textChanged, this, &ExportDialog::showPreview);
    showSize();
    fitScreen(*this);
}

void ExportDialog::addSizes() {
    const auto add = [this](const QString& title, const QSize& page) {
        size_->addItem(tr("%1 (%2 × %3)").arg(title, QString::number(page.width()), QString::number(page.height())),
                       page);
    };
    // A figure knows the page on which all of its labels have room.
    add(tr("As on screen"), figure_ ? figure_->pageSize(onScreen_, theme_).toSize() : onScreen_);
    if (figure_)
        for (const PageSize& page : kPageSizes) add(tr(page.title), page.size);
    if (figure_) size_->addItem(tr("Own size"), QSize());
}

void ExportDialog::showSize() {
    const QSize page = size_->currentData().toSize();
    if (page.isValid() && !page.isEmpty()) {
        const QSignalBlocker quiet[] = {QSignalBlocker(width_), QSignalBlocker(height_)};
        width_->setValue(page.width());
        height_->setValue(page.height());
    }
    showPreview();
}

QString ExportDialog::suffix() const { return format_->currentData().toString(); }

bool ExportDialog::drawsPage() const { return suffix() != "csv" && suffix() != "npz"; }

ExportSheet ExportDialog::sheet() const {
    ExportSheet sheet{.caption = caption_->toPlainText().trimmed()};
    if (size_->currentIndex() > 0) sheet.page = QSize(width_->value(), height_->value());
    return sheet;
}

void ExportDialog::showPreview() {
    const auto* format = std::ranges::find(kFormats, suffix(), [](const Format& each) { return QString(each.suffix); });
    explanation_->setText(format == std::end(kFormats) ? QString() : tr(format->explanation));
    const bool hasPage = drawsPage() && suffix() != "html"; // a browser gives a page its size
    for (QWidget* control : std::initializer_list<QWidget*>{size_, width_, height_})
        control->setEnabled(hasPage && figure_ != nullptr);
    caption_->setEnabled(drawsPage() && figure_ != nullptr);
    if (!hasPage || !figure_) {
        preview_->setPixmap({});
        preview_->setText(!drawsPage() ? tr("The file holds numbers, and no picture.")
                          : !hasPage   ? tr("A browser lays the page out. The caption becomes its title.")
                                       : tr("The panel is saved as it is on screen."));
        return;
    }
    CaptionedFigure page;
    page.figure = figure_;
    page.caption = sheet().caption;
    const QSize size = sheet().page.value_or(page.pageSize(onScreen_, theme_).toSize());
    const double fit = std::min({1.0, static_cast<double>(kPreview.width()) / size.width(),
                                 static_cast<double>(kPreview.height()) / size.height()}),
                 scale = fit * devicePixelRatioF();
    QImage image((QSizeF(size) * scale).toSize().expandedTo({1, 1}), QImage::Format_ARGB32_Premultiplied);
    image.fill(theme_.background);
    {
        QPainter painter(&image);
        painter.scale(scale, scale);
        page.paint(painter, QRectF({}, QSizeF(size)), theme_);
    }
    image.setDevicePixelRatio(devicePixelRatioF());
    preview_->setPixmap(QPixmap::fromImage(image));
}

} // namespace attn
