#include "engine/analysis/one_stack.h"

#include "engine/core/error.h"
#include "engine/inference/running_model.h"

namespace attn {

void requireOneStack(const RunningModel& model) {
    if (model.info().readsSource)
        throw Error(
            {.what = "this question needs a model with one stack of layers; this one has an encoder and a decoder",
             .where = model.info().name,
             .hint = "look at its patterns instead, or remove heads"});
}

} // namespace attn
