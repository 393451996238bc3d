#include "app/arguments/help_page.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn::cli {
namespace {

constexpr size_t kColumns = 96;
constexpr size_t kWidestName = 26; // a longer name gets its own line

/// Characters, not bytes, of UTF-8.
size_t lengthOf(std::string_view text) {
    return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (c & '\xc0') != '\x80'; }));
}

/// Breaks text between words. The first line begins at column `at`, the others at `indent`.
std::string wrapped(std::string_view text, size_t indent, size_t at) {
    std::string result;
    size_t column = at;
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find(' ', begin), text.size());
        const std::string_view word = text.substr(begin, end - begin);
        const size_t length = lengthOf(word);
        if (column > indent && column + length > kColumns) {
            while (result.ends_with(' ')) result.pop_back();
            result += '\n' + std::string(indent, ' ');
            column = indent;
        }
        result += word;
        column += length + 1;
        if (end < text.size()) result += ' ';
        begin = end + 1;
    }
    return result + '\n';
}

std::string plainList(const HelpList& list) {
    size_t widest = 0;
    for (const HelpList::Row& row : list.rows)
        if (lengthOf(row.name) <= kWidestName) widest = std::max(widest, lengthOf(row.name));
    const size_t indent = widest + 4;
    std::string result = fmt::format("\n{}:\n", list.title);
    for (const auto& [name, text] : list.rows) {
        result += "  " + name;
        if (lengthOf(name) > widest && !text.empty())
            result += '\n' + std::string(indent, ' ');
        else if (!text.empty())
            result += std::string(indent - 2 - lengthOf(name), ' ');
        result += wrapped(text, indent, indent);
    }
    return result;
}

std::string upperCase(std::string text) {
    for (char& c : text)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    return text;
}

/// Text escaped for roff: hyphens become minus signs, and no line begins with a request.
std::string roff(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '\\')
            result += "\\e";
        else if (c == '-')
            result += "\\-";
        else if (c == '\'')
            result += "\\(aq";
        else
            result += c;
    }
    return result.starts_with('.') ? "\\&" + result : result;
}

/// The words of a name: placeholders, which are in capitals, in italics and the others in bold.
std::string roffName(std::string_view name) {
    std::string result;
    for (size_t begin = 0; begin < name.size();) {
        const size_t end = std::min(name.find(' ', begin), name.size());
        const std::string_view word = name.substr(begin, end - begin);
        const bool isPlaceholder =
            std::ranges::none_of(word, [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
        result += fmt::format("{}\\f{}{}\\fR", result.empty() ? "" : " ", isPlaceholder ? 'I' : 'B', roff(word));
        begin = end + 1;
    }
    return result;
}

std::string roffRows(const HelpList& list) {
    std::string result;
    for (const auto& [name, text] : list.rows) result += fmt::format(".TP\n{}\n{}\n", roffName(name), roff(text));
    return result;
}

std::string roffExamples(const std::vector<std::string>& examples) {
    std::string result = ".EX\n";
    for (const std::string& example : examples) result += roff(example) + '\n';
    return result + ".EE\n";
}

/// "mask" of "attention-cli mask".
std::string commandName(const HelpPage& page) {
    const size_t space = page.path.find(' ');
    return space == std::string::npos ? page.path : page.path.substr(space + 1);
}

} // namespace

std::string plainText(const HelpPage& page) {
    std::string result = wrapped(fmt::format("{}.", page.summary), 0, 0);
    result += "\nUsage:\n";
    for (const std::string& usage : page.usage) result += "  " + wrapped(usage, 6, 2);
    for (const std::string& paragraph : page.about) result += '\n' + wrapped(paragraph, 0, 0);
    for (const HelpList& group : page.commands) result += plainList(group);
    for (const HelpList& list : page.lists) result += plainList(list);
    if (!page.examples.empty()) result += "\nExamples:\n";
    for (const std::string& example : page.examples) result += "  " + example + '\n';
    return result;
}

std::string manualOf(std::span<const HelpPage> pages) {
    const HelpPage& program = pages.front();
    std::string result = ".\\\" Written by ./dev docs from the program's --help.\n";
    std::string summary = program.summary;
    if (!summary.empty() && summary.front() >= 'A' && summary.front() <= 'Z')
        summary.front() = static_cast<char>(summary.front() + 32);
    result += fmt::format(".TH {} 1 \"\" \"Attention Lab\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n",
                          upperCase(program.path), roff(program.path), roff(summary));
    for (const HelpPage& page : pages)
        for (const std::string& usage : page.usage)
            result += fmt::format("{}{}\n", &usage == program.usage.data() ? "" : ".br\n", roffName(usage));
    result += ".SH DESCRIPTION\n" + roff(program.summary) + ".\n";
    for (const std::string& paragraph : program.about) result += ".PP\n" + roff(paragraph) + '\n';
    for (const HelpList& list : program.lists)
        if (list.title == "Arguments" || list.title == "Options")
            result += fmt::format(".SH {}\n{}", roff(upperCase(list.title)), roffRows(list));
    if (pages.size() > 1) result += ".SH COMMANDS\n";
    for (const HelpPage& page : pages.subspan(1)) {
        result += fmt::format(".SS {}\n{}.\n", roff(commandName(page)), roff(page.summary));
        for (const std::string& paragraph : page.about) result += ".PP\n" + roff(paragraph) + '\n';
        for (const HelpList& list : page.lists) {
            if (list.title != "Arguments" && list.title != "Options")
                result += fmt::format(".PP\n{}:\n", roff(list.title));
            result += roffRows(list);
        }
        if (!page.examples.empty()) result += ".PP\nExamples:\n.PP\n" + roffExamples(page.examples);
    }
    for (const HelpList& list : program.lists)
        if (list.title != "Arguments" && list.title != "Options")
            result += fmt::format(".SH {}\n{}", roff(upperCase(list.title)), roffRows(list));
    if (!program.examples.empty()) result += ".SH EXAMPLES\n" + roffExamples(program.examples);
    if (!program.seeAlso.empty()) {
        result += ".SH SEE ALSO\n";
        for (size_t i = 0; i < program.seeAlso.size(); ++i)
            result +=
                fmt::format(".BR {} (1){}\n", roff(program.seeAlso[i]), i + 1 < program.seeAlso.size() ? "," : "");
    }
    return result;
}

} // namespace attn::cli
