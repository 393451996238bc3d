// Masks of tiles of queries and keys, for the fused attention kernels. Include after ATTENTION_PUSH is declared.

// head / (heads / groups) without integer division, which is slow on software Vulkan.
uint groupOf(uint head) { return uint((float(head * groups) + 0.5) / float(heads)); }

// Tile `index` of eight rows: the first of them, where its sequence begins and ends. Tiles do not cross sequences.
uvec3 tileOf(uint index, uint rows) {
    if (sequence == 0u) return uvec3(index * 8, 0, rows);
    const uint perSequence = (sequence + 7) / 8, first = index / perSequence * sequence;
    return uvec3(first + index % perSequence * 8, first, min(first + sequence, rows));
}

// Which of keys 4 i to 4 i + 3 exist, by index.
bvec4 exists4(uint vector, uint live) { return lessThan(uvec4(vector * 4) + uvec4(0, 1, 2, 3), uvec4(live)); }

// Which of four keys a query sees.
bvec4 visible4(int queryAt, ivec4 keyAt, bvec4 exist) {
    const bvec4 past = lessThanEqual(keyAt, ivec4(queryAt));
    const bvec4 near = lessThan(ivec4(queryAt) - keyAt, ivec4(window));
    return bvec4(exist.x && (causal == 0u || past.x) && (window == 0u || near.x),
                 exist.y && (causal == 0u || past.y) && (window == 0u || near.y),
                 exist.z && (causal == 0u || past.z) && (window == 0u || near.z),
                 exist.w && (causal == 0u || past.w) && (window == 0u || near.w));
}

// Which of four keys some query at positions from `oldest` to `newest` may see.
bvec4 reached4(int oldest, int newest, ivec4 keyAt, bvec4 exist) {
    const uvec4 past = uvec4(lessThanEqual(keyAt, ivec4(newest))) | uint(causal == 0u);
    const uvec4 near = uvec4(lessThan(ivec4(oldest) - keyAt, ivec4(window))) | uint(window == 0u);
    return bvec4(past & near & uvec4(exist));
}

// Which of four queries may see some key at positions from `oldest` to `newest`.
bvec4 reachedBy4(int oldest, int newest, ivec4 queryAt, bvec4 exist) {
    const uvec4 past = uvec4(lessThanEqual(ivec4(oldest), queryAt)) | uint(causal == 0u);
    const uvec4 near = uvec4(lessThan(queryAt - ivec4(newest), ivec4(window))) | uint(window == 0u);
    return bvec4(past & near & uvec4(exist));
}
