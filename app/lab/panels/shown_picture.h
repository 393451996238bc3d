#pragma once

#include "app/figures/picture_run.h"
#include "engine/analysis/attention_rollout.h"
#include "engine/analysis/patch_embedding.h"
#include "engine/session/snapshot.h"

#include <map>
#include <memory>
#include <string>

namespace attn {

/// The run of a vision model that a snapshot shows, or the original run beside it. It refers to the snapshot.
inline PictureRun pictureRun(const Snapshot& snapshot, bool isOriginal = false) {
    PictureRun run{.model = snapshot.readsPictures() ? snapshot.model.get() : nullptr};
    const PictureAnswer* answer = (isOriginal ? snapshot.uneditedAnswer : snapshot.answer).get();
    if (const auto found = snapshot.analyses.find(PatchEmbeddingAnalysis{}.key()); found != snapshot.analyses.end())
        run.embedding = static_cast<const PatchEmbedding*>(found->second.get());
    if (!run.model || !answer) return run;
    const auto& results = isOriginal ? snapshot.uneditedAnalyses : snapshot.analyses;
    if (const auto found = results.find(RolloutAnalysis{}.key()); found != results.end()) {
        const auto& rollout = static_cast<const Rollout&>(*found->second);
        if (rollout.inputVersion == snapshot.sequenceVersion) {
            run.rollout = &rollout.map;
            if (rollout.target) run.rolloutClass = rollout.target->token;
        }
    }
    run.hidden = snapshot.picture->hidden;
    run.seen = answer->seen.get();
    run.patterns = answer->patterns;
    run.distances = answer->distances;
    return run;
}

} // namespace attn
