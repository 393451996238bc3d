#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
#include "tensor.glsl"
#include "attention.glsl"
#include "fused_attention.glsl"

// Fused attention for software Vulkan, where a subgroup is one 8-wide vector register: 8 queries of one head per subgroup,
// against 32 keys at a time, four to a lane. Operands in fused_attention.glsl; constant 2: blocks of 32 features, 1 or 2.
// Heads wider than 64 are done in several passes over grid z, each of which computes the scores anew.
//
// Local size 8 x L. Grid ceil(tiles / L) x H x ceil(D / (32 * constant 2)).
const uint WIDTH = 8;
layout(constant_id = 2) const uint BLOCKS = 2;

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

// The first block at or after `begin` with a key that some position from `oldest` to `newest` may see. A loop of its own: software
// Vulkan executes both sides of a branch, but leaves a loop once no lane is in it.
uint nextReached(uint begin, uint liveKeys, int oldest, int newest) {
    for (; begin * 4 < liveKeys; begin += WIDTH) {
        const uint keyVector = begin + gl_SubgroupInvocationID;
        const ivec4 keyAt = keyPosition4[min(keyVector, (liveKeys - 1) / 4)];
        const uvec4 past = uvec4(lessThanEqual(keyAt, ivec4(newest))) | uint(causal == 0u);
        const uvec4 near = uvec4(lessThan(ivec4(oldest) - keyAt, ivec4(window))) | uint(window == 0u);
        if (subgroupAny(any(bvec4(past & near & uvec4(exists4(keyVector, liveKeys)))))) break;
    }
    return begin;
}

void main() {
    const uint lane = gl_SubgroupInvocationID, head = gl_WorkGroupID.y;
    const uint liveQueries = liveCount(queries, queryLiveSlot), liveKeys = liveCount(keys, keyLiveSlot);
    const uvec3 tile = tileOf(gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y, liveQueries);
    const uint row = tile.x, endRow = tile.z, firstKey = tile.y;
    if (row >= liveQueries) return;
    const uint endKey = sequence == 0u ? liveKeys : min(firstKey + sequence, liveKeys);
    const uint group = groupOf(head);
    const uint qBase = (min(row + lane, endRow - 1) * heads + head) * headVectors;
    const uint keyStride = groups * headVectors, headBase = group * headVectors;
    const int rowPosition = queryPosition[min(row + lane, endRow - 1)]; // lanes are rows
    int oldest = rowPosition, newest = rowPosition;
    oldest = min(oldest, subgroupShuffleXor(oldest, 1));
    oldest = min(oldest, subgroupShuffleXor(oldest, 2));
    oldest = min(oldest, subgroupShuffleXor(oldest, 4));
    newest = max(newest, subgroupShuffleXor(newest, 1));
    newest = max(newest, subgroupShuffleXor(newest, 2));
    newest = max(newest, subgroupShuffleXor(newest, 4));

    // For the second product lanes are features: `span` lanes (a power of two) hold the vectors of one key, and the 8 / span
    // sets of lanes take different keys.
    const uint firstVector = gl_WorkGroupID.z * WIDTH * BLOCKS;
    const uint passVectors = min(headVectors - firstVector, WIDTH * BLOCKS);
    const uint span = passVectors > 4 ? 8 : passVectors > 2 ? 4 : passVectors;
    const uint feature = lane & (span - 1), keySet = span == 8 ? 0 : span == 4 ? lane >> 2 : span == 2 ? lane >> 1 : lane;
    const uint keySets = span == 8 ? 1 : span == 4 ? 2 : span == 2 ? 4 : 8;
    const uint feature0 = headBase + firstVector + min(feature, passVectors - 1);
    const uint feature1 = headBase + firstVector + min(feature + WIDTH, passVectors - 1);

    float maximum[WIDTH], sum[WIDTH];
    vec4 z0[WIDTH], z1[WIDTH];
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
        maximum[i] = NOTHING_SEEN;
        sum[i] = 0.0;
        z0[i] = z1[i] = vec4(0.0);
    }
    const uint keyVectors = (endKey + 3) / 4;
    for (uint begin = nextReached(firstKey / 4, endKey, oldest, newest); begin < keyVectors;
         begin = nextReached(begin + WIDTH, endKey, oldest, newest)) {
        const uint keyVector = begin + lane;
        const ivec4 keyAt = keyPosition4[min(keyVector, keyVectors - 1)];
        const bvec4 exist = exists4(keyVector, endKey);

        vec4 score[WIDTH];
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) score[i] = vec4(0.0);
        const uvec4 kBase = min(uvec4(keyVector * 4) + uvec4(0, 1, 2, 3), uvec4(liveKeys - 1)) * keyStride + headBase;
        for (uint d = 0; d < headVectors; ++d) {
            const vec4 a = LOAD4(q, qBase + d);
            const vec4 b0 = LOAD4(k, kBase.x + d), b1 = LOAD4(k, kBase.y + d), b2 = LOAD4(k, kBase.z + d), b3 = LOAD4(k, kBase.w + d);
            [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
                const vec4 s = vec4(subgroupShuffle(a.x, i), subgroupShuffle(a.y, i), subgroupShuffle(a.z, i), subgroupShuffle(a.w, i));
                score[i] += vec4(dot(s, b0), dot(s, b1), dot(s, b2), dot(s, b3));
            }
        }
        [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
            const int rowAt = subgroupShuffle(rowPosition, i);
            const vec4 masked = mix(vec4(MASKED), scores4(score[i], head, rowAt, keyAt), visible4(rowAt, keyAt, exist));
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
            [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
                const vec4 p = vec4(subgroupShuffle(score[i].x, source), subgroupShuffle(score[i].y, source), subgroupShuffle(score[i].z, source),
                                    subgroupShuffle(score[i].w, source));
                z0[i] += b0 * p;
                if (BLOCKS > 1) z1[i] += b1 * p;
            }
        }
    }

    const float gate = gates[head];
    vec4 own = vec4(0.0); // statistics of the row of this lane
    [[unroll]] for (uint i = 0; i < WIDTH; ++i) {
        const float inverse = maximum[i] <= NOTHING_SEEN ? 0.0 : 1.0 / sumOfLanes(sum[i]), factor = gate * inverse;
        if (lane == i) own.xy = vec2(maximum[i], inverse);
        if (span <= 4) z0[i] += subgroupShuffleXor(z0[i], 4);
        if (span <= 2) z0[i] += subgroupShuffleXor(z0[i], 2);
        if (span <= 1) z0[i] += subgroupShuffleXor(z0[i], 1);
        if (row + i < endRow) {
            const uint at = ((row + i) * heads + head) * headVectors + firstVector + feature;
            if (keySet == 0 && feature < passVectors) z[at] = z0[i] * factor;
            if (BLOCKS > 1 && feature + WIDTH < passVectors) z[at + WIDTH] = z1[i] * factor;
        }
    }
    if (gl_WorkGroupID.z == 0 && row + lane < endRow) statistics[head * queries + row + lane] = own;
}
