#pragma once

#include "app/figures/picture_run.h"
#include "engine/session/vision_session.h"

#include <memory>

namespace attn {

/// The run that a snapshot shows. It refers to the snapshot.
inline PictureRun pictureRun(const VisionSnapshot& snapshot) {
    PictureRun run{.model = snapshot.model.get(),
                   .hidden = snapshot.query.hidden,
                   .rollout = snapshot.rollout.get(),
                   .rolloutClass = snapshot.query.rolloutClass,
                   .embedding = snapshot.embedding.get()};
    if (!snapshot.model || !snapshot.answer) return run;
    run.seen = snapshot.answer->seen.get();
    run.patterns = snapshot.answer->patterns;
    run.distances = snapshot.answer->distances;
    return run;
}

/// The snapshot of the original run; the same snapshot if there are no changes.
inline std::shared_ptr<const VisionSnapshot> uneditedSnapshot(const std::shared_ptr<const VisionSnapshot>& snapshot) {
    if (!snapshot->unedited) return snapshot;
    auto plain = std::make_shared<VisionSnapshot>(*snapshot);
    plain->answer = snapshot->unedited;
    plain->rollout = snapshot->uneditedRollout;
    return plain;
}

} // namespace attn
