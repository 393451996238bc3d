#pragma once

#include "app/figures/colour_map.h"
#include "app/figures/scale.h"
#include "app/figures/thumbnail_grid_figure.h"
#include "app/lab/workbench/workbench.h"

#include <QJsonObject>

#include <utility>

namespace attn {

/// The three levels of the attention panel.
enum class AttentionLevel { AllHeads, OneHead, OneCell };

/// The pictures of one head. Pixels: over the picture that the model writes.
enum class AttentionPicture { Heatmap, Text, Arcs, Pixels };

/// How the attention panel draws what is selected.
struct AttentionLook {
    AttentionLevel level = AttentionLevel::AllHeads;
    AttentionPicture picture = AttentionPicture::Heatmap;
    bool arcsOfLayer = false; ///< arcs of all heads of the layer, in colours
    bool wholeWords = false;  ///< words in place of their pieces, where one head is shown
    HeadAggregate aggregate = HeadAggregate::None;
    Scale scale{};
    ColourMapId colours = ColourMapId::Viridis;

    bool operator==(const AttentionLook&) const = default;
    /// Whether "Reset view" would change nothing.
    bool isPlain() const { return scale.isPlain() && aggregate == HeadAggregate::None && !wholeWords; }
};

/// How a saved view names the selected site of the open model.
QString savedSiteName(const Workbench& bench);
/// The site that a saved view names; views from before version 0.3 have the layer itself.
int savedSite(const QJsonObject& view, int absent, const Workbench& bench);

/// A session file keeps the look and what is selected together.
QJsonObject attentionToJson(const AttentionLook& look, const Workbench& bench);
/// Reads them. Unknown keys are ignored; missing keys keep their defaults.
std::pair<AttentionLook, Selection> attentionFromJson(const QJsonObject& object, const Workbench& bench);

} // namespace attn
