#include "tests/includes/source_rules.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>

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
        {"app/lab/lessons/lesson.cpp", {"fromHtml("}}, // checked texts
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

using Check = void (*)(const std::string& file, const std::string& text, std::vector<std::string>& problems);

std::vector<std::string> checked(const fs::path& root, Check check) {
    std::vector<fs::path> sources;
    for (const char* folder : {"engine", "app"})
        if (fs::is_directory(root / folder))
            for (const auto& entry : fs::recursive_directory_iterator(root / folder))
                if (entry.path().extension() == ".cpp" || entry.path().extension() == ".h")
                    sources.push_back(entry.path());
    std::sort(sources.begin(), sources.end());
    std::vector<std::string> problems;
    for (const fs::path& source : sources) {
        std::ifstream stream(source, std::ios::binary);
        check(source.lexically_relative(root).generic_string(), {std::istreambuf_iterator<char>(stream), {}}, problems);
    }
    return problems;
}

} // namespace

std::vector<std::string> throwingFileCalls(const fs::path& root) { return checked(root, checkCalls); }

std::vector<std::string> spelledBlockNames(const fs::path& root) { return checked(root, checkNames); }

std::vector<std::string> partsToldById(const fs::path& root) { return checked(root, checkPartIds); }

std::vector<std::string> guessedMarkup(const fs::path& root) { return checked(root, checkMarkup); }

} // namespace attn::test
