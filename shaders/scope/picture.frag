#version 450

// A matrix where the engine left it, one value per tile pixel: an attention pattern in viridis, or any tensor, signed ones
// in colours that part at zero. Mirrors PicturePipeline::Push in app/scope/picture_pipeline.cpp.
layout(push_constant) uniform Push {
    vec4 glow;      // of row `newest` and the three before it, 0 to 1
    vec2 origin;    // of cell (0, 0) in framebuffer pixels; the legend's top left corner
    vec2 cellSize;  // framebuffer pixels; the legend's size
    uint first;     // index of the tile's first pixel in the buffer
    uint rowStride;
    uint rows, columns;
    uint queryBegin, queryEnd;
    uint keyBegin, keyEnd;
    uint window; // a query sees this many keys back; 0: all
    uint flags;
    uint newest;
    float exponent; // of the value between low and high before colouring: 1 linear, 0.5 lifts faint cells
    float low, high;
};
layout(set = 0, binding = 0, std430) readonly buffer Matrix { float pixels[]; };
layout(location = 0) out vec4 colour;

// Variants rather than branches: software Vulkan executes both sides of a branch.
layout(constant_id = 0) const bool kLegend = false; // the bar of colours rather than the matrix
layout(constant_id = 1) const bool kSigned = false;
layout(constant_id = 2) const bool kExact = false; // a cell is a tile pixel, and no smaller than one of the screen
layout(constant_id = 3) const bool kLifts = false; // the exponent is not 1

const uint kCausal = 1u, kLight = 2u;
const float kSmallestGrid = 9.0; // cells below this many pixels have no lines between them
const float kAbsent = -1e30; // as MASKED of tensor.glsl
const vec3 kNotFinite = vec3(0.90, 0.00, 0.85);

// Fit of degree 6 to matplotlib's table, by Matt Zucker (CC0, shadertoy.com/view/WlfXRN).
vec3 viridis(float t) {
    const vec3 c0 = vec3(0.2777273272234177, 0.005407344544966578, 0.3340998053353061);
    const vec3 c1 = vec3(0.1050930431085774, 1.404613529898575, 1.384590162594685);
    const vec3 c2 = vec3(-0.3308618287255563, 0.214847559468213, 0.09509516302823659);
    const vec3 c3 = vec3(-4.634230498983486, -5.799100973351585, -19.33244095627987);
    const vec3 c4 = vec3(6.228269936347081, 14.17993336680509, 56.69055260068105);
    const vec3 c5 = vec3(4.776384997670288, -13.74514537774601, -65.35303263337234);
    const vec3 c6 = vec3(-5.435455855934631, 4.645852612178535, 26.3124352495832);
    return c0 + t * (c1 + t * (c2 + t * (c3 + t * (c4 + t * (c5 + t * c6)))));
}

// ColorBrewer's RdBu of 11 classes, turned so that blue is negative.
const vec3 kParting[11] = vec3[](vec3(0.020, 0.188, 0.380), vec3(0.129, 0.400, 0.675), vec3(0.263, 0.576, 0.765),
                                 vec3(0.573, 0.773, 0.871), vec3(0.820, 0.898, 0.941), vec3(0.969, 0.969, 0.969),
                                 vec3(0.992, 0.859, 0.780), vec3(0.957, 0.647, 0.510), vec3(0.839, 0.376, 0.302),
                                 vec3(0.698, 0.094, 0.169), vec3(0.404, 0.000, 0.122));
vec3 parting(float t) {
    const float at = clamp(t, 0.0, 1.0) * 10.0;
    const int index = min(int(at), 9);
    return mix(kParting[index], kParting[index + 1], at - float(index));
}

bool has(uint flag) { return (flags & flag) != 0u; }

// The tile pixels that a range of cells falls on.
uvec2 tileRange(float from, float to, uint begin, uint end, uint count) {
    const float perCell = float(count) / float(end - begin);
    const float low = (from - float(begin)) * perCell, high = (to - float(begin)) * perCell;
    const uint first = uint(clamp(low, 0.0, float(count - 1u)));
    return uvec2(first, max(first + 1u, min(uint(max(ceil(high), 0.0)), count)));
}

void main() {
    if (kLegend) {
        // Linear in colour: the labels beside it say which values these are.
        const float t = clamp(1.0 - (gl_FragCoord.y - origin.y) / cellSize.y, 0.0, 1.0);
        colour = vec4(kSigned ? parting(t) : viridis(t), 1.0);
        return;
    }
    const bool isLight = has(kLight);
    const vec3 page = isLight ? vec3(0.965, 0.969, 0.976) : vec3(0.071, 0.078, 0.094); // also between cells
    const vec3 masked = isLight ? vec3(0.890, 0.898, 0.914) : vec3(0.110, 0.118, 0.141); // not the same as probability 0
    const vec2 cell = (gl_FragCoord.xy - origin) / cellSize, begin = vec2(keyBegin, queryBegin), end = vec2(keyEnd, queryEnd);
    const bool isOutside = any(lessThan(cell, begin)) || any(greaterThanEqual(cell, end));
    const bool isLine = min(cellSize.x, cellSize.y) >= kSmallestGrid && any(lessThan(fract(cell) * cellSize, vec2(1.0)));

    // Where a screen pixel covers several cells the strongest wins, as in the tile itself.
    const vec2 halfPixel = 0.5 / cellSize;
    const bvec2 coversCells = lessThan(cellSize, vec2(1.0));
    vec2 low2 = floor(cell), high2 = low2 + 1.0;
    if (!kExact) {
        low2 = mix(low2, max(cell - halfPixel, begin), coversCells);
        high2 = mix(high2, min(cell + halfPixel, end), coversCells);
    }
    const float query = kExact ? low2.y : floor(high2.y - 0.001), key = floor(low2.x);
    const float nearest = floor(low2.y) - (kExact ? low2.x : floor(high2.x - 0.001));
    const bool isMasked = (has(kCausal) && key > query) || (window > 0u && nearest >= float(window));
    colour = vec4(isOutside || isLine ? page : masked, 1.0);
    if (isOutside || isLine || isMasked) return;

    float value;
    if (kExact) {
        const uvec2 at = uvec2(low2 - begin);
        value = pixels[first + at.y * rowStride + at.x];
    } else {
        const uvec2 down = tileRange(low2.y, high2.y, queryBegin, queryEnd, rows), across = tileRange(low2.x, high2.x, keyBegin, keyEnd, columns);
        value = pixels[first + down.x * rowStride + across.x];
        for (uint y = down.x; y < down.y; ++y)
            for (uint x = across.x; x < across.y; ++x) {
                const float other = pixels[first + y * rowStride + x];
                // Written so that what is not a number wins too.
                const bool isWeaker = kSigned ? abs(other) <= abs(value) || other <= kAbsent : other <= value;
                if (!isWeaker || (kSigned && value <= kAbsent)) value = other;
            }
    }
    const bool isFinite = (floatBitsToUint(value) & 0x7f800000u) != 0x7f800000u;
    float t = clamp((value - low) / (high - low), 0.0, 1.0);
    if (kLifts) t = pow(t, exponent);
    const vec3 painted = kSigned ? parting(t) : viridis(t);
    const uint age = newest - uint(query);
    const float shine = age < 4u ? glow[age & 3u] : 0.0;
    const bool isAbsent = kSigned && isFinite && value <= kAbsent;
    colour = vec4(isAbsent ? masked : isFinite ? mix(painted, vec3(1.0), 0.55 * shine) : kNotFinite, 1.0);
}
