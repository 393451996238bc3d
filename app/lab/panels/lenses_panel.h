#pragma once

#include "app/figures/lens_pages.h"
#include "app/lab/widgets/lens_answer_view.h"
#include "app/lab/workbench/panel.h"

class QComboBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;

namespace attn {

class FrontWatch;
class PatchOverlayView;

/// Runs lenses on the current run: predictions by layer, contributions to a logit, circuits of heads, sweeps of
/// changes. The result for each patch lies over the picture.
class LensesPanel : public Panel {
    Q_OBJECT

public:
    explicit LensesPanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    ExportNumbers numbers() const override;
    std::vector<Place> places() override;

private:
    void name(); ///< the widgets, with their help
    void layOut();
    const LensPage& page() const;
    bool hasInput() const; ///< there is something to analyse
    LensQuestion question();
    int choiceOf(const QString& text) const; ///< a token by its text or "#id", or a class; -1: unknown
    void listTargets();                      ///< classes that a logit can be asked of
    void listHooks();                        ///< of the selected head's layer
    void choosePage();
    void ask();              ///< runs the lens
    void askIfQuick();       ///< runs the lens if it is quick, in front, and its result is old
    QString failure() const; ///< of the lens on this input; empty: none
    void forget();           ///< the result, and that it was asked for
    void showIfNew();
    LensSubject subject(bool isOriginal) const; ///< @pre hasInput()
    void showOverlay(const std::optional<MatrixCell>& cell);
    void showState();
    void showTokens();
    void activate(const MatrixCell& cell);

    std::shared_ptr<const Snapshot> snapshot_;
    FrontWatch* front_;
    QComboBox *page_, *position_, *target_, *hook_;
    QString chosenHook_; ///< the title of the value that was chosen; empty: what the layer offers first
    QLineEdit *against_, *text_;
    QPushButton* run_;
    QProgressBar* progress_;
    QLabel* explanation_;
    QFormLayout* form_;
    QLabel* targetTitle_;
    LensAnswerView* view_;
    PatchOverlayView* overlay_;
    std::shared_ptr<const AnalysisResult> shown_, before_; ///< before_: of the original run; null: not compared
    uint64_t asked_ = 0;                                   ///< version of the input that was last analysed
};

} // namespace attn
