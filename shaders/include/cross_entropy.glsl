// What cross-entropy and its gradient share. Include after tensor.glsl; the shader declares INPUT4 logits and the push constant
// `columns`.
vec4 loadLogits(uint base, uint vector) {
    return mix(vec4(MASKED), LOAD4(logits, base + vector), lessThan(uvec4(vector * 4) + uvec4(0, 1, 2, 3), uvec4(columns)));
}

// Maximum of a row and the sum of exp(logit - maximum): one subgroup.
vec2 rowSoftmax(uint base, uint vectors) {
    vec4 largest = vec4(MASKED);
    for (uint i = gl_SubgroupInvocationID; i < vectors; i += gl_SubgroupSize) largest = max(largest, loadLogits(base, i));
    const float maximum = subgroupMax(max(max(largest.x, largest.y), max(largest.z, largest.w)));
    vec4 sum = vec4(0.0);
    for (uint i = gl_SubgroupInvocationID; i < vectors; i += gl_SubgroupSize) sum += exp(loadLogits(base, i) - maximum);
    return vec2(maximum, subgroupAdd(sum.x + sum.y + sum.z + sum.w));
}
