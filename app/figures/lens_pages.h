#pragma once

#include "app/figures/lens_answer.h"
#include "engine/analysis/analysis.h"
#include "engine/analysis/logit_attribution.h"
#include "engine/inference/changes.h"
#include "engine/models/structure.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The question to a lens. A lens uses the fields that its page names.
struct LensQuestion {
    int site = 0, head = 0;
    int position = -1; ///< -1: the row that the readout reads
    LogitTarget target;
    std::string text;   ///< other text, for patching
    std::string hook{}; ///< one of LensPage::hooks(); empty: the first
    bool operator==(const LensQuestion&) const = default;
};

/// One lens: an analysis that reads a run. To add a lens, add one entry to the catalogue in lens_pages.cpp.
struct LensPage {
    const char* id;
    const char* title;       ///< untranslated; its translation context is "attn::Lens"
    const char* explanation; ///< untranslated, same context
    bool usesHead = false, usesPosition = false, usesTarget = false;
    bool usesOther = false; ///< copies values from another text or picture
    bool isQuick = true;    ///< runs automatically when the input changes
    std::shared_ptr<const Analysis> (*make)(const LensQuestion& question);
    /// The hooks of which it shows or copies one, in the layer of a site or in every layer; null if it reads none.
    std::vector<std::string> (*hooks)(const ModelInfo& model, int site) = nullptr;
    LensAnswer (*show)(const AnalysisResult& result, const LensSubject& subject);
    /// Makes the overlay on a picture; null if there is none. The overlay is empty for rows outside a picture.
    /// @param cell of the matrix under the pointer
    PatchOverlayFigure (*overlay)(const AnalysisResult& result, const LensSubject& subject,
                                  const std::optional<MatrixCell>& cell) = nullptr;
    /// Makes the change that a double click on a cell of the matrix adds to the model; null if there is none.
    ValueChange (*change)(const AnalysisResult& result, const LensQuestion& question, const ModelStructure& structure,
                          int row, int column) = nullptr;
};
/// All lenses, in the order of the panel's list.
std::span<const LensPage> lensPages();
/// A lens by its present id or by an id of an earlier version. @return null if there is none
const LensPage* lensPageNamed(std::string_view id);

} // namespace attn
