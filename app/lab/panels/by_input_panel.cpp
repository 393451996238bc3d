#include "app/lab/panels/by_input_panel.h"

#include "app/lab/widgets/widget_makers.h"

#include <QDockWidget>

#include <utility>

namespace attn {

ByInputPanel::ByInputPanel(Workbench& bench, Pages pages, QWidget* parent)
    : Panel(bench, parent), pages_(std::move(pages)), none_(new Panel(bench)), shown_(pageOf(AxisKind::Tokens)) {
    makeColumn(none_, spacing::kGap,
               {makeHintLabel("nothingForPictures",
                              tr("The open model reads pictures. This panel is for models that read text.")),
                room()});
    auto* column = layoutOf<QVBoxLayout>(this);
    const auto add = [this, column](Panel* page) {
        column->addWidget(page);
        page->setVisible(page == shown_); // only the visible page needs room
        // The pages are found by the name of the panel, too.
        connect(this, &QObject::objectNameChanged, page, [page](const QString& name) { page->setObjectName(name); });
    };
    for (const auto& [axis, page] : pages_) add(page);
    add(none_);
}

Panel* ByInputPanel::pageOf(AxisKind axis) const {
    const auto found = pages_.find(axis);
    return found == pages_.end() ? none_ : found->second;
}

void ByInputPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    Panel* const page = pageOf(inputKind(*snapshot).axis());
    if (Panel* const before = std::exchange(shown_, page); before != page) {
        before->hide();
        page->show();
    }
    page->setSnapshot(snapshot); // the other pages keep the last snapshot that they can show
    showTitle();
}

void ByInputPanel::showTitle() {
    for (QWidget* up = parentWidget(); up; up = up->parentWidget())
        if (auto* dock = qobject_cast<QDockWidget*>(up)) {
            if (title_.isEmpty()) title_ = dock->windowTitle();
            const QString now = shown_->titleNow(), title = now.isEmpty() ? title_ : now;
            if (dock->windowTitle() != title) dock->setWindowTitle(title);
            return;
        }
}

QJsonObject ByInputPanel::saveView() const {
    QJsonObject view;
    for (const auto& [axis, page] : pages_) inputKind(axis).keepView(view, page->saveView());
    return view;
}

void ByInputPanel::restoreView(const QJsonObject& view) {
    for (const auto& [axis, page] : pages_) page->restoreView(inputKind(axis).viewIn(view));
}

} // namespace attn
