#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace attn {

/// How the numbers of a stored weight are kept. Kernels widen them to floats as they read them.
enum class Storage : uint8_t {
    F32,
    F16,
    BF16,
    Q8_0, ///< blocks of 32: a scale (f16) times integers from -127 to 127
    Q4_0, ///< blocks of 32: a scale (f16) times integers from -8 to 7
    Q4_K  ///< blocks of 256 in eight parts: integers from 0 to 15 with a scale and an offset of 6 bits each
};

/// "f32", "f16", "bf16", "q8_0", "q4_0", "q4_k".
std::string_view storageName(Storage storage);
/// @return empty if there is no storage of this name
std::optional<Storage> storageNamed(std::string_view name);
inline constexpr Storage kStorages[] = {Storage::F32,  Storage::F16,  Storage::BF16,
                                        Storage::Q8_0, Storage::Q4_0, Storage::Q4_K};

/// The length of rows must be a multiple of this, so that scales and vectors fit; 1 for f32.
int64_t storageBlock(Storage storage);
/// The storage of rows of this length, if another is wanted that does not fit: q8_0, else f32.
Storage storageFor(Storage wanted, int64_t columns);

/// Where the parts of a row lie, in bytes: first the numbers, then what scales each block. 128 numbers of four bits are
/// 16 words: number 16 j + l is half byte j of word l, so that a shift of all words gives 16 numbers in order. A block
/// of Q4_K has d and dmin (f16), eight scales and eight offsets of one byte each.
struct StoredRow {
    int64_t scalesAt = 0; ///< of the first block
    int64_t bytes = 0;    ///< from row to row: a multiple of 16
};
StoredRow storedRow(Storage storage, int64_t columns);

/// Rounds a row to its storage. @param row whose length is a multiple of storageBlock()  @source Gerganov et al., ggml:
/// the blocks q8_0, q4_0 and q4_K, whose sizes and rounding these are
void encodeRow(Storage storage, std::span<const float> row, std::byte* out);
/// The numbers that a row stands for.
void decodeRow(Storage storage, const std::byte* in, std::span<float> row);

/// IEEE 754 binary16, rounded to nearest even.
uint16_t halfOf(float value);
float floatOfHalf(uint16_t half);
/// bfloat16: the upper half of a float, rounded to nearest even.
uint16_t brainOf(float value);
float floatOfBrain(uint16_t brain);

} // namespace attn
