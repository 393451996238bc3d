#pragma once

#include "app/lab/bridge/background_task.h"
#include "app/lab/common/playground_setup.h"
#include "app/lab/workbench/panel.h"

#include <QImage>

class QCheckBox;
class QLabel;
class QPushButton;
class QSpinBox;
class QStackedWidget;
class QTabBar;
class QTabWidget;
class QVBoxLayout;

namespace attn {

class AttentionGallery;
class ComparisonView;
class CostView;
class MapGrid;
class MaskPainter;
class InputControls;
class LinearLayerView;
class PartCards;
class PatchView;
class PathsView;
class PositionView;
class SpecEditor;

/// Lets the user compose an attention from its parts and shows its scores, pattern and output as it changes.
class PlaygroundPanel : public Panel {
    Q_OBJECT

public:
    PlaygroundPanel(Workbench& bench, QWidget* parent);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    std::vector<Place> places() override;
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    QWidget* figure() override;
    ExportNumbers numbers() const override;

protected:
    void showEvent(QShowEvent* event) override;

private:
    QWidget* makeControls();
    void makeHeader(QVBoxLayout* column);
    QWidget* makeMaps();
    /// Applies a setup as one step of undo. @param what names the changed control; equal names may merge into one step
    void edit(const PlaygroundSetup& setup, const QString& what);
    void edit(const PlaygroundQuery& query, const QString& what);
    void editInput(const PlaygroundSetup& setup, const QString& what);
    void apply(const PlaygroundSetup& setup);
    /// Adds the current input to the query. @return none while the model has not delivered its input yet
    std::optional<PlaygroundQuery> complete();
    void readPicture();
    void showUntrained();
    int layer() const;         ///< of the open model, for a sentence  @pre a model is open
    int64_t headWidth() const; ///< head width of the input
    int64_t tokens() const;    ///< number of tokens of the input
    void showPatches(std::optional<int> row);
    bool editsOther() const; ///< whether B is the spec in the editor
    const AttentionSpec& edited() const;
    /// The current query with the edited spec replaced by this one.
    PlaygroundQuery with(const AttentionSpec& spec) const;
    void showEdited();
    bool showsOneAttention() const; ///< whether the view in front shows A or B, whichever is edited
    const Figure* currentFigure() const;
    /// Opens a recipe with this attention in the Train panel.
    /// @param slot its part decides the task; none: the spec as a whole does
    void train(const AttentionSpec& spec, std::optional<Slot> slot);
    /// Begins with the attention of a known model, and shows its heatmaps.
    void begin(const AttentionSpec& known, const QString& title);
    void ask();
    void receive(const std::shared_ptr<const PlaygroundSnapshot>& snapshot);
    void refreshMaps();

    PlaygroundSetup setup_;
    PlaygroundQuery asked_; ///< the last query posted
    std::shared_ptr<const Snapshot> model_ = std::make_shared<Snapshot>();
    std::shared_ptr<const TokenFeatures> features_; ///< patches of the picture
    InputChoice featuresOf_;
    QString pictureName_;                             ///< of the newest picture that was asked for
    QImage picture_;                                  ///< null while it is being read, and after a failure
    BackgroundTask pictureTask_;                      ///< reads the picture
    std::pair<uint64_t, int> captured_{0, -1};        ///< sequence version and layer of the last request
    std::shared_ptr<const PlaygroundSnapshot> shown_; ///< the newest snapshot with heatmaps
    bool wasAsked_ = false;                           ///< false: the panel was hidden, so nothing ran yet
    int strokes_ = 0;                                 ///< brush strokes so far, to keep their undo steps apart
    QCheckBox* compares_ = nullptr;
    QTabBar* which_ = nullptr;
    QPushButton* copy_ = nullptr;
    SpecEditor* editor_ = nullptr;
    InputControls* inputs_ = nullptr;
    PatchView* patches_ = nullptr;
    AttentionGallery* gallery_ = nullptr;
    QWidget* mapsPage_ = nullptr;
    QStackedWidget* pictures_ = nullptr; ///< heatmaps of one attention, or of two
    MapGrid* maps_ = nullptr;
    ComparisonView* comparison_ = nullptr;
    MaskPainter* painter_ = nullptr;
    PartCards* cards_ = nullptr;
    CostView* costs_ = nullptr;
    PositionView* positions_ = nullptr;
    PathsView* paths_ = nullptr;
    LinearLayerView* linear_ = nullptr;
    QTabWidget* views_ = nullptr;
    QSpinBox *head_ = nullptr, *plane_ = nullptr;
    QLabel *planeTitle_ = nullptr, *reading_ = nullptr, *state_ = nullptr, *untrained_ = nullptr;
};

} // namespace attn
