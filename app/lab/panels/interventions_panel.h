#pragma once

#include "app/lab/panels/change_form.h"
#include "app/lab/panels/panel_context.h"
#include "engine/session/edits.h"

#include <optional>

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
struct Cell;

/// Changes what flows through the model while it runs - values of hooks, patterns by hand - and shows what that does to
/// the next token. A gate of a head is in Heads.
class InterventionsPanel : public Panel {
    Q_OBJECT

public:
    explicit InterventionsPanel(PanelContext& context, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    QString csv() const override;

    /// Everything back to the model as it was loaded: edits and gates.
    void reset();
    /// Puts one more change after the others.
    void add(const std::vector<Intervention>& change);
    /// Before: lets the model run without its changes, which are kept, so that every view shows it as it was. After and
    /// Difference: with them again; of the difference both runs are worked out.
    void show(ShownRun run);
    /// Shows what is changed again where it is not: before another change.
    /// @return the gates that are in force again, [layers, heads]; empty if nothing was held
    std::vector<float> bringBack();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QWidget* makeForm();
    QWidget* makePattern();
    QWidget* makeCells();
    struct Held {
        Edits edits;
        std::vector<float> gates; ///< [layers, heads]
    };
    const Edits& edits() const;       ///< those that are held, while some are
    std::vector<float> gates() const; ///< likewise
    void postGates(const std::vector<float>& gates) const;
    void setHeld(bool isHeld);
    void dropHeld();
    void announce(ShownRun run); ///< what is shown by now
    void apply(Edits after, const QString& text, const QString& what);
    void applyPattern(const std::function<void(PatternEdit&)>& change, const QString& text);
    Intervention::Kind kind() const;
    ChangePlace place() const;
    std::vector<Intervention> described(ChangePlace place, int layer) const; ///< by the form, but for the place
    std::vector<Intervention> described() const;
    std::vector<Intervention> changeOfRow(int row) const; ///< of the cells: the embedding, then the layers
    float amount() const;                                 ///< that the slider shows
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
    void paint(const Cell& cell);

    PanelContext& context_;
    std::shared_ptr<const Snapshot> snapshot_;
    QLabel* title_;
    QPushButton* reset_;
    QComboBox* run_;
    std::optional<Held> held_;
    QComboBox *where_, *token_, *kind_;
    QSpinBox *layer_, *head_, *textToken_;
    QLineEdit *text_, *contrast_;
    QLabel *textLabel_, *contrastLabel_, *amountText_;
    QSlider *amount_, *brush_;
    QPushButton *add_, *remove_;
    MatrixView* pattern_;
    QPushButton *uniform_, *pin_, *own_;
    QStackedWidget* right_; ///< the pattern, or the cells
    RunCellsView* cells_;
    QLabel* cellsHint_;
    QTimer* askTokens_;
    std::pair<std::shared_ptr<const ModelInfo>, QString> asked_; ///< whose tokens were asked for
    QTreeWidget *list_, *effect_;
    QPushButton* write_;
    QLabel* written_;
};

} // namespace attn
