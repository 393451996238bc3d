// How every shader of the engine sees tensors.
//
// Binding 0 holds StepParams; inputs and outputs follow in order. Tensors are row-major with the last axis padded to a multiple
// of 4 floats; the padding is always zero. INPUT4 is a texel buffer or a storage buffer of vec4, whichever the device prefers
// (TEXEL); a texel view is also not bound by the 128 MiB that a storage binding may be limited to. Nothing may rely on
// out-of-range reads.

layout(std430, binding = 0) readonly buffer StepParamsBuffer { uint stepWords[16]; };
#define STEP_UINT(slot) stepWords[slot]
#define STEP_FLOAT(slot) uintBitsToFloat(stepWords[slot])

// Slots, in the order of attn::StepScalar.
#define STEP_COUNTER 0
#define STEP_SEED 1
#define STEP_QUERY_LENGTH 2
#define STEP_CACHE_OFFSET 3
#define STEP_KEY_LENGTH 4
#define STEP_MICRO_STEP 5
#define STEP_LEARNING_RATE 6
#define STEP_MOMENT_CORRECTION 7
#define STEP_VARIANCE_CORRECTION 8

#if TEXEL
#define INPUT4(slot, name) layout(binding = slot) uniform textureBuffer name
#define LOAD4(name, index) texelFetch(name, int(index))
#else
#define INPUT4(slot, name)                                                                                                        \
    layout(std430, binding = slot) readonly buffer name##Buffer { vec4 name[]; }
#define LOAD4(name, index) name[index]
#endif

#define INPUT_F(slot, name) layout(std430, binding = slot) readonly buffer name##Buffer { float name[]; }
#define INPUT_I(slot, name) layout(std430, binding = slot) readonly buffer name##Buffer { int name[]; }
#define INPUT_U(slot, name) layout(std430, binding = slot) readonly buffer name##Buffer { uint name[]; }
#define OUTPUT4(slot, name) layout(std430, binding = slot) writeonly buffer name##Buffer { vec4 name[]; }
#define OUTPUT_F(slot, name) layout(std430, binding = slot) writeonly buffer name##Buffer { float name[]; }
#define OUTPUT_I(slot, name) layout(std430, binding = slot) writeonly buffer name##Buffer { int name[]; }
#define OUTPUT_U(slot, name) layout(std430, binding = slot) writeonly buffer name##Buffer { uint name[]; }

// Scores at or below this are invisible.
#define MASKED (-1e30)
// Below every score and far above MASKED: the running maximum of a row that has seen nothing.
#define NOTHING_SEEN (-1e20)
#define LOG2_E 1.4426950408889634

#define NO_LIVE_SLOT 255u

// How many entries of axis 0 are in use this step.
uint liveCount(uint capacity, uint liveSlot) { return liveSlot == NO_LIVE_SLOT ? capacity : min(capacity, stepWords[liveSlot & 15u]); }

// The same in vec4s, for kernels that walk a whole tensor.
uint liveVectors(uint vectors, uint unitVectors, uint liveSlot) {
    return liveSlot == NO_LIVE_SLOT ? vectors : min(vectors, stepWords[liveSlot & 15u] * unitVectors);
}
