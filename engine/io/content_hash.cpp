#include "engine/io/content_hash.h"

#include "engine/io/input_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <vector>

namespace attn {
namespace {

constexpr size_t kBlockBytes = 64;

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kRounds{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/// SHA-256 of bytes that come in pieces.
class Sha256 {
public:
    /// Adds a piece. Its size must be a multiple of kBlockBytes, except that of the last.
    void add(std::span<const std::byte> bytes) {
        size_ += bytes.size();
        for (; bytes.size() >= kBlockBytes; bytes = bytes.subspan(kBlockBytes)) addBlock(bytes.first<kBlockBytes>());
        rest_.assign(bytes.begin(), bytes.end());
    }

    std::string finish() {
        rest_.push_back(std::byte{0x80});
        while (rest_.size() % kBlockBytes != kBlockBytes - 8) rest_.push_back(std::byte{0});
        for (int shift = 56; shift >= 0; shift -= 8) rest_.push_back(static_cast<std::byte>(size_ * 8 >> shift));
        for (std::span<const std::byte> left = rest_; !left.empty(); left = left.subspan(kBlockBytes))
            addBlock(left.first<kBlockBytes>());
        std::string digits;
        for (const uint32_t word : state_) digits += fmt::format("{:08x}", word);
        return digits;
    }

private:
    void addBlock(std::span<const std::byte, kBlockBytes> block) {
        std::array<uint32_t, 64> words{};
        for (size_t i = 0; i < kBlockBytes; ++i) words[i / 4] = words[i / 4] << 8 | static_cast<uint32_t>(block[i]);
        for (size_t i = 16; i < words.size(); ++i) {
            const uint32_t early = words[i - 15], late = words[i - 2];
            words[i] = words[i - 16] + (std::rotr(early, 7) ^ std::rotr(early, 18) ^ early >> 3) + words[i - 7] +
                       (std::rotr(late, 17) ^ std::rotr(late, 19) ^ late >> 10);
        }
        auto [a, b, c, d, e, f, g, h] = state_;
        for (size_t i = 0; i < words.size(); ++i) {
            const uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) +
                                   kRounds[i] + words[i],
                           second =
                               (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
            h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
        }
        const std::array<uint32_t, 8> now{a, b, c, d, e, f, g, h};
        for (size_t i = 0; i < now.size(); ++i) state_[i] += now[i];
    }

    /// At first the first 32 bits of the fractional parts of the square roots of the first 8 primes.
    std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::vector<std::byte> rest_;
    uint64_t size_ = 0;
};

} // namespace

std::string sha256(std::span<const std::byte> bytes) {
    Sha256 hash;
    hash.add(bytes);
    return hash.finish();
}

std::string sha256OfFile(const std::filesystem::path& path) {
    const InputFile file(path);
    std::vector<std::byte> piece(1 << 20);
    Sha256 hash;
    for (uint64_t at = 0; at < file.sizeBytes(); at += piece.size()) {
        piece.resize(std::min<uint64_t>(piece.size(), file.sizeBytes() - at));
        file.read(at, piece);
        hash.add(piece);
    }
    return hash.finish();
}

std::string contentHash(std::span<const std::filesystem::path> files, const std::filesystem::path& folder) {
    std::multimap<std::string, std::string> hashes; // files of the same name keep their order
    for (const std::filesystem::path& file : files)
        hashes.emplace((folder.empty() ? file.filename() : file.lexically_relative(folder)).string(),
                       sha256OfFile(file));
    std::string lines;
    for (const auto& [name, hash] : hashes) lines += fmt::format("{}  {}\n", hash, name);
    return sha256(std::as_bytes(std::span(lines)));
}

} // namespace attn
