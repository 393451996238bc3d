#pragma once

#include "app/lab/panels/lens_pages.h"
#include "app/lab/panels/panel_context.h"

class QComboBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QPushButton;

namespace attn {

class FrontWatch;

/// Lenses on the present run: what layers say, what made a logit, what heads read and write, and sweeps of changes.
class LensesPanel : public Panel {
    Q_OBJECT

public:
    explicit LensesPanel(PanelContext& context, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;

private:
    const LensPage& page() const;
    LensQuestion question();
    int tokenOf(const QString& text) const; ///< -1: none such
    void choosePage();
    void ask();        ///< whether or not it is quick
    void askIfQuick(); ///< when something it depends on has changed
    void showIfNew();
    void showAnswer(LensAnswer answer);
    void showWaiting();
    void showTokens();

    PanelContext& context_;
    std::shared_ptr<const Snapshot> snapshot_;
    FrontWatch* front_;
    QComboBox *page_, *position_;
    QLineEdit *target_, *against_, *text_;
    QPushButton* run_;
    QLabel* explanation_;
    QFormLayout* form_;
    LensAnswerView* view_;
    int layer_ = 0, head_ = 0;
    std::shared_ptr<const AnalysisResult> shown_, before_; ///< before_: what it is held against, null: nothing
    uint64_t asked_ = 0;                                   ///< sequence that was asked about by itself
};

} // namespace attn
