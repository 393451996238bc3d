#pragma once

#include "app/lab/workbench/panel.h"
#include "app/lab/workbench/workbench.h"

#include <QString>

namespace attn {

/// A panel with one page for models of text and one for vision models. It shows the page of the open model.
class ByInputPanel : public Panel {
    Q_OBJECT

public:
    /// @param text, picture become children
    /// @param pictureTitle title of the dock while the picture's page is shown; empty: that of the text
    ByInputPanel(Workbench& bench, Panel* text, Panel* picture, QString pictureTitle, QWidget* parent);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    /// The view of the text's page, with that of the picture's under "picture".
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    QWidget* figure() override { return shown()->figure(); }
    ExportNumbers numbers() const override { return shown()->numbers(); }

private:
    Panel* shown() const { return isPicture_ ? picture_ : text_; }
    void showTitle();

    Panel *text_, *picture_;
    QString pictureTitle_, textTitle_;
    bool isPicture_ = false;
};

/// A page that says that its panel shows nothing of pictures.
class NothingForPictures : public Panel {
    Q_OBJECT

public:
    explicit NothingForPictures(Workbench& bench, QWidget* parent = nullptr);
};

} // namespace attn
