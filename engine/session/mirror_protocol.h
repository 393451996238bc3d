#pragma once

#include "engine/session/edits.h"

#include <optional>
#include <string>
#include <vector>

namespace attn {

/// What one window asks another to show as well: one JSON object to a line over a local socket, in UTF-8. What a
/// message leaves out stays as it is. Fields are taken in the order in which they stand here.
///
///     {"path": "builtin:stories", "prompt": "Once upon a time"}
///     {"tokens": [1, 403, 407], "promptLength": 2}
///     {"layer": 3, "head": 1, "view": "head"}
///     {"step": 1}
///     {"edits": {"interventions": [{"kind": "zero", "hook": "blocks.1.hook_mlp_out"}]}, "gates": []}
///     {"theme": "light"}
struct MirrorMessage {
    std::optional<std::string> path;         ///< of a model, to open
    std::optional<std::string> prompt;       ///< text; tokens win over it
    std::optional<std::vector<int>> tokens;  ///< the whole sequence by ids
    std::optional<int> promptLength;         ///< how many of the tokens are prompt; all when left out
    int step = 0;                            ///< tokens to write
    std::optional<Edits> edits;              ///< in force from now on instead of all others, as session files keep them
    std::optional<std::vector<float>> gates; ///< of all heads, layer by layer; none: every gate is open
    std::optional<int> layer, head;
    std::optional<std::string> view;  ///< by its name on the command line of attention-scope
    std::optional<std::string> theme; ///< "dark" or "light"
    bool operator==(const MirrorMessage&) const = default;
};

/// The message as a line, with its line break.
std::string mirrorLine(const MirrorMessage& message);

/// @param line with or without its line break; fields that are not known are passed over, so that newer programs can
/// say
///             more to older ones
/// @throws Error saying what is wrong with the line
MirrorMessage parseMirrorLine(const std::string& line);

/// Cuts what comes over a socket into lines.
class MirrorReader {
public:
    /// @return the whole lines so far, without line breaks
    std::vector<std::string> add(const std::string& bytes);

    static constexpr size_t kLongestLine = size_t{16} << 20; ///< bytes; longer ones are passed over

private:
    std::string rest_;
    bool isTooLong_ = false;
};

} // namespace attn
