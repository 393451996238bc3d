#include "engine/text/byte_alphabet.h"

#include "engine/text/utf8.h"

#include <array>

namespace attn {
namespace {

constexpr bool standsForItself(unsigned byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

constexpr std::array<char32_t, 256> kCharacters = [] {
    std::array<char32_t, 256> characters{};
    char32_t shifted = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) characters[byte] = standsForItself(byte) ? char32_t{byte} : shifted++;
    return characters;
}();

constexpr std::array<int, 0x144> kBytes = [] {
    std::array<int, 0x144> bytes{};
    bytes.fill(-1);
    for (int byte = 0; byte < 256; ++byte) bytes[kCharacters[static_cast<size_t>(byte)]] = byte;
    return bytes;
}();

} // namespace

AlignedText toByteAlphabet(const AlignedText& text) {
    AlignedText result;
    for (size_t at = 0; at < text.text().size(); ++at) {
        const auto byte = static_cast<unsigned char>(text.text()[at]);
        result.append(utf8::encode(kCharacters[byte]), text.origin(at, at + 1));
    }
    return result;
}

std::optional<std::string> fromByteAlphabet(std::string_view token) {
    std::string bytes;
    for (size_t at = 0; at < token.size();) {
        const char32_t character = utf8::next(token, at);
        if (character >= kBytes.size() || kBytes[character] < 0) return std::nullopt;
        bytes.push_back(static_cast<char>(static_cast<unsigned char>(kBytes[character])));
    }
    return bytes;
}

} // namespace attn
