// What every attention kernel shares. Include after tensor.glsl; the shader declares INPUT4 q [T,H,D] and k [S,G,D],
// INPUT_I queryPosition [T] and keyPosition [S], and puts ATTENTION_PUSH first in its push constants.

#define ATTENTION_PUSH                                                                                                            \
    uint queries, keys, heads, groups, headVectors;                                                                               \
    float scale;                                                                                                                  \
    uint window, causal, queryLiveSlot, keyLiveSlot, sequence;

bool isVisible(uint causalFlag, uint windowSize, int queryAt, int keyAt) {
    return (causalFlag == 0u || keyAt <= queryAt) && (windowSize == 0u || queryAt - keyAt < int(windowSize));
}

// The score of one cell, MASKED where the rule hides it.
#define ATTENTION_SCORE(result, head, t, s)                                                                                       \
    {                                                                                                                             \
        result = MASKED;                                                                                                          \
        if (isVisible(causal, window, queryPosition[t], keyPosition[s]) && (sequence == 0u || (t) / sequence == (s) / sequence)) {                                                        \
            const uint qBase_ = ((t) * heads + (head)) * headVectors;                                                             \
            const uint kBase_ = ((s) * groups + (head) / (heads / groups)) * headVectors;                                         \
            float dot_ = 0.0;                                                                                                     \
            for (uint d_ = 0; d_ < headVectors; ++d_) dot_ += dot(LOAD4(q, qBase_ + d_), LOAD4(k, kBase_ + d_));                   \
            result = dot_ * scale;                                                                                                \
        }                                                                                                                         \
    }
