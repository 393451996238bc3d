#pragma once

#include "app/lab/panels/change_form.h"
#include "app/lab/workbench/panel.h"
#include "engine/inference/changes.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QSlider;
class QSpinBox;
class QStackedWidget;
class QTimer;
class QTreeWidget;

namespace attn {

class MatrixView;
class RunCellsView;
struct MatrixCell;

/// The Changes panel: changes values of hooks and patterns of heads during a run, and shows the effect on the next
/// token. Gates of heads are in HeadsPanel.
class ChangesPanel : public Panel {
    Q_OBJECT

public:
    explicit ChangesPanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    ExportNumbers numbers() const override;

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QWidget* makeForm();
    QWidget* makePattern();
    QWidget* makeCells();
    void applyPattern(const std::function<void(PatternEdit&)>& change, const QString& text);
    Intervention::Kind kind() const;
    ChangePlace place() const;
    std::vector<Intervention> described(ChangePlace place, int layer) const; ///< the form's change, at another place
    std::vector<Intervention> described() const;
    std::vector<Intervention> changeOfRow(int row) const; ///< row of cells_: 0 is the embedding, then the layers
    float amount() const;                                 ///< value of the amount slider
    void showHead();
    void showForm();
    void showCells();
    void patch(int row, int from, int to);
    void changeSelected();
    void removeSelected();
    void showPattern();
    void showList();
    void showTokens();
    void showEffect();
    void showWritten();
    void paint(const MatrixCell& cell);

    Workbench& bench_;
    std::shared_ptr<const Snapshot> snapshot_;
    QLabel* title_;
    QPushButton* reset_;
    QComboBox* run_;
    QComboBox *where_, *token_, *kind_;
    QSpinBox *layer_, *head_, *textToken_;
    QLineEdit *text_, *contrast_;
    QLabel *textLabel_, *contrastLabel_, *amountText_;
    QSlider *amount_, *brush_;
    QPushButton *add_, *remove_;
    MatrixView* pattern_;
    QPushButton *uniform_, *pin_, *own_;
    QStackedWidget* right_; ///< the pattern, or the values of both runs
    RunCellsView* cells_;
    QLabel* cellsHint_;
    QTimer* askTokens_;
    std::pair<std::shared_ptr<const ModelInfo>, QString> asked_; ///< model and text whose tokens were requested last
    QTreeWidget *list_, *effect_;
    QPushButton* write_;
    QLabel* written_;
};

} // namespace attn
