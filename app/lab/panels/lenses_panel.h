#pragma once

#include "app/figures/lens_pages.h"
#include "app/lab/widgets/lens_answer_view.h"
#include "app/lab/workbench/panel.h"

class QComboBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QPushButton;

namespace attn {

class FrontWatch;

/// Runs lenses on the current run: predictions by layer, contributions to a logit, circuits of heads, sweeps of
/// changes.
class LensesPanel : public Panel {
    Q_OBJECT

public:
    explicit LensesPanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    ExportNumbers numbers() const override;

private:
    const LensPage& page() const;
    LensQuestion question();
    int tokenOf(const QString& text) const; ///< id of a token text or "#id"; -1: unknown
    void choosePage();
    void ask();        ///< runs the lens
    void askIfQuick(); ///< runs the lens if it is quick, in front, and its result is old
    void showIfNew();
    void showAnswer(LensAnswer answer);
    void showWaiting();
    void showTokens();

    Workbench& bench_;
    std::shared_ptr<const Snapshot> snapshot_;
    FrontWatch* front_;
    QComboBox *page_, *position_;
    QLineEdit *target_, *against_, *text_;
    QPushButton* run_;
    QLabel* explanation_;
    QFormLayout* form_;
    LensAnswerView* view_;
    std::shared_ptr<const AnalysisResult> shown_, before_; ///< before_: of the original run; null: not compared
    uint64_t asked_ = 0;                                   ///< sequence version that was last analysed
};

} // namespace attn
