// Weights that are read as they are stored (attn::Storage), four numbers at a time. Include after tensor.glsl.
//
// WEIGHTS declares the words w[] of a binding, and the constant that names their storage. The words of a row are its numbers, then
// what scales its blocks: see attn::storedRow().
#define WEIGHTS(slot, storageConstant)                                                                                            \
    layout(constant_id = storageConstant) const uint STORAGE = 1;                                                                 \
    INPUT_U(slot, w)

// In the order of attn::Storage.
#define STORED_F16 1u
#define STORED_BF16 2u
#define STORED_Q8_0 3u
#define STORED_Q4_0 4u

#define HALF_AT(base, index) (unpackHalf2x16(w[(base) + (index) / 2])[(index) % 2])
#define BYTE_AT(base, index) float((w[(base) + (index) / 4] >> ((index) % 4 * 8)) & 255u)
// Four numbers of four bits: number 16 j + l of 128 is half byte j of word l.
#define NIBBLES(first, vector)                                                                                                    \
    vec4((uvec4(w[first], w[(first) + 1], w[(first) + 2], w[(first) + 3]) >> ((vector) % 32 / 4 * 4)) & 15u)

// weight4(): numbers 4 vector to 4 vector + 3 of a row of rowWords words.
#define DEFINE_WEIGHT4                                                                                                            \
    vec4 weight4(uint row, uint vector, uint rowWords, uint columns) {                                                            \
        const uint base = row * rowWords, group = vector / 8;                                                                     \
        if (STORAGE == STORED_F16)                                                                                                \
            return vec4(unpackHalf2x16(w[base + vector * 2]), unpackHalf2x16(w[base + vector * 2 + 1]));                          \
        if (STORAGE == STORED_BF16) {                                                                                             \
            const uvec2 both = uvec2(w[base + vector * 2], w[base + vector * 2 + 1]);                                             \
            return uintBitsToFloat(uvec4(both.x << 16, both.x & 0xffff0000u, both.y << 16, both.y & 0xffff0000u));                \
        }                                                                                                                         \
        if (STORAGE == STORED_Q8_0) {                                                                                             \
            const ivec4 q = (ivec4(w[base + vector]) << ivec4(24, 16, 8, 0)) >> 24;                                               \
            return vec4(q) * HALF_AT(base + columns / 4, group);                                                                  \
        }                                                                                                                         \
        const vec4 q = NIBBLES(base + vector / 32 * 16 + vector % 4 * 4, vector);                                                 \
        if (STORAGE == STORED_Q4_0) return (q - 8.0) * HALF_AT(base + (columns + 127) / 128 * 16, group);                         \
        const uint scales = base + columns / 8 + group / 8 * 5, part = group % 8;                                                 \
        return q * (HALF_AT(scales, 0) * BYTE_AT(scales + 1, part)) - HALF_AT(scales, 1) * BYTE_AT(scales + 3, part);             \
    }
