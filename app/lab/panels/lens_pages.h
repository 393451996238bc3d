#pragma once

#include "app/lab/widgets/lens_answer_view.h"
#include "engine/analysis/analysis.h"
#include "engine/analysis/effects.h"
#include "engine/analysis/logit_attribution.h"
#include "engine/inference/changes.h"
#include "engine/session/snapshot.h"

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
    LensAnswer (*show)(const AnalysisResult& result, const Snapshot& snapshot);
    /// Makes the change that a double click on a cell of the matrix adds to the model; null: none.
    Intervention (*change)(const AnalysisResult& result, const LensQuestion& question, int row, int column) = nullptr;
};
/// All lenses, in the order of the panel's list.
std::span<const LensPage> lensPages();

/// Shows what each part adds to a logit, as bars and as a table sorted by size.
/// @param target name of the logit: "logit of “cat”"
LensAnswer contributionsAnswer(std::span<const LogitAttribution::Component> components, const QString& target);
/// Shows the effect of removing each head and each MLP, as a matrix [layers, heads (+ MLP)].
/// @param target name of the logit
LensAnswer effectsAnswer(const HeadEffects& effects, const QString& target);
/// The change that a cell of effectsAnswer stands for: it removes the head or the MLP.
Intervention removalOf(const HeadEffects& effects, int layer, int column);
/// Shows the share of the gap between two runs that closes when one value is patched, as a matrix [layers, tokens].
/// @param source name of the run that values are copied from: "the other text"
/// @param tokens names of the columns
LensAnswer patchingAnswer(const PatchEffects& effects, const QString& target, const QString& source,
                          std::vector<QString> tokens);
/// The change that a cell of patchingAnswer stands for: it patches one layer at one token.
/// @param position token of that layer
/// @param source as Intervention::text
Intervention patchOf(const PatchEffects& effects, int layer, int position, const std::string& source);

} // namespace attn
