#include "app/lab/panels/by_input_panel.h"

#include "app/lab/widgets/hint_label.h"

#include <QDockWidget>
#include <QStackedWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace attn {
namespace {

/// Pages of which only the visible one needs room.
class Pages : public QStackedWidget {
public:
    using QStackedWidget::QStackedWidget;
    QSize sizeHint() const override { return currentWidget()->sizeHint(); }
    QSize minimumSizeHint() const override { return currentWidget()->minimumSizeHint(); }
    bool hasHeightForWidth() const override { return currentWidget()->hasHeightForWidth(); }
    int heightForWidth(int width) const override { return currentWidget()->heightForWidth(width); }
};

} // namespace

ByInputPanel::ByInputPanel(Panel* text, Panel* picture, QString pictureTitle, QWidget* parent)
    : Panel(parent), pages_(new Pages(this)), text_(text), picture_(picture), pictureTitle_(std::move(pictureTitle)) {
    pages_->addWidget(text_);
    pages_->addWidget(picture_);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(pages_);
    // The pages are found by the name of the panel, too.
    connect(this, &QObject::objectNameChanged, this, [this](const QString& name) {
        text_->setObjectName(name);
        picture_->setObjectName(name);
    });
}

Panel* ByInputPanel::shown() const { return pages_->currentWidget() == picture_ ? picture_ : text_; }

void ByInputPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    Panel* const page = snapshot->readsPictures() ? picture_ : text_;
    if (page != shown()) {
        pages_->setCurrentWidget(page);
        pages_->updateGeometry();
        showTitle();
    }
    page->setSnapshot(snapshot); // the other page keeps the last snapshot that it can show
}

void ByInputPanel::showTitle() {
    if (pictureTitle_.isEmpty()) return;
    for (QWidget* up = parentWidget(); up; up = up->parentWidget())
        if (auto* dock = qobject_cast<QDockWidget*>(up)) {
            if (textTitle_.isEmpty()) textTitle_ = dock->windowTitle();
            dock->setWindowTitle(shown() == picture_ ? pictureTitle_ : textTitle_);
            return;
        }
}

QJsonObject ByInputPanel::saveView() const {
    QJsonObject view = text_->saveView();
    if (const QJsonObject picture = picture_->saveView(); !picture.isEmpty()) view["picture"] = picture;
    return view;
}

void ByInputPanel::restoreView(const QJsonObject& view) {
    text_->restoreView(view);
    picture_->restoreView(view["picture"].toObject());
}

NothingForPictures::NothingForPictures(Workbench&, QWidget* parent) : Panel(parent) {
    auto* hint = makeHintLabel("nothingForPictures");
    hint->setText(tr("The open model reads pictures. This panel is for models that read text."));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
    column->addWidget(hint);
    column->addStretch(1);
}

} // namespace attn
