#include "app/lab/shell/workspace_rail.h"

#include "app/lab/common/icons.h"
#include "app/lab/widgets/widget_makers.h"

#include <QApplication>
#include <QButtonGroup>
#include <QToolButton>

namespace attn {

WorkspaceRail::WorkspaceRail(QWidget* parent) : QToolBar(tr("Workspaces"), parent) {
    setObjectName("workspaces");
    setMovable(false);
    setContextMenuPolicy(Qt::PreventContextMenu);
    toggleViewAction()->setVisible(false); // its own menu would hide it for good
    setOrientation(Qt::Vertical);
    auto* group = new QButtonGroup(this);
    for (const Workspace& workspace : workspaces()) {
        auto* button = named(new QToolButton, QStringLiteral("workspace.") + workspace.id, workspaceTitle(workspace),
                             workspaceToolTip(workspace));
        button->setText(workspaceTitle(workspace));
        button->setIcon(themedIcon(workspace.id));
        button->setToolButtonStyle(Qt::ToolButtonTextUnderIcon);
        button->setCheckable(true);
        button->setAutoRaise(true);
        button->setFocusPolicy(Qt::TabFocus);
        button->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
        group->addButton(button);
        addWidget(button);
        buttons_[workspace.id] = button;
        connect(button, &QToolButton::clicked, this, [this, &workspace] { emit chosen(workspace); });
    }
}

void WorkspaceRail::setCurrent(const Workspace& workspace) { buttons_.at(workspace.id)->setChecked(true); }

void WorkspaceRail::followTextSize() {
    const int size = QFontMetrics(QApplication::font()).height() * 3 / 2;
    setIconSize({size, size});
    for (const auto& [id, button] : buttons_) button->setIconSize(iconSize());
}

} // namespace attn
