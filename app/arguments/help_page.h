#pragma once

#include <span>
#include <string>
#include <vector>

namespace attn::cli {

/// A list of names with their meanings: options, environment variables, mask terms.
struct HelpList {
    struct Row {
        std::string name, text;
    };
    std::string title;
    std::vector<Row> rows;
};

/// The help of one command as data, from which `--help` and the manual are written.
struct HelpPage {
    std::string path;                  ///< "attention-cli mask"
    std::string summary;               ///< "Draw, write or count an attention mask", without a full stop
    std::vector<std::string> usage;    ///< "attention-cli mask EXPRESSION --size N [options]"
    std::vector<std::string> about;    ///< paragraphs
    std::vector<HelpList> commands;    ///< subcommands by group
    std::vector<HelpList> lists;       ///< arguments and options first
    std::vector<std::string> examples; ///< command lines
    std::vector<std::string> seeAlso;  ///< pages of the manual: "attention-lab"
};

/// The page as `--help` prints it, at most 96 columns wide in any terminal.
std::string plainText(const HelpPage& page);
/// A page of the manual in roff: first the program's page, then those of its commands.
std::string manualOf(std::span<const HelpPage> pages);

} // namespace attn::cli
