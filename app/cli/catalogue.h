#pragma once

#include <span>

namespace attn::cli {

class Command;

/// A subcommand of attention-cli.
struct CommandEntry {
    const char* name;
    const char* group;             ///< title in the program's help
    const char* summary;           ///< begins with a verb; no full stop
    void (*add)(Command& command); ///< options, examples and action
};

/// All subcommands, in the order of the program's help.
std::span<const CommandEntry> commandCatalogue();

} // namespace attn::cli
