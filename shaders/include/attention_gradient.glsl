// What the kernels of the fused attention gradient share (Dao et al. 2022, arXiv:2205.14135, algorithm 4): the pattern is computed
// anew from q, k and each row's statistics, and never stored. Eight rows of one head per set of eight lanes, against 32 rows of the
// other side at a time, four to a lane. Include after tensor.glsl, lanes8.glsl and attention.glsl.
//
// Local size 8 x L. Grid ceil(tiles of rows / L) x heads (or groups) x ceil(D / (32 BLOCKS)).
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(constant_id = 2) const uint BLOCKS = 2; // of 32 features, 1 or 2
layout(push_constant) uniform Push { ATTENTION_PUSH };
#include "attention_tile.glsl"
#include "attention_products.glsl"

int minOfLanes(int x) {
    x = min(x, subgroupShuffleXor(x, 1));
    x = min(x, subgroupShuffleXor(x, 2));
    return min(x, subgroupShuffleXor(x, 4));
}
int maxOfLanes(int x) {
    x = max(x, subgroupShuffleXor(x, 1));
    x = max(x, subgroupShuffleXor(x, 2));
    return max(x, subgroupShuffleXor(x, 4));
}

// The first block of 32 rows at or after `begin`, in fours, of which REACHED(vector), a bvec4, holds for some. A loop of its own:
// software Vulkan executes both sides of a branch, but leaves a loop once no lane is in it.
#define SKIP_TO_REACHED(begin, end, REACHED)                                                                                      \
    for (; (begin) * 4 < (end); begin += WIDTH)                                                                                   \
        if (anyOfLanes(any(REACHED((begin) + lane)))) break;
