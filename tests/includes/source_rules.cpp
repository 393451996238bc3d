#include "tests/includes/source_rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>

namespace fs = std::filesystem;

namespace attn::test {
namespace {

const std::regex kCall("\\b(?:fs|filesystem)::(exists|is_[a-z_]+|status|symlink_status|file_size|create_[a-z_]+|remove|"
                       "remove_all|rename|copy|copy_file|read_symlink|canonical|weakly_canonical|absolute|relative|"
                       "proximate|current_path|equivalent|last_write_time|permissions|resize_file|space|"
                       "temp_directory_path|directory_iterator|recursive_directory_iterator)\\b");
constexpr const char* kHome = "engine/system/folder.cpp"; ///< the one source that iterates over a folder

/// The arguments of a call: what stands between the parenthesis at `open` and its partner, without closing ones.
std::string argumentsAt(const std::string& text, size_t open) {
    size_t end = open, depth = 0;
    do {
        if (text[end] == '(') ++depth;
        if (text[end] == ')') --depth;
        ++end;
    } while (depth > 0 && end < text.size());
    while (end > open && (text[end - 1] == ')' || text[end - 1] == ' ')) --end;
    return text.substr(open, end - open);
}

void checkCalls(const std::string& file, const std::string& text, std::vector<std::string>& problems) {
    for (std::sregex_iterator call(text.begin(), text.end(), kCall), end; call != end; ++call) {
        const auto at = static_cast<size_t>(call->position()), after = at + static_cast<size_t>(call->length());
        const std::string name = (*call)[1];
        const bool iterates = name.ends_with("directory_iterator");
        if (iterates ? file == kHome : after >= text.size() || text[after] != '(') continue;
        if (!iterates) {
            const std::string arguments = argumentsAt(text, after);
            if (arguments.ends_with("error") || arguments.ends_with("ignored")) continue;
        }
        const auto line = std::count(text.begin(), text.begin() + call->position(), '\n') + 1;
        problems.push_back(file + ":" + std::to_string(line) + ": " + name + " throws if a folder cannot be read. " +
                           (iterates ? "Use entriesOf of engine/system/folder.h"
                                     : "Pass a std::error_code, called error or ignored, as its last argument"));
    }
}

void checkNames(const std::string& file, const std::string& text, std::vector<std::string>& problems) {
    constexpr std::array homes{"engine/models/hook_names.cpp", "engine/models/hook_names.h",
                               "engine/models/timm_vit.cpp"}; // the last reads files with such names
    if (std::ranges::find(homes, file) != homes.end()) return;
    std::istringstream lines(text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
        if (line.substr(0, line.find("//")).find("\"blocks.") == std::string::npos) continue;
        problems.push_back(file + ":" + std::to_string(number) +
                           ": this spells the name of a block. Use inBlock or attentionHook of "
                           "engine/models/hook_names.h");
    }
}

const std::regex
    kPartById("(?:Slot::\\w+\\)|\\b(?:part|position|score|heads|normaliser|memory|mixer|output|core|term)\\w*)"
              "(?:\\.|->)id\\s*[!=]=|\\bid\\(Slot::\\w+\\)\\s*[!=]=\\s*\"|\\bmask\\.text\\(\\)\\s*[!=]=|"
              "MaskExpression::parse\\(\"");

void checkPartIds(const std::string& file, const std::string& text, std::vector<std::string>& problems) {
    const std::string home = "engine/attention/"; // parts are defined in its folders
    if (file.starts_with(home) && file.find('/', home.size()) != std::string::npos) return;
    if (file == "engine/attention/catalogue.cpp") return; // finds parts by any id
    std::istringstream lines(text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number)
        if (std::regex_search(line.substr(0, line.find("//")), kPartById))
            problems.push_back(file + ":" + std::to_string(number) +
                               ": this tells a part of attention by its id or a mask by its text. State the fact in a "
                               "field of Part, or ask MaskExpression::sight");
}

void checkMarkup(const std::string& file, const std::string& text, std::vector<std::string>& problems) {
    static const std::regex guess(
        "new QLabel\\b|Qt::(?:Rich|Auto|Markdown)Text|\\bQTextBrowser\\b|\\bQErrorMessage\\b|"
        "(?:set|insert|append)Html\\(|setMarkdown\\(|fromHtml\\(|fromMarkdown\\(|"
        "QMessageBox::(?:critical|warning|information|question|about)\\(|QWhatsThis::showText\\(");
    static const std::map<std::string, std::set<std::string>> homes{
        {"app/lab/widgets/widget_makers.h", {"new QLabel", "Qt::RichText"}},
        {"app/lab/common/lab_style.cpp", {"Qt::AutoText"}},
        {"app/lab/dialogs/manual.cpp", {"QTextBrowser"}}, // documents of the program
        {"app/lab/lessons/lesson.cpp", {"fromHtml("}},    // checked texts
        {"app/lab/lessons/lesson_step_view.cpp", {"fromHtml("}},
        {"app/lab/shell/window_menus.cpp", {"QWhatsThis::showText("}}}; // escapes what it shows
    if (!file.starts_with("app/lab/")) return;
    const auto home = homes.find(file);
    std::istringstream lines(text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
        std::smatch found;
        const std::string code = line.substr(0, line.find("//"));
        if (std::regex_search(code, found, guess) && (home == homes.end() || !home->second.contains(found.str())))
            problems.push_back(file + ":" + std::to_string(number) + ": " + found.str() +
                               " may read a text of a file as markup. Make labels with plainLabel() of "
                               "app/lab/widgets/widget_makers.h, and ask for markup with readsMarkup()");
    }
    if (text.find("public QLabel {") != std::string::npos &&
        text.find("setTextFormat(Qt::PlainText)") == std::string::npos)
        problems.push_back(file + ": a kind of QLabel guesses whether a text is markup. Call "
                                  "setTextFormat(Qt::PlainText) in its constructor");
}

void checkBoxes(const std::string& file, const std::string& text, std::vector<std::string>& problems) {
    static const std::regex box("new Q(?:Double)?SpinBox\\b|public Q(?:Double)?SpinBox\\b");
    if (!file.starts_with("app/lab/")) return;
    std::istringstream lines(text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number)
        if (std::smatch found; std::regex_search(line, found, box))
            problems.push_back(file + ":" + std::to_string(number) + ": " + found.str() +
                               " leaves a number outside of its range without a word. Take WholeBox, RealBox or "
                               "RangedBox of app/lab/widgets");
}

// Clang 14 cannot read the views of this standard library: ./dev lint and ./dev fuzz stop at them.
void checkViews(const std::string& file, const std::string& text, std::vector<std::string>& problems) {
    static const std::regex view("std::(?:ranges::)?views::|std::ranges::(?:[a-z_]+_view\\b|unique|remove(?:_if)?\\(|"
                                 "(?:stable_)?partition\\(|rotate|search|equal_range|find_end)");
    std::istringstream lines(text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number)
        if (std::smatch found; std::regex_search(line, found, view))
            problems.push_back(file + ":" + std::to_string(number) +
                               ": write a loop or std's own algorithm in place of " + found.str() +
                               ", which Clang 14 cannot read");
}

/// The end of the call whose arguments begin at `at`, and whether it has several that are no format of a number.
std::pair<size_t, bool> callAt(const std::string& text, size_t at) {
    size_t comma = 0, depth = 1;
    for (; depth > 0 && at < text.size(); ++at) {
        if (text[at] == '"' || text[at] == '\'') {
            const char quote = text[at++];
            while (at < text.size() && text[at] != quote) at += text[at] == '\\' ? 2 : 1;
        } else if (std::string_view("([{").find(text[at]) != std::string_view::npos) {
            ++depth;
        } else if (std::string_view(")]}").find(text[at]) != std::string_view::npos) {
            --depth;
        } else if (text[at] == ',' && depth == 1 && comma == 0) {
            comma = at;
        }
    }
    const size_t second = comma == 0 ? text.npos : text.find_first_not_of(" \n", comma + 1);
    return {at, second != text.npos && std::isdigit(static_cast<unsigned char>(text[second])) == 0};
}

// Of one argument, the words tell whether it is a text: a name, a title, a label.
void checkChains(const std::string& file, const std::string& text, std::vector<std::string>& problems) {
    static const std::regex words(
        "[lL]abel|[tT]itle|[nN]ame\\b|[nN]ame\\(|[tT]ext\\b|Text\\(|\\.join\\(|fromStdString|from(?:View|"
        "Engine)|quoted\\(|csv|note\\b|errorString");
    if (!file.starts_with("app/")) return;
    constexpr std::string_view kCallOfArg = ".arg(";
    for (size_t at = text.find(kCallOfArg); at != text.npos; at = text.find(kCallOfArg, at + 1)) {
        const size_t begin = at + kCallOfArg.size();
        const auto [end, hasSeveral] = callAt(text, begin);
        const size_t next = text.find_first_not_of(" \n", end);
        if (next == text.npos || text.compare(next, kCallOfArg.size(), kCallOfArg) != 0) continue;
        if (!hasSeveral && !std::regex_search(text.substr(begin, end - begin), words)) continue;
        problems.push_back(
            file + ":" +
            std::to_string(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1) +
            ": the next arg() fills the \"%1\" in this text. Give one arg() all arguments, numbers as "
            "QString::number()");
    }
}

using Check = void (*)(const std::string& file, const std::string& text, std::vector<std::string>& problems);

std::string contentOf(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// The files with these endings in some folders, sorted by path.
std::vector<fs::path> filesIn(const fs::path& root, const std::vector<std::string>& folders,
                              const std::set<std::string>& endings) {
    std::vector<fs::path> files;
    for (const std::string& folder : folders)
        if (fs::is_directory(root / folder))
            for (const auto& entry : fs::recursive_directory_iterator(root / folder))
                if (endings.contains(entry.path().extension().string())) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

std::vector<std::string> checked(const fs::path& root, Check check) {
    std::vector<std::string> problems;
    for (const fs::path& source : filesIn(root, {"engine", "app"}, {".cpp", ".h"}))
        check(source.lexically_relative(root).generic_string(), contentOf(source), problems);
    return problems;
}

// Words that the glossary forbids -------------------------------------------------------------------------------------

/// The prose of a file in small letters. White space is one space and anything else is one '|', so that a phrase may
/// continue on the next line, but not beyond code.
struct Prose {
    std::string text;
    std::vector<int> lines; ///< the line of each character

    void add(char letter, int line) {
        const auto byte = static_cast<unsigned char>(letter);
        const char plain = std::isspace(byte) ? ' ' : static_cast<char>(std::tolower(byte));
        if ((plain == ' ' || plain == '|') && text.ends_with(plain)) return;
        text += plain;
        lines.push_back(line);
    }
    void add(std::string_view part, int line) {
        for (char letter : part) add(letter, line);
    }
};

/// Adds the comment of a line, and its string literals with a space: others are keys.
void addSource(Prose& prose, std::string_view line, int number) {
    for (size_t at = 0; at < line.size();) {
        if (line.substr(at, 2) == "//") {
            const size_t text = line.find_first_not_of("/!<", at);
            if (text != line.npos) prose.add(line.substr(text), number);
            return;
        }
        if (line[at] == '"') {
            size_t end = at + 1;
            while (end < line.size() && line[end] != '"') end += line[end] == '\\' ? 2 : 1;
            const std::string_view literal = line.substr(at + 1, end - at - 1);
            prose.add(literal.find(' ') != literal.npos ? literal : "|", number);
            at = end + 1;
        } else {
            const bool isLetter = line[at] == '\'' && line.substr(at + 1, 1) == "\"" && line.substr(at + 2, 1) == "'";
            prose.add(line[at] == ' ' ? ' ' : '|', number);
            at += isLetter ? 3 : 1;
        }
    }
}

/// Adds a line of a document without the code and the targets of links in it.
void addDocument(Prose& prose, std::string_view line, int number) {
    bool isCode = false, isTarget = false;
    for (size_t at = 0; at < line.size(); ++at) {
        if (line[at] == '`') isCode = !isCode;
        if (line.substr(at, 2) == "](") isTarget = true;
        prose.add(isCode || isTarget ? '|' : line[at], number);
        if (line[at] == ')') isTarget = false;
    }
}

Prose proseOf(const fs::path& file) {
    Prose prose;
    std::istringstream lines(contentOf(file));
    const bool isDocument = file.extension() == ".md";
    bool isFenced = false;
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
        if (isDocument && line.find("```") != line.npos) isFenced = !isFenced;
        if (isDocument && !isFenced) addDocument(prose, line, number);
        if (!isDocument) addSource(prose, line, number);
        prose.add(' ', number);
    }
    return prose;
}

struct ForbiddenWord {
    std::string word, instead;
    std::vector<std::string> fine; ///< phrases with the word
};

/// The words in italics in the third column of the glossary's tables.
std::vector<ForbiddenWord> forbiddenIn(const fs::path& glossary) {
    static const std::regex row("\\| \\*\\*(.+?)\\*\\*.*\\|(.*)\\|"), italics("\\*([^*]+)\\*(?: \\(fine: ([^)]*)\\))?");
    std::vector<ForbiddenWord> words;
    std::istringstream lines(contentOf(glossary));
    for (std::string line; std::getline(lines, line);) {
        std::smatch cells;
        if (!std::regex_match(line, cells, row)) continue;
        const std::string list = cells[2];
        for (std::sregex_iterator word(list.begin(), list.end(), italics), end; word != end; ++word) {
            words.push_back({.word = (*word)[1], .instead = cells[1], .fine = {}});
            std::istringstream fine((*word)[2]);
            for (std::string phrase; std::getline(fine >> std::ws, phrase, ';');) words.back().fine.push_back(phrase);
        }
    }
    return words;
}

/// Whether a word at a place of a text stands by itself or in the plural, and is no part of a name or a path.
bool isWord(const std::string& text, size_t at, size_t length) {
    const auto isName = [&](size_t place) {
        return place < text.size() && (std::isalnum(static_cast<unsigned char>(text[place])) || text[place] == '_');
    };
    const size_t end = at + length + (text.compare(at + length, 1, "s") == 0 && !isName(at + length + 1) ? 1 : 0);
    if (isName(end) || (end < text.size() && text[end] == '.' && isName(end + 1))) return false;
    return at == 0 || (!isName(at - 1) && std::string_view("./:`\"'").find(text[at - 1]) == std::string_view::npos);
}

/// Adds a sentence for each place where a file uses the word.
void checkWord(const ForbiddenWord& each, const std::string& file, const Prose& prose,
               std::vector<std::string>& problems) {
    for (size_t at = prose.text.find(each.word); at != prose.text.npos; at = prose.text.find(each.word, at + 1)) {
        const bool isFine = std::ranges::any_of(each.fine, [&](const std::string& phrase) {
            const size_t offset = phrase.find(each.word);
            return offset <= at && prose.text.compare(at - offset, phrase.size(), phrase) == 0;
        });
        if (!isFine && isWord(prose.text, at, each.word.size()))
            problems.push_back(file + ":" + std::to_string(prose.lines[at]) + ": \"" + each.word + "\" is called " +
                               each.instead + " in docs/glossary.md. Use that word, or add this use to the glossary");
    }
}

} // namespace

std::vector<std::string> throwingFileCalls(const fs::path& root) { return checked(root, checkCalls); }

std::vector<std::string> spelledBlockNames(const fs::path& root) { return checked(root, checkNames); }

std::vector<std::string> partsToldById(const fs::path& root) { return checked(root, checkPartIds); }

std::vector<std::string> guessedMarkup(const fs::path& root) { return checked(root, checkMarkup); }

std::vector<std::string> boxesOfQt(const fs::path& root) { return checked(root, checkBoxes); }

std::vector<std::string> chainedTexts(const fs::path& root) { return checked(root, checkChains); }

std::vector<std::string> viewsOfRanges(const fs::path& root) { return checked(root, checkViews); }

std::vector<std::string> forbiddenWords(const fs::path& root) {
    const std::vector<ForbiddenWord> words = forbiddenIn(root / "docs/glossary.md");
    std::vector<fs::path> files = filesIn(root, {"engine", "app", "docs"}, {".cpp", ".h", ".md"});
    for (fs::path& lesson : filesIn(root, {"assets/lessons"}, {".json"})) files.push_back(std::move(lesson));
    for (const char* name : {"README.md", "CONTRIBUTING.md"}) files.push_back(root / name);
    std::vector<std::string> problems;
    for (const fs::path& path : files) {
        const std::string file = path.lexically_relative(root).generic_string();
        if (file == "docs/glossary.md" || file.starts_with("docs/decisions/")) continue;
        const Prose prose = proseOf(path);
        for (const ForbiddenWord& word : words) checkWord(word, file, prose, problems);
    }
    return problems;
}

} // namespace attn::test
