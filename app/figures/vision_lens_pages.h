#pragma once

#include "app/figures/lens_answers.h"
#include "engine/analysis/analysis.h"
#include "engine/analysis/logit_target.h"
#include "engine/inference/changes.h"

#include <memory>
#include <optional>
#include <span>

namespace attn {

/// One lens: an analysis that reads a vision model's run. To add a lens, add one entry to the catalogue.
struct VisionLensPage {
    const char* id;
    const char* title;       ///< to be translated in the context "attn::Lens"
    const char* explanation; ///< to be translated in the same context
    bool usesTarget = false, usesOther = false;
    bool isQuick = true;     ///< runs by itself when the picture or the model changes
    bool listsHeads = false; ///< the result is a PatchHeadDetection, whose heads are listed
    std::shared_ptr<const Analysis> (*make)(const LogitTarget& target);
    LensAnswer (*show)(const AnalysisResult& result, const LensSubject& subject);
    /// Makes the overlay on the picture; null: none.
    /// @param cell of the matrix under the pointer
    PatchOverlayFigure (*overlay)(const AnalysisResult& result, const LensSubject& subject,
                                  const std::optional<MatrixCell>& cell) = nullptr;
    /// Makes the change that a double click on a cell of the matrix adds; null: none.
    Intervention (*change)(const AnalysisResult& result, int row, int column) = nullptr;
};
std::span<const VisionLensPage> visionLensPages();

} // namespace attn
