#pragma once

#include "app/figures/lens_answer.h"

namespace attn {

// What the lenses of heads and of their weights found, as figures and sentences.

LensAnswer showCircuits(const AnalysisResult& result, const LensSubject& subject);
LensAnswer showComposition(const AnalysisResult& result, const LensSubject& subject);
LensAnswer showKindsByLayer(const AnalysisResult& result, const LensSubject& subject);
LensAnswer showStorageEffects(const AnalysisResult& result, const LensSubject& subject);
LensAnswer showTokenValues(const AnalysisResult& result, const LensSubject& subject);
/// What a hook of tokenHooks() holds: "Forget gate", "Residual stream after the layer".
QString hookTitle(const std::string& hook);

} // namespace attn
