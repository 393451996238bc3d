#include "engine/training/tasks/hidden_tokens.h"

#include "engine/data/draws.h"

namespace attn {
namespace {

constexpr int kSpecialTokens = 5;

} // namespace

int32_t hiddenToken(int32_t token, int32_t mask, int vocabulary, Draws& draws) {
    const int tenth = draws.below(10);
    if (tenth < 8) return mask;
    return tenth == 8 ? draws.between(kSpecialTokens, vocabulary - 1) : token;
}

} // namespace attn
