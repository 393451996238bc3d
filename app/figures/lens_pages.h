#pragma once

#include "app/figures/lens_answers.h"
#include "engine/analysis/analysis.h"
#include "engine/analysis/logit_attribution.h"
#include "engine/inference/changes.h"

#include <memory>
#include <optional>
#include <span>
#include <string>

namespace attn {

/// The inputs of a lens. A lens uses those that its page asks for.
struct LensQuestion {
    int site = 0, head = 0;
    int position = -1; ///< -1: the last token
    LogitTarget target;
    std::string text; ///< other text, for patching
    bool operator==(const LensQuestion&) const = default;
};

/// One lens: an analysis that reads a run. To add a lens, add one entry to lensPages().
struct LensPage {
    const char* id;
    const char* title;       ///< untranslated; its translation context is "attn::Lens"
    const char* explanation; ///< untranslated, same context
    bool usesHead = false, usesPosition = false, usesTarget = false, usesText = false;
    bool isQuick = true; ///< runs automatically when the text changes
    std::shared_ptr<const Analysis> (*make)(const LensQuestion& question);
    LensAnswer (*show)(const AnalysisResult& result, const LensSubject& subject);
    /// Makes the change that a double click on a cell of the matrix adds to the model; null: none.
    Intervention (*change)(const AnalysisResult& result, const LensQuestion& question, int row, int column) = nullptr;
};
/// All lenses, in the order of the panel's list.
std::span<const LensPage> lensPages();

} // namespace attn
