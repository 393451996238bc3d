// A linear recurrence over rows of channels, in three launches (PHASE): 0 passes each chunk of rows from a state of 0, 1 joins the
// chunks, 2 passes each from the state before it. One vec4 of channels per invocation. Include after flat.glsl.
//
// Chunks     for each chunk two rows: the product of its factors and where it ends from 0; after phase 1 the state before it
// Grid       flat, of B chunks (in phase 1: 1) vectors
layout(constant_id = 0) const uint PHASE = 0;
layout(constant_id = 1) const uint IS_COMPLEX = 0; // channels 2i and 2i + 1 are the real and the imaginary part of a number
layout(push_constant) uniform Push { uint sequences, vectors, rows, chunk, chunks, hasLengths; };

vec4 conjugate(vec4 a) { return IS_COMPLEX == 1u ? a * vec4(1.0, -1.0, 1.0, -1.0) : a; }
vec4 times(vec4 a, vec4 b) {
    return IS_COMPLEX == 1u ? vec4(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x, a.z * b.z - a.w * b.w, a.z * b.w + a.w * b.z) : a * b;
}
vec4 one() {
    if (IS_COMPLEX == 1u) return vec4(1.0, 0.0, 1.0, 0.0);
    return vec4(1.0); // a choice between constant vectors by a constant would be compiled wrongly
}
