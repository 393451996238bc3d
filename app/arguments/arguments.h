#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The command line of a program and its help. CLI11 reads the arguments; only arguments.cpp includes it.

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace attn::cli {

struct HelpPage;

/// An option or argument of a command. Its functions describe it further, and help shows the description.
class Option {
public:
    Option& required(bool isRequired = true);
    Option& range(double minimum, double maximum); ///< both included
    Option& atLeast(double minimum);
    Option& above(double minimum);
    Option& choices(std::vector<std::string> choices);
    /// The default that help shows instead of the variable's value; empty: help shows none.
    Option& defaultText(std::string text);
    /// Accepts several values, separated by commas.
    Option& listed();
    /// Accepts exactly this many values.
    Option& expects(int count);
    Option& excludes(const Option& other);
    Option& needs(const Option& other);
    Option& hidden(); ///< from help

private:
    friend class Command;
    /// "FILE (required; 1 to 5; default: 3)" after the help.
    std::string text() const;
    /// Reads a number of the option. @return a description of the mistake; empty if it is valid
    template <class T> std::string read(const std::string& text, T& value) const;

    std::string name_, value_, help_, default_;
    std::vector<std::string> choices_;
    std::string range_;                           ///< "1 to 5"; empty if the variable's type is the only limit
    std::function<bool(double value)> isInRange_; ///< empty: as above
    bool isRequired_ = false, isHidden_ = false, isPositional_ = false;
    CLI::Option* parsed_ = nullptr;
};

/// The output of a program that does not run: help, its version, or an error in its arguments.
struct Reply {
    std::string text;
    int exitCode = 0; ///< 2: the arguments are wrong
};

/// A program or one of its subcommands. Variables that options set must live until the command has run.
class Command {
public:
    /// @param summary one line that begins with a verb, without a full stop
    Command(std::string name, std::string summary, const std::string& version);
    ~Command();
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;

    /// @param group title under which help lists it
    Command& subcommand(const std::string& name, std::string summary, std::string group = "Commands");
    void alias(const std::string& name); ///< another name, which help does not list

    /// An option with a value. @param name with its placeholder: "--out FILE"
    /// T: std::string, int, int64_t, uint64_t, float, double, and vectors of std::string and int. Whole numbers are
    /// decimal and must fit the variable and the range. Other numbers must be finite.
    template <class T> Option& option(const std::string& name, T& variable, std::string help);
    /// A positional argument. @param name "PATH", or "SPEC ..." for several; T as above
    template <class T> Option& argument(const std::string& name, T& variable, std::string help);
    Option& flag(const std::string& name, bool& variable, std::string help);
    /// An option with its own reader. @param read receives the text and returns a description of the mistake; empty:
    /// valid
    Option& textOption(const std::string& name, std::function<std::string(const std::string&)> read, std::string help);
    Option& numberOption(const std::string& name, std::function<void(double)> take, std::string help);
    Option& wholeNumberOption(const std::string& name, std::function<void(int64_t)> take, std::string help);
    Option& flagAction(const std::string& name, std::function<void()> act, std::string help);

    void about(std::string paragraph); ///< adds a paragraph to the help, below the usage
    void list(std::string title, std::vector<std::pair<std::string, std::string>> rows); ///< adds a list to the help
    void example(std::string commandLine);
    void seeAlso(std::vector<std::string> programs);
    /// Sets the function that run() calls if this command was chosen. @param act returns the exit code
    void action(std::function<int()> act);

    /// Reads the arguments. @param arguments without the program's name  @return nothing if the program should run
    std::optional<Reply> parse(std::vector<std::string> arguments);
    /// Runs the action of the chosen command, which parse() found.
    int run() const;
    /// Whether the parsed arguments hold this option. @param name "--out", or "SPEC ..." of an argument
    bool isGiven(std::string_view name) const;

    HelpPage help() const;

private:
    Command(std::string path, std::string name, std::string summary, std::string group);
    Option& added(const std::string& name, std::string help, CLI::Option* parsed, bool isPositional);
    template <class T> Option& numeric(const std::string& name, std::function<void(const T&)> take, std::string help);
    const Command& chosen() const;                  ///< the innermost command that the arguments name
    bool takesValue(const std::string& flag) const; ///< whether it or a subcommand has this option
    std::vector<HelpPage> pages() const;            ///< the page of this command, then those of all subcommands

    std::string path_, name_, summary_, group_;
    std::unique_ptr<CLI::App> owned_; ///< set in the program, null in subcommands
    CLI::App* app_ = nullptr;
    std::vector<std::unique_ptr<Option>> options_;
    std::vector<std::unique_ptr<Command>> subcommands_;
    std::vector<std::string> about_, examples_, seeAlso_;
    std::vector<std::pair<std::string, std::vector<std::pair<std::string, std::string>>>> lists_;
    std::function<int()> act_;
    bool hasVersion_ = false;
};

} // namespace attn::cli
