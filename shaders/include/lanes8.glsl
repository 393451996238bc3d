// Lanes in sets of eight. On software Vulkan a subgroup is one set and a shuffle names a constant lane, which is much cheaper there;
// wider subgroups of real devices hold several sets that work side by side.
//
// Constants 0 and 1: local size, 8 x (subgroups or sets). Constant 3: 1 where the subgroup is exactly eight lanes wide.
layout(constant_id = 3) const uint IS_EXACT = 1;
const uint WIDTH = 8;

uint laneOf() { return IS_EXACT == 1u ? gl_SubgroupInvocationID : gl_SubgroupInvocationID & 7u; }
#define LANE(i) (IS_EXACT == 1u ? (i) : (gl_SubgroupInvocationID & ~7u) + (i))
#define SHUFFLE(value, i) subgroupShuffle(value, LANE(i))
#define SHUFFLE4(value, i) vec4(SHUFFLE((value).x, i), SHUFFLE((value).y, i), SHUFFLE((value).z, i), SHUFFLE((value).w, i))

float sumOfLanes(float x) {
    x += subgroupShuffleXor(x, 1);
    x += subgroupShuffleXor(x, 2);
    return x + subgroupShuffleXor(x, 4);
}

float maxOfLanes(vec4 x) {
    float y = max(max(x.x, x.y), max(x.z, x.w));
    y = max(y, subgroupShuffleXor(y, 1));
    y = max(y, subgroupShuffleXor(y, 2));
    return max(y, subgroupShuffleXor(y, 4));
}

bool anyOfLanes(bool x) {
    uint y = uint(x);
    y |= subgroupShuffleXor(y, 1);
    y |= subgroupShuffleXor(y, 2);
    return (y | subgroupShuffleXor(y, 4)) != 0u;
}
