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
    std::string presentDevice; ///< that shows the pictures; empty: the same, or the best that can
    bool validation = false;
    std::optional<std::array<int64_t, 3>> random; ///< tokens, heads and width of random queries and keys, no model
    std::string view; ///< name of the view to begin with; empty: the head, or the lens of what is random
    bool presents = false, isLight = false;
    std::string follow; ///< a socket whose messages it follows (mirror_protocol.h)
    int layer = 0, head = 0;
    int frames = 0;         ///< quit after so many; 0: when the window is closed
    std::string screenshot; ///< write the last of the frames there
    int width = 960, height = 800;
    bool operator==(const Options&) const = default;
};

/// What to print and the exit code when the program should not start: help, version, or a mistake.
struct Message {
    std::string text;
    int exitCode = 0;
};

/// @param arguments without the program's name
std::variant<Options, Message> parseOptions(std::vector<std::string> arguments);

} // namespace attn::scope
