#pragma once

#include "engine/attention/attention_spec.h"
#include "engine/attention/part.h"

namespace attn {

/// Calls `run` with each of the spec's hooks of a stage and the values of its part, slot by slot.
template <class Run> void forHooks(const AttentionSpec& spec, Stage stage, Run&& run) {
    const auto of = [&](const Part& part, PartValues values) {
        for (const Hook& hook : part.hooks)
            if (hook.stage == stage) run(hook, values);
    };
    for (const Slot slot : kSpecSlots) {
        if (slot == Slot::Normaliser) // the mask comes before it
            for (const auto& term : spec.mask.contentTerms()) of(*term.part, {term.part->params, term.values});
        if (slot != Slot::Normaliser || !spec.part(Slot::Mixer).mix.replacesAttention)
            of(spec.part(slot), spec.values(slot));
    }
}

} // namespace attn
