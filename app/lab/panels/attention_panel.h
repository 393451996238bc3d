#pragma once

#include "app/lab/panels/text_attention.h"
#include "app/lab/workbench/panel.h"

class QComboBox;
class QLabel;
class QSpinBox;
class QToolButton;

namespace attn {

class FlowStrip;
class SiteBox;

/// Attention at three levels, one click apart: all heads, one head, and one cell as arithmetic. A page for each kind of
/// input draws them.
class AttentionPanel : public Panel {
    Q_OBJECT

public:
    explicit AttentionPanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    /// The views of the pages, each under the key of its kind.
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    QWidget* figure() override { return page().figure(); }
    ExportNumbers numbers() const override;
    QString exportName() const override;
    std::optional<std::pair<int, int>> exportedHead() const override;

    const AttentionLook& look() const { return text_->look(); } ///< of texts
    AttentionLevel level() const { return page().level(); }
    /// The level once the text of a restored view is there.
    AttentionLevel wantedLevel() const { return page().wantedLevel(); }
    void setLevel(AttentionLevel level) { page().setLevel(level); }
    /// Selects the head that lies so many layers and heads further, or the last there is in that direction.
    void move(int layers, int heads);
    void switchLevel();            ///< from one head to all, or from anything else to one head
    void showFlow(bool isShown);   ///< unless the user does not want it
    void showTools(bool areShown); ///< and the flow to the prediction

signals:
    void lookChanged(); ///< the level, or how it is drawn

protected:
    /// While a cell is shown, Esc closes it, before it does anything else.
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    AttentionPage& page() const; ///< of the open model's input
    QWidget* makeBreadcrumbs();
    QWidget* makeTools();
    QToolButton* makeDisplayButton(); ///< opens what is changed less often
    void makeFlow();
    void chooseLevel(AttentionLevel level); ///< as the user wants it
    void listenToEscape(bool isOn);
    void makeLevelAction(AttentionLevel level, QToolButton* button, const char* id, const QKeySequence& keys,
                         const QString& toolTip);
    HeadChoice choice() const; ///< the selected head, or the aggregate that is shown in its place
    void choose(const HeadChoice& choice);
    void showSettings();

    std::shared_ptr<const Snapshot> snapshot_;
    TextAttention* text_;
    QList<AttentionPage*> pages_;
    QToolButton *allButton_, *headButton_, *cellButton_, *flowButton_;
    QWidget *bar_ = nullptr, *tools_ = nullptr; ///< the levels and the tools; the tools, which a teacher can lock
    SiteBox* layer_;
    QSpinBox* head_;
    QComboBox *aggregate_, *colours_;
    FlowStrip* flow_;
};

} // namespace attn
