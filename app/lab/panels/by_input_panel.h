#pragma once

#include "app/lab/workbench/input_kind.h"
#include "app/lab/workbench/panel.h"

#include <QString>

#include <map>

namespace attn {

/// A panel with a page for each kind of input that it serves. It shows the page of the open model, or says that it has
/// none for it.
class ByInputPanel : public Panel {
    Q_OBJECT

public:
    using Pages = std::map<AxisKind, Panel*>;
    /// @param pages become children
    ByInputPanel(Workbench& bench, Pages pages, QWidget* parent);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    /// The views of the pages, each under the key of its kind.
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    QWidget* figure() override { return shown_->figure(); }
    ExportNumbers numbers() const override { return shown_->numbers(); }

private:
    Panel* pageOf(AxisKind axis) const;
    void showTitle();

    Pages pages_;
    Panel *none_, *shown_; ///< none_: the page for other kinds of input
    QString title_;        ///< of the dock, as the catalogue calls it
};

} // namespace attn
