#pragma once

#include "app/figures/lens_pages.h"
#include "app/lab/widgets/lens_answer_view.h"
#include "app/lab/workbench/panel.h"
#include "app/lab/workbench/workbench.h"

#include <QWidget>

class QComboBox;
class QLabel;
class QProgressBar;
class QPushButton;

namespace attn {

class HeadTable;
class PatchOverlayView;

/// Runs lenses on a vision model and its picture, and shows their results.
class VisionLenses : public Panel {
    Q_OBJECT

public:
    explicit VisionLenses(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    ExportNumbers numbers() const override;
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;

protected:
    void showEvent(QShowEvent* event) override;

private:
    const LensPage& page() const;
    LensQuestion question() const;
    void choosePage();
    void ask();
    void askIfQuick();
    void listClasses();
    LensSubject subject() const; ///< @pre there is an answer
    void showAnswer();
    void showOverlay(const std::optional<MatrixCell>& cell);
    void showState();

    Workbench& bench_;
    std::shared_ptr<const Snapshot> shown_ = std::make_shared<Snapshot>();
    std::shared_ptr<const AnalysisResult> result_;
    uint64_t asked_ = 0; ///< Snapshot::sequenceVersion that was last analysed
    QComboBox *page_, *target_;
    QLabel *explanation_, *targetLabel_;
    QPushButton* run_;
    QProgressBar* progress_;
    PatchOverlayView* overlay_;
    HeadTable* heads_;
    LensAnswerView* view_;
};

} // namespace attn
