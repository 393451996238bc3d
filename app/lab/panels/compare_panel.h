#pragma once

#include "app/lab/panels/run_maps.h"
#include "app/lab/workbench/panel.h"

#include <map>

class QBoxLayout;
class QComboBox;
class QGridLayout;
class QLabel;
class QLineEdit;
class QPushButton;
class QTreeWidget;

namespace attn {

class EmptyState;
class FrontWatch;
class ModelBox;
class OtherPictureBox;

/// Compares the current run, A, with a second run, B. Shows both patterns of the selected head, or both overlays, and
/// their difference, one of them large; a divergence for each head, and the next tokens or classes of both.
class ComparePanel : public Panel {
    Q_OBJECT

public:
    explicit ComparePanel(Workbench& bench, QWidget* parent = nullptr);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    ExportNumbers numbers() const override;
    std::optional<std::pair<int, int>> exportedHead() const override;
    std::shared_ptr<const Snapshot> comparedRun() const override;
    SecondRun& second() { return second_; }

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    QLayout* makeChoice();
    QWidget* makeEmpty();
    void makeMaps();
    void makeTables();
    QWidget* makeBody();
    RunMaps& maps() const; ///< of the open model's input
    static QString helpOf(RunMaps::Map map);
    void enlarge(RunMaps::Map map);
    void stand(bool isBeside); ///< puts the tables beside the large map, or below it
    void arrange();            ///< the large map and the small ones
    void choose();
    void want(); ///< the views of both runs
    void show();
    void showControls();
    void showHeads(bool isOn);
    bool isSame() const;                        ///< whether nothing makes B differ from A
    QString runName(const Snapshot& run) const; ///< its model, or its text where that is what differs
    void say();                                 ///< the reading, or else the caption

    SecondRun second_;
    std::shared_ptr<const Snapshot> first_;
    QComboBox* with_;
    QLineEdit* text_;
    ModelBox* path_;
    OtherPictureBox* picture_;
    QPushButton *browse_, *compare_;
    QLabel* message_;
    QString caption_; ///< of both runs, or why they cannot be compared
    EmptyState* empty_ = nullptr;
    QWidget* body_; ///< the maps and the tables
    std::map<AxisKind, RunMaps*> maps_;
    RunMaps::Map large_ = RunMaps::Difference; ///< the map that the user chose to see large
    QGridLayout* places_;
    QBoxLayout *largePlace_, *smallPlace_, *tables_;
    std::optional<bool> tablesStandBeside_; ///< the large map, or below it
    QTreeWidget *heads_, *answers_;
    RunMaps::Divergences byHead_;
    RunMaps::Parts counted_; ///< what byHead_ belongs to
    FrontWatch* front_ = nullptr;
};

} // namespace attn
