#pragma once

#include "app/figures/lens_answer.h"
#include "engine/analysis/analysis.h"
#include "engine/analysis/logit_lens.h"

#include <optional>

namespace attn {

// Results of lenses over a picture: the functions for LensPage::overlay.

PatchOverlayFigure overlayLogitLens(const AnalysisResult& result, const LensSubject& subject,
                                    const std::optional<MatrixCell>& cell);
PatchOverlayFigure overlayGradients(const AnalysisResult& result, const LensSubject& subject,
                                    const std::optional<MatrixCell>& cell);
PatchOverlayFigure overlayFlow(const AnalysisResult& result, const LensSubject& subject,
                               const std::optional<MatrixCell>& cell);
PatchOverlayFigure overlayWeighted(const AnalysisResult& result, const LensSubject& subject,
                                   const std::optional<MatrixCell>& cell);
PatchOverlayFigure overlayCircuits(const AnalysisResult& result, const LensSubject& subject,
                                   const std::optional<MatrixCell>& cell);
PatchOverlayFigure overlayPatching(const AnalysisResult& result, const LensSubject& subject,
                                   const std::optional<MatrixCell>& cell);

/// "embedding" or "layer 2".
QString stageName(const LogitLens::Stage& stage);

} // namespace attn
