#include "engine/inference/finite_count.h"

#include "engine/core/error.h"

#include <fmt/format.h>

namespace attn {

void FiniteCount::require(const std::string& subject, const std::string& where) const {
    if (wrong_ == 0) return;
    throw Error({.what = fmt::format("{} of {} {} are NaN or infinite, so there is no result", wrong_, all_, subject),
                 .where = where,
                 .hint = "look for weights, or changes to the run, that are damaged or much too large"});
}

void requireLogitsFinite(std::span<const float> logits, const std::string& where) {
    FiniteCount count;
    for (const float logit : logits) count.add(logit == -INFINITY ? 0 : static_cast<double>(logit));
    count.require("logits", where);
}

} // namespace attn
