#version 450

// An attention pattern where the engine left it: one probability per tile pixel, drawn as viridis. Mirrors PatternPush in
// app/scope/pattern_pipeline.h.
layout(push_constant) uniform Push {
    vec2 origin;    // of cell (0, 0) in framebuffer pixels; the legend's top left corner
    float cellSize; // framebuffer pixels; the legend's height
    float exponent; // of the probability before colouring: 1 linear, 0.5 lifts faint cells
    uint first;     // index of the tile's first pixel in the buffer
    uint rowStride;
    uint rows, columns;
    uint queryBegin, queryEnd;
    uint keyBegin, keyEnd;
    uint window; // a query sees this many keys back; 0: all
    uint flags;  // kCausal, kLegend
    float largest; // probability of the brightest colour
};
layout(set = 0, binding = 0, std430) readonly buffer Pattern { float pixels[]; };
layout(location = 0) out vec4 colour;

const uint kCausal = 1u, kLegend = 2u;
const vec3 kPage = vec3(0.071, 0.078, 0.094);   // outside the pattern, and between cells
const vec3 kMasked = vec3(0.110, 0.118, 0.141); // what the mask hides: not the same as probability 0
const float kSmallestGrid = 9.0;                // cells below this many pixels have no lines between them

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

// The tile pixels that a range of cells falls on.
uvec2 tileRange(float from, float to, uint begin, uint end, uint count) {
    const float perCell = float(count) / float(end - begin);
    const float low = (from - float(begin)) * perCell, high = (to - float(begin)) * perCell;
    const uint first = uint(clamp(low, 0.0, float(count - 1u)));
    return uvec2(first, max(first + 1u, min(uint(max(ceil(high), 0.0)), count)));
}

void main() {
    if ((flags & kLegend) != 0u) {
        // Linear in colour: the labels beside it say which probabilities these are.
        colour = vec4(viridis(clamp(1.0 - (gl_FragCoord.y - origin.y) / cellSize, 0.0, 1.0)), 1.0);
        return;
    }
    colour = vec4(kPage, 1.0);
    const vec2 cell = (gl_FragCoord.xy - origin) / cellSize;
    const vec2 begin = vec2(keyBegin, queryBegin), end = vec2(keyEnd, queryEnd);
    if (any(lessThan(cell, begin)) || any(greaterThanEqual(cell, end))) return;
    if (cellSize >= kSmallestGrid && any(lessThan(fract(cell) * cellSize, vec2(1.0)))) return;

    const float halfPixel = 0.5 / cellSize;
    const bool coversCells = cellSize < 1.0; // then the brightest cell wins, as in the tile itself
    const vec2 low = coversCells ? max(cell - halfPixel, begin) : floor(cell), high = coversCells ? min(cell + halfPixel, end) : floor(cell) + 1.0;
    const float query = floor(high.y - 0.001), key = floor(low.x);
    if (((flags & kCausal) != 0u && key > query) || (window > 0u && floor(low.y) - floor(high.x - 0.001) >= float(window))) {
        colour = vec4(kMasked, 1.0);
        return;
    }
    const uvec2 down = tileRange(low.y, high.y, queryBegin, queryEnd, rows), across = tileRange(low.x, high.x, keyBegin, keyEnd, columns);
    float probability = 0.0;
    for (uint y = down.x; y < down.y; ++y)
        for (uint x = across.x; x < across.y; ++x) probability = max(probability, pixels[first + y * rowStride + x]);
    colour = vec4(viridis(pow(clamp(probability / largest, 0.0, 1.0), exponent)), 1.0);
}
