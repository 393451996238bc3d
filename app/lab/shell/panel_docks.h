#pragma once

#include "app/lab/workbench/panel.h"

#include <QDockWidget>
#include <QStringList>

#include <map>
#include <stdexcept>

class QMainWindow;

namespace attn {

/// The panels of the window, each in a dock of its own. It deletes the docks.
class PanelDocks : public QObject {
    Q_OBJECT

public:
    PanelDocks(QMainWindow& window, Workbench& bench);
    ~PanelDocks() override;

    // By the id of the panel.
    Panel& panel(const QString& id) const { return *panels_.at(id); }
    QDockWidget& dock(const QString& id) const { return *docks_.at(id); }
    QString title(const Panel& panel) const { return dock(panel.objectName()).windowTitle(); }
    const std::map<QString, Panel*>& panels() const { return panels_; }
    const std::map<QString, QDockWidget*>& docks() const { return docks_; }
    /// The view of a panel, as session files keep it.
    QJsonObject view(const QString& id) const { return panel(id).saveView(); }
    void setView(const QString& id, const QJsonObject& view) const { panel(id).restoreView(view); }

    /// The first panel of a type.
    template <class Type> Type& the() const {
        for (const auto& [id, dock] : docks_)
            if (auto* found = dock->template findChild<Type*>()) return *found;
        throw std::logic_error("the window has no such panel");
    }
    /// The panel that had the keyboard, or whose tab was clicked last; null: none, or it is out of sight.
    Panel* lastUsed() const;
    /// Those that show nothing of some models.
    const QStringList& choosy() const { return choosy_; }
    /// Those that show nothing of the open model.
    QStringList useless(const Snapshot& snapshot) const;

private:
    std::map<QString, Panel*> panels_;
    std::map<QString, QDockWidget*> docks_;
    QStringList choosy_;
    Panel* used_ = nullptr;
};

} // namespace attn
