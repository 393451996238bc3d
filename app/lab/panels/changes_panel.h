#pragma once

#include "app/lab/controls/change_form.h"
#include "app/lab/workbench/panel.h"
#include "engine/inference/changes.h"

class QComboBox;
class QFormLayout;
class QLabel;
class QPushButton;
class QSlider;
class QSpinBox;
class QStackedWidget;
class QTimer;
class QTreeWidget;

namespace attn {

class PatternEditor;
class RunCellsView;
class SiteBox;

/// The Changes panel: changes values of hooks, gates and patterns of heads during a run, lists the changes, and shows
/// their effect on the next token or on the class.
class ChangesPanel : public Panel {
    Q_OBJECT

public:
    explicit ChangesPanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    ExportNumbers numbers() const override; ///< the effect, and the gates

private:
    QLayout* makeHead();
    QWidget* makeForm();
    QLayout* makeList();
    QLayout* makeContinuations();
    QWidget* makeCells();
    ValueChange::Kind kind() const;
    ChangePlace place() const;
    std::vector<ValueChange> described(ChangePlace place, int layer) const; ///< the form's change, at another place
    std::vector<ValueChange> changeOfRow(int row) const; ///< row of cells_: 0 is the embedding, then the layers
    float amount() const;                                ///< value of the amount slider
    void addDescribed();
    void changeSelected();
    void removeSelected();
    void patch(int row, int from, int to);
    void showModel();
    void showHead();
    void showForm();
    void showSource();
    void showRow();
    void showCells();
    void showList();
    void showEffect();
    void showContinuations();

    std::shared_ptr<const Snapshot> snapshot_;
    QLabel* title_;
    QPushButton* reset_;
    QComboBox *run_, *where_, *token_, *kind_;
    SiteBox* layer_;
    QSpinBox* head_;
    ChangeSource* source_;
    QLabel* amountText_;
    QSlider* amount_;
    QPushButton *add_, *remove_;
    QTreeWidget *list_, *effect_;
    int adjustable_ = 0; ///< rows at the start of the list whose amount the slider sets
    QPushButton* write_;
    QLabel* written_;
    QStackedWidget* right_; ///< the pattern, or the values of both runs
    PatternEditor* pattern_;
    RunCellsView* cells_;
    QLabel* cellsHint_;
    QTimer* askTokens_;
    std::pair<std::shared_ptr<const ModelInfo>, QString> asked_; ///< model and text whose tokens were requested last
    std::optional<int> selectedRow_;                             ///< Selection::row that the form followed last
};

} // namespace attn
