#pragma once

#include "app/figures/vision_look.h"
#include "app/lab/bridge/background_task.h"
#include "app/lab/workbench/panel.h"
#include "app/lab/workbench/picture_bench.h"
#include "app/lab/workbench/workbench.h"

#include <QWidget>

class QComboBox;
class QLabel;
class QSplitter;
class QTreeWidget;

namespace attn {

class PatchOverlayView;
class SessionBridge;
struct WeightSet;

/// Compares the open vision model with a second picture or model: shows the second heatmap, the difference of both
/// where their grids of patches agree, and the predictions of both.
class VisionComparison : public Panel {
    Q_OBJECT

public:
    explicit VisionComparison(Workbench& bench, QWidget* parent = nullptr);
    ~VisionComparison() override;

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    /// @param other "picture:" and the name of a built-in picture or a path; "model:" and a path; or empty: no
    /// comparison
    void compareWith(const QString& other);
    const std::shared_ptr<const Snapshot>& second() const { return second_; }

    QWidget* figure() override;
    ExportNumbers numbers() const override;
    QJsonObject saveView() const override { return {{"compare", other_}}; }
    void restoreView(const QJsonObject& view) override;

private:
    void choose(int index);
    void list();
    /// @param picture the one that `other` names; null for a model
    void showBeside(const QString& other, std::shared_ptr<const Image> picture);
    bool isOtherModel() const;
    void ask(); ///< runs the second picture or model as the first runs
    void askForRollout();
    bool hasBothAnswers() const;
    void refresh();
    void showClasses();
    /// @return the class of the second model that has the name of the first model's; none if there is none
    std::optional<int> sameClass(std::optional<int> label) const;

    Workbench& bench_;
    QString other_;                        ///< argument of compareWith()
    std::shared_ptr<const Image> picture_; ///< null: the first picture
    std::shared_ptr<const Snapshot> first_, second_;
    std::unique_ptr<SessionBridge> bridge_; ///< the session of the second, created when it is first needed
    /// What the second session was last asked for.
    struct Asked {
        std::string path;
        std::shared_ptr<const WeightSet> weights;
        GivenPicture picture;
        std::shared_ptr<const Changes> changes;
        ShownRun run = ShownRun::Changed;
    };
    std::optional<Asked> asked_;
    bool isOpen_ = false;    ///< the model that was asked for is open in the second session
    uint64_t rolledOut_ = 0; ///< Snapshot::sequenceVersion of the second when its rollout was last asked for
    RolloutAnalysis rollout_;
    BackgroundTask reading_; ///< of the second picture

    QComboBox* with_;
    QLabel* message_;
    QSplitter* views_;
    PatchOverlayView *map_, *difference_;
    QTreeWidget* classes_;
};

} // namespace attn
