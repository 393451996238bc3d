#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tensor.glsl"
#include "attention.glsl"
#include "fused_attention.glsl"

// Fused attention for few queries on software Vulkan: one subgroup per query and pair of heads (or head) that share their keys,
// 32 keys at a time, four to a lane. Operands in fused_attention.glsl.
// Constants 2: blocks of 32 features, 1 or 2 (heads wider than 64 take several passes over grid z); 3: heads per subgroup, 1 or 2
// (2 only where H / G is even).
//
// Local size 8 x 1. Grid H / (constant 3) x T x ceil(D / (32 * constant 2)).
const uint WIDTH = 8;
layout(constant_id = 2) const uint BLOCKS = 2;
layout(constant_id = 3) const uint HEADS = 1;

float maxOfLanes(vec4 x) {
    float y = max(max(x.x, x.y), max(x.z, x.w));
    y = max(y, subgroupShuffleXor(y, 1));
    y = max(y, subgroupShuffleXor(y, 2));
    return max(y, subgroupShuffleXor(y, 4));
}

float sumOfLanes(float x) {
    x += subgroupShuffleXor(x, 1);
    x += subgroupShuffleXor(x, 2);
    return x + subgroupShuffleXor(x, 4);
}

void main() {
    const uint row = gl_WorkGroupID.y, head = gl_WorkGroupID.x * HEADS;
    const uint liveKeys = liveCount(keys, keyLiveSlot);
    if (row >= liveCount(queries, queryLiveSlot)) return;
    const uint lane = gl_SubgroupInvocationID;
    const uint qBase = (row * heads + head) * headVectors;
    const uint keyStride = groups * headVectors, headBase = groupOf(head) * headVectors;
    const int rowAt = queryPosition[row];

    // For the second product lanes are features: `span` lanes (a power of two) hold the vectors of one key, and the 8 / span
    // sets of lanes take different keys.
    const uint firstVector = gl_WorkGroupID.z * WIDTH * BLOCKS;
    const uint passVectors = min(headVectors - firstVector, WIDTH * BLOCKS);
    const uint span = passVectors > 4 ? 8 : passVectors > 2 ? 4 : passVectors;
    const uint feature = lane & (span - 1), keySet = span == 8 ? 0 : span == 4 ? lane >> 2 : span == 2 ? lane >> 1 : lane;
    const uint keySets = span == 8 ? 1 : span == 4 ? 2 : span == 2 ? 4 : 8;
    const uint feature0 = headBase + firstVector + min(feature, passVectors - 1);
    const uint feature1 = headBase + firstVector + min(feature + WIDTH, passVectors - 1);

    float maximum[2] = float[](NOTHING_SEEN, NOTHING_SEEN), sum[2] = float[](0.0, 0.0);
    vec4 z0[2] = vec4[](vec4(0.0), vec4(0.0)), z1[2] = vec4[](vec4(0.0), vec4(0.0));
    const uint keyVectors = (liveKeys + 3) / 4;
    for (uint begin = 0; begin < keyVectors; begin += WIDTH) {
        const uint keyVector = begin + lane;
        const ivec4 keyAt = keyPosition4[min(keyVector, keyVectors - 1)];
        const bvec4 visible = visible4(rowAt, keyAt, exists4(keyVector, liveKeys));
        const uvec4 kBase = min(uvec4(keyVector * 4) + uvec4(0, 1, 2, 3), uvec4(liveKeys - 1)) * keyStride + headBase;
        vec4 score[2] = vec4[](vec4(0.0), vec4(0.0));
        for (uint d = 0; d < headVectors; ++d) {
            const vec4 b0 = LOAD4(k, kBase.x + d), b1 = LOAD4(k, kBase.y + d), b2 = LOAD4(k, kBase.z + d), b3 = LOAD4(k, kBase.w + d);
            [[unroll]] for (uint i = 0; i < 2; ++i) {
                if (i >= HEADS) break;
                const vec4 a = LOAD4(q, qBase + i * headVectors + d);
                score[i] += vec4(dot(a, b0), dot(a, b1), dot(a, b2), dot(a, b3));
            }
        }
        [[unroll]] for (uint i = 0; i < 2; ++i) {
            if (i >= HEADS) break;
            const vec4 masked = mix(vec4(MASKED), scores4(score[i], head + i, rowAt, keyAt), visible);
            const float larger = max(maximum[i], maxOfLanes(masked));
            const float keep = exp2(maximum[i] - larger);
            maximum[i] = larger;
            score[i] = exp2(masked - larger);
            sum[i] = sum[i] * keep + (score[i].x + score[i].y + score[i].z + score[i].w);
            z0[i] *= keep;
            if (BLOCKS > 1) z1[i] *= keep;
        }
        for (uint g = 0; g < span; ++g) {
            const uint source = g * keySets + keySet;
            const uvec4 vBase = min(uvec4((begin + source) * 4) + uvec4(0, 1, 2, 3), uvec4(liveKeys - 1)) * keyStride;
            const mat4 b0 = mat4(LOAD4(v, vBase.x + feature0), LOAD4(v, vBase.y + feature0), LOAD4(v, vBase.z + feature0), LOAD4(v, vBase.w + feature0));
            mat4 b1;
            if (BLOCKS > 1)
                b1 = mat4(LOAD4(v, vBase.x + feature1), LOAD4(v, vBase.y + feature1), LOAD4(v, vBase.z + feature1), LOAD4(v, vBase.w + feature1));
            [[unroll]] for (uint i = 0; i < 2; ++i) {
                if (i >= HEADS) break;
                const vec4 p = vec4(subgroupShuffle(score[i].x, source), subgroupShuffle(score[i].y, source), subgroupShuffle(score[i].z, source),
                                    subgroupShuffle(score[i].w, source));
                z0[i] += b0 * p;
                if (BLOCKS > 1) z1[i] += b1 * p;
            }
        }
    }

    [[unroll]] for (uint i = 0; i < 2; ++i) {
        if (i >= HEADS) break;
        const float inverse = maximum[i] <= NOTHING_SEEN ? 0.0 : 1.0 / sumOfLanes(sum[i]), factor = gates[head + i] * inverse;
        if (gl_WorkGroupID.z == 0 && lane == 0) statistics[(head + i) * queries + row] = vec4(maximum[i], inverse, 0.0, 0.0);
        if (span <= 4) z0[i] += subgroupShuffleXor(z0[i], 4);
        if (span <= 2) z0[i] += subgroupShuffleXor(z0[i], 2);
        if (span <= 1) z0[i] += subgroupShuffleXor(z0[i], 1);
        const uint at = qBase + i * headVectors + firstVector + feature;
        if (keySet == 0 && feature < passVectors) z[at] = z0[i] * factor;
        if (BLOCKS > 1 && feature + WIDTH < passVectors) z[at + WIDTH] = z1[i] * factor;
    }
}
