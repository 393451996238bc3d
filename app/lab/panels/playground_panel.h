#pragma once

#include "app/lab/panels/panel_context.h"
#include "app/lab/playground_setup.h"

class QCheckBox;
class QLabel;
class QPushButton;
class QSpinBox;
class QStackedWidget;
class QTabBar;
class QTabWidget;
class QVBoxLayout;

namespace attn {

class ComparisonView;
class CostView;
class MapGrid;
class MaskPainter;
class InputControls;
class PartCards;
class PatchView;
class PositionView;
class SpecEditor;

/// Compose any attention from its parts and see what it forms, while it is changed.
class PlaygroundPanel : public Panel {
    Q_OBJECT

public:
    PlaygroundPanel(PanelContext& context, QWidget* parent);

    void setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) override;
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    QWidget* figure() override;
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;

protected:
    void showEvent(QShowEvent* event) override;

private:
    QWidget* makeControls();
    void makeHeader(QVBoxLayout* column);
    QWidget* makeMaps();
    /// A step of undo. @param what was changed
    void edit(const PlaygroundSetup& setup, const QString& what);
    void edit(const PlaygroundQuery& query, const QString& what);
    void editInput(const PlaygroundSetup& setup, const QString& what);
    void apply(const PlaygroundSetup& setup);
    /// Brings the input up to date. @return what to ask for; none while the model has not answered yet
    std::optional<PlaygroundQuery> complete();
    int64_t headWidth() const; ///< of the input
    int64_t tokens() const;    ///< of the input
    void showPatches(std::optional<int> row);
    bool editsOther() const; ///< whether B is the spec in the editor
    const AttentionSpec& edited() const;
    /// The query with another spec in place of the one in the editor.
    PlaygroundQuery with(const AttentionSpec& spec) const;
    void showEdited();
    const Figure* currentFigure() const;
    /// @param slot of the part to show at work; none: what is special about the spec
    void train(const AttentionSpec& spec, std::optional<Slot> slot);
    void ask();
    void receive(const std::shared_ptr<const PlaygroundSnapshot>& snapshot);
    void refreshMaps();

    PanelContext& context_;
    PlaygroundSetup setup_;
    PlaygroundQuery asked_; ///< the last that was asked for
    std::shared_ptr<const Snapshot> model_ = std::make_shared<Snapshot>();
    std::shared_ptr<const TokenFeatures> features_; ///< of the picture
    InputChoice featuresOf_;
    std::pair<uint64_t, int> captured_{0, -1};        ///< the sequence and the layer that were last asked for
    std::shared_ptr<const PlaygroundSnapshot> shown_; ///< the newest with maps
    bool wasAsked_ = false;                           ///< nothing runs before the panel is looked at
    int strokes_ = 0;                                 ///< of the brush so far
    QCheckBox* compares_ = nullptr;
    QTabBar* which_ = nullptr;
    QPushButton* copy_ = nullptr;
    SpecEditor* editor_ = nullptr;
    InputControls* inputs_ = nullptr;
    PatchView* patches_ = nullptr;
    QStackedWidget* pictures_ = nullptr; ///< of one attention, or of two
    MapGrid* maps_ = nullptr;
    ComparisonView* comparison_ = nullptr;
    MaskPainter* painter_ = nullptr;
    PartCards* cards_ = nullptr;
    CostView* costs_ = nullptr;
    PositionView* positions_ = nullptr;
    QTabWidget* views_ = nullptr;
    QSpinBox *head_ = nullptr, *plane_ = nullptr;
    QLabel *planeTitle_ = nullptr, *reading_ = nullptr, *state_ = nullptr, *untrained_ = nullptr;
};

} // namespace attn
