#version 450
#extension GL_GOOGLE_include_directive : require
#include "tensor.glsl"
#include "attention.glsl"

// scores[h,t,s] = q.k * scale, MASKED where invisible. One cell per invocation; y is t, z is h.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { ATTENTION_PUSH };
INPUT4(1, q);
INPUT4(2, k);
INPUT_I(3, queryPosition);
INPUT_I(4, keyPosition);
OUTPUT_F(5, scores);

void main() {
    const uint s = gl_GlobalInvocationID.x, t = gl_WorkGroupID.y, head = gl_WorkGroupID.z;
    const uint stride = (keys + 3) / 4 * 4;
    if (s >= stride) return;
    float score = s < keys ? MASKED : 0.0;
    if (t < liveCount(queries, queryLiveSlot) && s < liveCount(keys, keyLiveSlot)) ATTENTION_SCORE(score, head, t, s);
    scores[(head * queries + t) * stride + s] = score;
}
