#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace attn::scope {

/// The command line of attention-scope.
struct Options {
    std::string path = "builtin:induction";
    std::string prompt;        ///< empty: the model's own example
    std::string tokens;        ///< ids instead of the prompt, for models without a tokenizer: "1,403,407"
    std::string device;        ///< empty: the best
    std::string presentDevice; ///< draws the window; empty: the same, or the best that can
    bool validation = false;
    std::optional<std::array<int64_t, 3>> random; ///< tokens, heads and width of random queries and keys, no model
    std::string view; ///< name of the first view; empty: head, or long-pattern if `random` is set
    bool presents = false, isLight = false;
    std::string follow; ///< local socket whose messages it follows (mirror_protocol.h)
    int site = 0, head = 0;
    int frames = 0;         ///< quit after this many; 0: when the window is closed
    std::string screenshot; ///< write the last frame to this file
    int width = 960, height = 800;
    bool operator==(const Options&) const = default;
};

/// The text and exit code when the program should not start: help, version, or an error in the arguments.
struct Message {
    std::string text;
    int exitCode = 0;
};

/// @param arguments without the program's name
std::variant<Options, Message> parseOptions(std::vector<std::string> arguments);

} // namespace attn::scope
