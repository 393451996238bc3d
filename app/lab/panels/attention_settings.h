#pragma once

#include "app/figures/colour_map.h"
#include "app/figures/heatmap_figure.h"
#include "app/figures/scale.h"
#include "app/figures/thumbnail_grid_figure.h"

#include <QJsonObject>
#include <QUndoCommand>

#include <functional>
#include <optional>

namespace attn {

/// The three levels of the attention panel.
enum class AttentionLevel { AllHeads, OneHead, OneCell };

/// What the attention panel shows. Session files store all of it.
struct AttentionSettings {
    AttentionLevel level = AttentionLevel::AllHeads;
    HeadChoice choice;
    std::optional<Cell> cell;
    Scale scale;
    ColourMapId colours = ColourMapId::Viridis;

    bool operator==(const AttentionSettings&) const = default;
    /// Whether "Reset view" would change nothing.
    bool isPlain() const { return scale.isPlain() && choice.aggregate == HeadAggregate::None; }
};

/// The layer of the site that a saved view names; views from before version 0.3 have the layer itself.
int savedLayer(const QJsonObject& view, int absent);

QJsonObject attentionToJson(const AttentionSettings& settings);
/// Reads settings. Unknown keys are ignored; missing keys keep their defaults.
AttentionSettings attentionFromJson(const QJsonObject& object);

/// An undoable change of how attention is drawn. The choice of head or cell is not undoable; the breadcrumbs lead back.
class AttentionChange : public QUndoCommand {
public:
    using Apply = std::function<void(const AttentionSettings&)>;

    AttentionChange(Apply apply, AttentionSettings before, AttentionSettings after, const QString& text);
    void undo() override { apply_(before_); }
    void redo() override { apply_(after_); }

private:
    Apply apply_;
    AttentionSettings before_, after_;
};

} // namespace attn
