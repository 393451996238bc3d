#include "engine/data/draws.h"

#include "engine/core/rng.h"

namespace attn {
namespace {

uint64_t add(uint64_t hash, uint8_t byte) { return (hash ^ byte) * 0x100000001B3; }

constexpr uint64_t kFnvBasis = 0xCBF29CE484222325;

/// Mixes the bits, because the high bits of FNV hardly depend on the last bytes.
/// @source Steele et al. 2014, "Fast Splittable Pseudorandom Number Generators", mix64variant13
uint64_t mix(uint64_t hash) {
    hash = (hash ^ hash >> 30) * 0xBF58476D1CE4E5B9;
    hash = (hash ^ hash >> 27) * 0x94D049BB133111EB;
    return hash ^ hash >> 31;
}

} // namespace

Draws::Draws(uint64_t seed, uint64_t index, uint32_t purpose)
    : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}, counter_{
                                                                                0, purpose,
                                                                                static_cast<uint32_t>(index),
                                                                                static_cast<uint32_t>(index >> 32)} {}

uint32_t Draws::next() {
    if (used_ == words_.size()) {
        words_ = philox(counter_, key_);
        ++counter_[0];
        used_ = 0;
    }
    return words_[used_++];
}

int Draws::below(int bound) {
    const auto count = static_cast<uint32_t>(bound);
    const uint32_t uneven = (0U - count) % count; // lower values would make some results more likely
    uint64_t scaled = uint64_t{next()} * count;
    while (static_cast<uint32_t>(scaled) < uneven) scaled = uint64_t{next()} * count;
    return static_cast<int>(scaled >> 32);
}

bool Draws::chance(double probability) { return next() * 0x1p-32 < probability; }

uint64_t hashOf(std::span<const int32_t> tokens) {
    uint64_t hash = kFnvBasis;
    for (const int32_t token : tokens)
        for (int shift = 0; shift < 32; shift += 8)
            hash = add(hash, static_cast<uint8_t>(static_cast<uint32_t>(token) >> shift));
    return mix(hash);
}

uint64_t hashOf(std::string_view text) {
    uint64_t hash = kFnvBasis;
    for (const char byte : text) hash = add(hash, static_cast<uint8_t>(byte));
    return mix(hash);
}

Split splitOf(uint64_t hash, double trainShare) {
    const double place = static_cast<double>(hash >> 11) * 0x1p-53;
    if (place < trainShare) return Split::Train;
    return place < (1 + trainShare) / 2 ? Split::Validation : Split::Test;
}

} // namespace attn
