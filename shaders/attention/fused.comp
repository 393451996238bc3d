#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "tensor.glsl"
#include "attention.glsl"

// softmax(q.k) v without storing the pattern, one query and head per subgroup: row statistics first, then the mix.
layout(local_size_x_id = 0) in;
layout(push_constant) uniform Push { ATTENTION_PUSH };
INPUT4(1, q);
INPUT4(2, k);
INPUT4(3, v);
INPUT_I(4, queryPosition);
INPUT_I(5, keyPosition);
INPUT_F(6, gates);
OUTPUT4(7, z);

void main() {
    const uint t = gl_WorkGroupID.x, head = gl_WorkGroupID.y;
    if (t >= liveCount(queries, queryLiveSlot)) return;
    const uint live = liveCount(keys, keyLiveSlot), lane = gl_SubgroupInvocationID;
    float maximum = MASKED, sum = 0.0;
    for (uint s = lane; s < live; s += gl_SubgroupSize) {
        float score;
        ATTENTION_SCORE(score, head, t, s);
        if (score <= MASKED) continue;
        const float larger = max(maximum, score);
        sum = sum * exp(maximum - larger) + exp(score - larger);
        maximum = larger;
    }
    const float rowMaximum = subgroupMax(maximum);
    const float rowSum = subgroupAdd(sum * exp(maximum - rowMaximum));
    const float factor = rowMaximum <= MASKED ? 0.0 : gates[head] / rowSum;
    for (uint d = lane; d < headVectors; d += gl_SubgroupSize) {
        vec4 mixed = vec4(0.0);
        for (uint s = 0; s < live; ++s) {
            float score;
            ATTENTION_SCORE(score, head, t, s);
            if (score > MASKED) mixed += exp(score - rowMaximum) * LOAD4(v, (s * groups + head / (heads / groups)) * headVectors + d);
        }
        z[(t * heads + head) * headVectors + d] = mixed * factor;
    }
}
