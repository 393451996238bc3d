#pragma once

#include "app/lab/shell/workspaces.h"

#include <QToolBar>

#include <map>

class QToolButton;

namespace attn {

/// The buttons of the workspaces, at the left edge of the window.
class WorkspaceRail : public QToolBar {
    Q_OBJECT

public:
    explicit WorkspaceRail(QWidget* parent = nullptr);

    void setCurrent(const Workspace& workspace);
    void followTextSize();

signals:
    void chosen(const attn::Workspace& workspace);

private:
    std::map<QString, QToolButton*> buttons_;
};

} // namespace attn
