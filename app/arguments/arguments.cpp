#include "app/arguments/arguments.h"

#include "app/arguments/help_page.h"
#include "app/arguments/numbers.h"
#include "engine/core/quoting.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <type_traits>

namespace attn::cli {
namespace {

constexpr int kWrongArguments = 2;

/// "--out" and "FILE" of "--out FILE".
std::pair<std::string, std::string> split(const std::string& name) {
    const size_t space = std::min(name.find(' '), name.size());
    return {name.substr(0, space), name.substr(std::min(space + 1, name.size()))};
}

/// A variable's value as the default in help; empty if help shows none.
template <class T> std::string defaultOf(const T& value) {
    if constexpr (std::is_same_v<T, std::string>)
        return value;
    else if constexpr (std::is_arithmetic_v<T>)
        return fmt::format("{}", value);
    else
        return fmt::format("{}", fmt::join(value, ","));
}

template <class T> constexpr bool kIsList = false;
template <class T> constexpr bool kIsList<std::vector<T>> = true;

} // namespace

Option& Option::required(bool isRequired) {
    isRequired_ = isRequired;
    parsed_->required(isRequired);
    return *this;
}

template <class T> std::string Option::read(const std::string& text, T& value) const {
    bool fits = true;
    if constexpr (std::is_integral_v<T>) {
        const size_t first = text.starts_with('-') ? 1 : 0;
        if (text.size() == first || text.find_first_not_of("0123456789", first) != std::string::npos)
            return fmt::format("\"{}\" is not a whole number", text);
        fits = std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc();
    } else {
        const auto number = finiteNumber(text);
        if (!number) return fmt::format("\"{}\" is not a finite number", text);
        value = static_cast<T>(*number);
        fits = std::isfinite(value);
    }
    using Limits = std::numeric_limits<T>;
    if (!fits) return fmt::format("{} is out of range: give {} to {}", text, Limits::lowest(), Limits::max());
    if (!isInRange_ || isInRange_(static_cast<double>(value))) return {};
    return fmt::format("{} is out of range: give {}", text, range_);
}

Option& Option::range(double minimum, double maximum) {
    range_ = fmt::format("{} to {}", minimum, maximum);
    isInRange_ = [=](double value) { return value >= minimum && value <= maximum; };
    return *this;
}

Option& Option::atLeast(double minimum) {
    range_ = fmt::format("{} or more", minimum);
    isInRange_ = [=](double value) { return value >= minimum; };
    return *this;
}

Option& Option::above(double minimum) {
    range_ = fmt::format("more than {}", minimum);
    isInRange_ = [=](double value) { return value > minimum; };
    return *this;
}

Option& Option::choices(std::vector<std::string> choices) {
    choices_ = std::move(choices);
    parsed_->check([known = choices_](const std::string& text) {
        return std::ranges::find(known, text) != known.end()
                   ? std::string()
                   : fmt::format("there is no \"{}\": choose {}", text, fmt::join(known, ", "));
    });
    return *this;
}

Option& Option::defaultText(std::string text) {
    default_ = std::move(text);
    return *this;
}

Option& Option::listed() {
    parsed_->delimiter(',');
    return *this;
}

Option& Option::expects(int count) {
    parsed_->expected(count);
    return *this;
}

Option& Option::excludes(const Option& other) {
    parsed_->excludes(other.parsed_);
    return *this;
}

Option& Option::needs(const Option& other) {
    parsed_->needs(other.parsed_);
    return *this;
}

Option& Option::hidden() {
    isHidden_ = true;
    return *this;
}

std::string Option::text() const {
    std::vector<std::string> facts;
    if (isRequired_) facts.emplace_back("required");
    if (!choices_.empty()) facts.push_back(fmt::format("one of {}", fmt::join(choices_, ", ")));
    if (!range_.empty()) facts.push_back(range_);
    if (!default_.empty() && !isRequired_) facts.push_back("default: " + default_);
    return facts.empty() ? help_ : fmt::format("{} ({})", help_, fmt::join(facts, "; "));
}

Command::Command(std::string name, std::string summary, const std::string& version)
    : path_(name), name_(name), summary_(std::move(summary)), owned_(std::make_unique<CLI::App>("", name)),
      app_(owned_.get()) {
    app_->set_help_flag("-h,--help", "");
    if (version.empty()) return;
    app_->set_version_flag("-v,--version", version);
    hasVersion_ = true;
}

Command::Command(std::string path, std::string name, std::string summary, std::string group)
    : path_(std::move(path)), name_(std::move(name)), summary_(std::move(summary)), group_(std::move(group)) {}

Command::~Command() = default;

Command& Command::subcommand(const std::string& name, std::string summary, std::string group) {
    auto& command = subcommands_.emplace_back(
        new Command(fmt::format("{} {}", path_, name), name, std::move(summary), std::move(group)));
    command->app_ = app_->add_subcommand(name, "");
    return *command;
}

void Command::alias(const std::string& name) { app_->alias(name); }

Option& Command::added(const std::string& name, std::string help, CLI::Option* parsed, bool isPositional) {
    auto& option = options_.emplace_back(new Option);
    std::tie(option->name_, option->value_) = split(name);
    option->help_ = std::move(help);
    option->parsed_ = parsed;
    option->isPositional_ = isPositional;
    // An empty value, as of a variable that a script has not set, must not stand for "none given". Texts, and the ids
    // of their tokens, may be empty.
    constexpr std::array<std::string_view, 3> kNames{"FILE", "DIR", "PATH"};
    constexpr std::array<std::string_view, 2> kTexts{"TEXT", "IDS"};
    const std::string& kind = isPositional ? option->name_ : option->value_;
    const bool isName = std::ranges::find(kNames, kind) != kNames.end();
    if (parsed && !kind.empty() && std::ranges::find(kTexts, kind) == kTexts.end())
        parsed->check([isName, made = option.get()](const std::string& given) {
            const bool isTold = !given.empty() || !made->choices_.empty(); // the choices are in that message
            return std::string(isTold ? "" : isName ? "the name is empty" : "the value is empty");
        });
    return *option;
}

/// @tparam T a number or a list of them
template <class T>
Option& Command::numeric(const std::string& name, std::function<void(const T&)> take, std::string help) {
    using Texts = std::conditional_t<kIsList<T>, std::vector<std::string>, std::string>;
    const std::string flag = split(name).first;
    Option& option = added(name, std::move(help), nullptr, false);
    option.parsed_ =
        app_->add_option_function<Texts>(flag, [&option, flag, take = std::move(take)](const Texts& texts) {
            const auto read = [&](const std::string& text, auto& value) {
                if (const std::string mistake = option.read(text, value); !mistake.empty())
                    throw CLI::ValidationError(flag, mistake);
            };
            T values{};
            if constexpr (kIsList<T>)
                for (const std::string& text : texts) read(text, values.emplace_back());
            else
                read(texts, values);
            take(values);
        });
    return option;
}

template <class T> Option& Command::option(const std::string& name, T& variable, std::string help) {
    constexpr bool kIsText = std::is_same_v<T, std::string> || std::is_same_v<T, std::vector<std::string>>;
    Option* option = nullptr;
    if constexpr (kIsText)
        option = &added(name, std::move(help), app_->add_option(split(name).first, variable), false);
    else
        option = &numeric<T>(
            name, [&variable](const T& value) { variable = value; }, std::move(help));
    option->default_ = defaultOf(variable);
    return *option;
}

template <class T> Option& Command::argument(const std::string& name, T& variable, std::string help) {
    Option& option = added(name, std::move(help), app_->add_option(split(name).first, variable), true);
    option.default_ = defaultOf(variable);
    return option;
}

template Option& Command::option(const std::string&, std::string&, std::string);
template Option& Command::option(const std::string&, int&, std::string);
template Option& Command::option(const std::string&, int64_t&, std::string);
template Option& Command::option(const std::string&, uint64_t&, std::string);
template Option& Command::option(const std::string&, float&, std::string);
template Option& Command::option(const std::string&, double&, std::string);
template Option& Command::option(const std::string&, std::vector<std::string>&, std::string);
template Option& Command::option(const std::string&, std::vector<int>&, std::string);
template Option& Command::argument(const std::string&, std::string&, std::string);
template Option& Command::argument(const std::string&, std::vector<std::string>&, std::string);

Option& Command::flag(const std::string& name, bool& variable, std::string help) {
    return added(name, std::move(help), app_->add_flag(name, variable), false);
}

Option& Command::textOption(const std::string& name, std::function<std::string(const std::string&)> read,
                            std::string help) {
    const std::string flag = split(name).first;
    return added(name, std::move(help),
                 app_->add_option_function<std::string>(flag,
                                                        [flag, read = std::move(read)](const std::string& text) {
                                                            if (const std::string mistake = read(text);
                                                                !mistake.empty())
                                                                throw CLI::ValidationError(flag, mistake);
                                                        }),
                 false);
}

Option& Command::numberOption(const std::string& name, std::function<void(double)> take, std::string help) {
    return numeric<double>(name, std::move(take), std::move(help));
}

Option& Command::wholeNumberOption(const std::string& name, std::function<void(int64_t)> take, std::string help) {
    return numeric<int64_t>(name, std::move(take), std::move(help));
}

Option& Command::flagAction(const std::string& name, std::function<void()> act, std::string help) {
    return added(name, std::move(help), app_->add_flag_function(name, [act = std::move(act)](int64_t) { act(); }),
                 false);
}

void Command::about(std::string paragraph) { about_.push_back(std::move(paragraph)); }

void Command::list(std::string title, std::vector<std::pair<std::string, std::string>> rows) {
    lists_.emplace_back(std::move(title), std::move(rows));
}

void Command::example(std::string commandLine) { examples_.push_back(std::move(commandLine)); }

void Command::seeAlso(std::vector<std::string> programs) { seeAlso_ = std::move(programs); }

void Command::action(std::function<int()> act) { act_ = std::move(act); }

const Command& Command::chosen() const {
    for (const auto& command : subcommands_)
        if (command->app_->parsed()) return command->chosen();
    return *this;
}

bool Command::takesValue(const std::string& flag) const {
    return std::ranges::any_of(options_,
                               [&](const auto& each) { return each->name_ == flag && !each->value_.empty(); }) ||
           std::ranges::any_of(subcommands_, [&](const auto& each) { return each->takesValue(flag); });
}

std::optional<Reply> Command::parse(std::vector<std::string> arguments) {
    if (arguments.size() == 1 && arguments.front() == "--help=man") return Reply{manualOf(pages()), 0};
    // "--prompt=" gives an empty text; CLI11 would take the next argument.
    for (size_t at = 0; at < arguments.size() && arguments[at] != "--"; ++at)
        if (arguments[at].starts_with("--") && arguments[at].find('=') == arguments[at].size() - 1 &&
            takesValue(arguments[at].substr(0, arguments[at].size() - 1))) {
            arguments[at].pop_back();
            arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(++at), std::string());
        }
    const auto mistake = [this](const std::string& what) {
        return Reply{fmt::format("{0}: {1}\nSee: {0} --help\n", chosen().path_, printableLines(withShortQuotes(what))),
                     kWrongArguments};
    };
    std::ranges::reverse(arguments); // CLI11 reads them from the back
    try {
        app_->parse(std::move(arguments));
    } catch (const CLI::CallForHelp&) {
        return Reply{plainText(chosen().help()), 0};
    } catch (const CLI::CallForVersion& version) {
        return Reply{fmt::format("{}\n", version.what()), 0};
    } catch (const CLI::ExtrasError&) {
        const std::vector<std::string> rest = app_->remaining(true);
        const bool isCommand = &chosen() == this && !subcommands_.empty() && !rest.front().starts_with('-');
        return mistake(isCommand ? fmt::format("there is no command \"{}\"", rest.front())
                                 : "unexpected argument: " + shortened(fmt::format("{}", fmt::join(rest, " "))));
    } catch (const CLI::ParseError& error) {
        return mistake(error.what());
    }
    if (const Command& command = chosen(); !command.act_ && !command.subcommands_.empty())
        return Reply{fmt::format("{0}: name a command\nSee: {0} --help\n", command.path_), kWrongArguments};
    return {};
}

