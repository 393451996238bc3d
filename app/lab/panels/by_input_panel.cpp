#include "app/lab/panels/by_input_panel.h"

#include "app/lab/widgets/widget_makers.h"

#include <QDockWidget>

#include <utility>

namespace attn {

ByInputPanel::ByInputPanel(Workbench& bench, Panel* text, Panel* picture, QString pictureTitle, QWidget* parent)
    : Panel(bench, parent), text_(text), picture_(picture), pictureTitle_(std::move(pictureTitle)) {
    auto* column = layoutOf<QVBoxLayout>(this);
    column->addWidget(text_); // only the visible page needs room
    column->addWidget(picture_);
    picture_->hide();
    // The pages are found by the name of the panel, too.
    connect(this, &QObject::objectNameChanged, this, [this](const QString& name) {
        text_->setObjectName(name);
        picture_->setObjectName(name);
    });
}

void ByInputPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    Panel* const page = snapshot->readsPictures() ? picture_ : text_;
    if (page != shown()) {
        isPicture_ = page == picture_;
        text_->setVisible(!isPicture_);
        picture_->setVisible(isPicture_);
    }
    page->setSnapshot(snapshot); // the other page keeps the last snapshot that it can show
    showTitle();
}

void ByInputPanel::showTitle() {
    if (pictureTitle_.isEmpty()) return;
    for (QWidget* up = parentWidget(); up; up = up->parentWidget())
        if (auto* dock = qobject_cast<QDockWidget*>(up)) {
            if (textTitle_.isEmpty()) textTitle_ = dock->windowTitle();
            const QString now = text_->titleNow();
            const QString title = isPicture_ ? pictureTitle_ : now.isEmpty() ? textTitle_ : now;
            if (dock->windowTitle() != title) dock->setWindowTitle(title);
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

NothingForPictures::NothingForPictures(Workbench& bench, QWidget* parent) : Panel(bench, parent) {
    makeColumn(this, spacing::kGap,
               {makeHintLabel("nothingForPictures",
                              tr("The open model reads pictures. This panel is for models that read text.")),
                room()});
}

} // namespace attn
