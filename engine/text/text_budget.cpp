#include "engine/text/text_budget.h"

#include "engine/core/error.h"

#include <fmt/format.h>

namespace attn {

void TextBudget::addText(size_t bytes) {
    growth_ += kGrowth * bytes;
    search_ += kSearch * bytes;
}

void TextBudget::grow(size_t bytes) {
    if (bytes > growth_)
        throw Error({.what = fmt::format("the tokenizer makes the text more than {} times as long", kGrowth),
                     .where = "tokenizer",
                     .hint = "use another tokenizer: this one is damaged or means harm"});
    growth_ -= bytes;
}

bool TextBudget::takeSearch(uint64_t steps) {
    if (steps > search_) return false;
    search_ -= steps;
    return true;
}

} // namespace attn
