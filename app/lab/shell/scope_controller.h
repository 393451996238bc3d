#pragma once

#include "app/lab/shell/scope_link.h"

#include <QObject>

namespace attn {

class Notices;

/// Opens attention-scope, and keeps the scopes that it has opened at what the window shows.
class ScopeController : public QObject {
    Q_OBJECT

public:
    /// @param device as the user named it  @param starter empty: starts the program in this one's folder
    ScopeController(Workbench& bench, Notices& notices, QString device, ScopeStarter starter);

    void open();
    void show();

private:
    Workbench& bench_;
    Notices& notices_;
    QString device_;
    ScopeStarter starter_;
    ScopeMirror mirror_;
};

} // namespace attn
