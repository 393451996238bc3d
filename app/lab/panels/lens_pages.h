#pragma once

#include "app/lab/widgets/lens_answer_view.h"
#include "engine/analysis/effects.h"
#include "engine/analysis/logit_attribution.h"
#include "engine/session/analysis.h"
#include "engine/session/edits.h"
#include "engine/session/snapshot.h"

#include <memory>
#include <optional>
#include <span>
#include <string>

namespace attn {

/// What a lens is asked with: what the form says, as far as the lens uses it.
struct LensQuestion {
    int layer = 0, head = 0;
    int position = -1; ///< -1: the last token
    LogitTarget target;
    std::string text; ///< of patching
    bool operator==(const LensQuestion&) const = default;
};

/// One way of looking inside a run. A new lens is one entry of the catalogue.
struct LensPage {
    const char* id;
    const char* title;       ///< to be translated in the context "attn::Lens"
    const char* explanation; ///< likewise
    bool usesHead = false, usesPosition = false, usesTarget = false, usesText = false;
    bool isQuick = true; ///< runs by itself when the text changes
    std::shared_ptr<const Analysis> (*make)(const LensQuestion& question);
    LensAnswer (*show)(const AnalysisResult& result, const Snapshot& snapshot);
    /// What a double click on a cell of the matrix changes about the model; null: nothing.
    Intervention (*change)(const AnalysisResult& result, const LensQuestion& question, int row, int column) = nullptr;
};
std::span<const LensPage> lensPages();

/// What each part adds to a logit, as bars and as a table by size. @param target "logit of “cat”"
LensAnswer contributionsAnswer(std::span<const LogitAttribution::Component> components, const QString& target);
/// What removing each head and each MLP does, as a matrix. @param target likewise
LensAnswer effectsAnswer(const HeadEffects& effects, const QString& target);
/// What a cell of it stands for: the head, or the MLP, is removed.
Intervention removalOf(const HeadEffects& effects, int layer, int column);
/// How much of a difference each token of each layer carries, as a matrix.
/// @param source "the other text": where values are taken from  @param tokens their names
LensAnswer patchingAnswer(const PatchEffects& effects, const QString& target, const QString& source,
                          std::vector<QString> tokens);
/// What a cell of it stands for. @param position the layer's token  @param source as Intervention::text
Intervention patchOf(const PatchEffects& effects, int layer, int position, const std::string& source);

} // namespace attn
