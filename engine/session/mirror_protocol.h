#pragma once

#include "engine/inference/changes.h"

#include <optional>
#include <string>
#include <vector>

namespace attn {

/// A message that asks another window to show the same: one JSON object per line over a local socket, in UTF-8. A
/// missing field changes nothing. Fields take effect in this order.
///
///     {"path": "builtin:stories", "prompt": "Once upon a time"}
///     {"tokens": [1, 403, 407], "promptLength": 2}
///     {"site": "blocks.3.attn", "head": 1, "view": "head"}
///     {"step": 1}
///     {"changes": {"valueChanges": [{"kind": "zero", "hook": "blocks.1.hook_mlp_out"}]}}
///     {"theme": "light"}
struct MirrorMessage {
    std::optional<std::string> path;        ///< path of a model to open
    std::optional<std::string> prompt;      ///< text; ignored if there are tokens
    std::optional<std::vector<int>> tokens; ///< the whole sequence, as ids
    std::optional<std::vector<int>> types;  ///< with tokens: see TextInput::types; missing: 0
    std::optional<std::vector<int>> tree;   ///< with tokens: see TextInput::parents; missing: the model's own
    std::optional<int> promptLength;        ///< number of tokens that are prompt; missing: all
    int step = 0;                           ///< number of tokens to generate
    std::optional<Changes> changes;         ///< replace all others; in the format of session files
    std::optional<int> site, head;          ///< the site is written as the name of its site
    std::optional<std::string> view;        ///< its name on the command line of attention-scope
    std::optional<std::string> theme;       ///< "dark" or "light"
    bool operator==(const MirrorMessage&) const = default;
};

/// A message as a line, with a line break.
std::string mirrorLine(const MirrorMessage& message);

/// Reads a message. Ignores unknown fields, so that newer programs can talk to older ones. JSON may be nested at most
/// 64 deep.
/// @param line with or without a line break
/// @throws Error telling what is wrong with the line
MirrorMessage parseMirrorLine(const std::string& line);

/// Splits the bytes from a socket into lines.
class MirrorReader {
public:
    /// Adds bytes. @return the lines that are now complete, without line breaks
    std::vector<std::string> add(const std::string& bytes);

    static constexpr size_t kLongestLine = size_t{16} << 20; ///< bytes; longer lines are ignored

private:
    std::string rest_;
    bool isTooLong_ = false;
};

} // namespace attn
