#pragma once

#include "app/lab/panels/panel_context.h"
#include "engine/session/playground_session.h"

class QLabel;
class QSpinBox;
class QTabWidget;

namespace attn {

class MapGrid;
class MaskPainter;
class ParamControls;
class PartCards;
class SpecEditor;

/// Compose any attention from its parts and see what it forms, while it is changed.
class PlaygroundPanel : public Panel {
    Q_OBJECT

public:
    PlaygroundPanel(PanelContext& context, QWidget* parent);

    void setSnapshot(const std::shared_ptr<const Snapshot>&) override {}
    QJsonObject saveView() const override;
    void restoreView(const QJsonObject& view) override;
    QWidget* figure() override;
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;

protected:
    void showEvent(QShowEvent* event) override;

private:
    QWidget* makeControls();
    QWidget* makeMaps();
    /// A step of undo. @param what was changed
    void edit(const PlaygroundQuery& query, const QString& what);
    void apply(const PlaygroundQuery& query);
    /// @param slot of the part to show at work; none: what is special about the spec
    void train(const AttentionSpec& spec, std::optional<Slot> slot);
    void ask();
    void receive(const std::shared_ptr<const PlaygroundSnapshot>& snapshot);
    void refreshMaps();

    PanelContext& context_;
    PlaygroundQuery query_;
    std::shared_ptr<const PlaygroundSnapshot> shown_; ///< the newest with maps
    bool wasAsked_ = false;                           ///< nothing runs before the panel is looked at
    int strokes_ = 0;                                 ///< of the brush so far
    SpecEditor* editor_ = nullptr;
    ParamControls* inputs_ = nullptr;
    MapGrid* maps_ = nullptr;
    MaskPainter* painter_ = nullptr;
    PartCards* cards_ = nullptr;
    QTabWidget* views_ = nullptr;
    QSpinBox *head_ = nullptr, *plane_ = nullptr;
    QLabel *planeTitle_ = nullptr, *reading_ = nullptr, *state_ = nullptr;
};

} // namespace attn
