#include "engine/session/mirror_protocol.h"
#include "tests/fuzz/fuzz.h"

using namespace attn;

/// What attention-scope reads from its local socket, in two pieces.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text = fuzz::textOf(data, size);
    MirrorReader reader;
    for (const std::string_view piece : {text.substr(0, size / 2), text.substr(size / 2), std::string_view("\n")})
        for (const std::string& line : reader.add(std::string(piece)))
            fuzz::mayRefuse([&] {
                const MirrorMessage message = parseMirrorLine(line);
                fuzz::require(parseMirrorLine(mirrorLine(message)) == message, "a message is written as it was read");
            });
    return 0;
}
