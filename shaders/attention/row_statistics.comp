#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "tensor.glsl"
#include "attention.glsl"

// Maximum and reciprocal sum of each attention row: one subgroup per query, lanes over keys, one online pass.
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(push_constant) uniform Push { ATTENTION_PUSH };
INPUT4(1, q);
INPUT4(2, k);
INPUT_I(3, queryPosition);
INPUT_I(4, keyPosition);
INPUT_I(5, view); // queryBegin, queryEnd, ... of the tile that is drawn
OUTPUT4(6, statistics);

void main() {
    const uint t = gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y, head = gl_WorkGroupID.y;
    if (t >= liveCount(queries, queryLiveSlot) || int(t) < view[0] || int(t) >= view[1]) return;
    const uint live = liveCount(keys, keyLiveSlot);
    float maximum = MASKED, sum = 0.0;
    for (uint s = gl_SubgroupInvocationID; s < live; s += gl_SubgroupSize) {
        float score;
        ATTENTION_SCORE(score, head, t, s);
        if (score <= MASKED) continue;
        const float larger = max(maximum, score);
        sum = sum * exp(maximum - larger) + exp(score - larger);
        maximum = larger;
    }
    const float rowMaximum = subgroupMax(maximum);
    const float rowSum = subgroupAdd(sum * exp(maximum - rowMaximum));
    if (subgroupElect())
        statistics[head * queries + t] = rowMaximum <= MASKED ? vec4(0.0) : vec4(rowMaximum, 1.0 / rowSum, 0.0, 0.0);
}