int Command::run() const {
    const Command& command = chosen();
    return command.act_ ? command.act_() : 0;
}

bool Command::isGiven(std::string_view name) const {
    const auto option = std::ranges::find(options_, name, [](const auto& each) { return each->name_; });
    return option != options_.end() && (*option)->parsed_->count() > 0;
}

HelpPage Command::help() const {
    HelpPage page;
    page.path = path_;
    std::string usage = path_;
    page.summary = summary_;
    page.about = about_;
    HelpList arguments{"Arguments", {}}, options{"Options", {}};
    for (const auto& option : options_) {
        if (option->isHidden_) continue;
        const std::string name = option->name_ + (option->value_.empty() ? "" : " " + option->value_);
        if (option->isPositional_) usage += option->isRequired_ ? ' ' + name : fmt::format(" [{}]", name);
        (option->isPositional_ ? arguments : options).rows.push_back({name, option->text()});
    }
    for (const auto& option : options_)
        if (option->isRequired_ && !option->isPositional_)
            usage += fmt::format(" {} {}", option->name_, option->value_);
    if (act_) page.usage.push_back(usage + " [options]");
    if (!subcommands_.empty()) page.usage.push_back(path_ + " COMMAND [options]");
    if (page.usage.empty()) page.usage.push_back(usage + " [options]"); // a program without commands
    options.rows.push_back({"-h, --help", "print this help"});
    if (hasVersion_) options.rows.push_back({"-v, --version", "print the version"});
    for (const auto& command : subcommands_) {
        auto group = std::ranges::find(page.commands, command->group_, &HelpList::title);
        if (group == page.commands.end()) group = page.commands.insert(group, {command->group_, {}});
        group->rows.push_back({command->name_, command->summary_});
    }
    if (!arguments.rows.empty()) page.lists.push_back(std::move(arguments));
    page.lists.push_back(std::move(options));
    for (const auto& [title, rows] : lists_) {
        HelpList& list = page.lists.emplace_back(HelpList{title, {}});
        for (const auto& [name, text] : rows) list.rows.push_back({name, text});
    }
    page.examples = examples_;
    page.seeAlso = seeAlso_;
    return page;
}

std::vector<HelpPage> Command::pages() const {
    std::vector<HelpPage> all{help()};
    for (const auto& command : subcommands_)
        for (HelpPage& page : command->pages()) all.push_back(std::move(page));
    return all;
}

} // namespace attn::cli
