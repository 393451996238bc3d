#pragma once

#include "app/figures/patch_overlay_figure.h"
#include "app/lab/widgets/lens_answer_view.h"
#include "engine/analysis/logit_target.h"
#include "engine/session/edits.h"
#include "engine/session/vision_session.h"

#include <memory>
#include <optional>
#include <span>

namespace attn {

/// One way of looking inside what a vision model makes of a picture. A new lens is one entry of the catalogue.
struct VisionLensPage {
    const char* id;
    const char* title;       ///< to be translated in the context "attn::Lens"
    const char* explanation; ///< likewise
    bool usesTarget = false, usesOther = false;
    bool isQuick = true;     ///< runs by itself when the picture or the model changes
    bool listsHeads = false; ///< the result is a PatchHeadDetection, whose heads are listed
    std::shared_ptr<const VisionAnalysis> (*make)(const LogitTarget& target);
    LensAnswer (*show)(const VisionAnalysisResult& result, const VisionSnapshot& snapshot);
    /// What lies over the picture; null: nothing. @param cell of the matrix that is pointed at
    PatchOverlayFigure (*overlay)(const VisionAnalysisResult& result, const VisionSnapshot& snapshot,
                                  const std::optional<Cell>& cell) = nullptr;
    /// What a double click on a cell of the matrix changes about the model; null: nothing.
    Intervention (*change)(const VisionAnalysisResult& result, int row, int column) = nullptr;
};
std::span<const VisionLensPage> visionLensPages();

/// "CLS", "patch 3, 0"
QString visionTokenName(const VisionInfo& info, int token);

} // namespace attn
