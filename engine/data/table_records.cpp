#include "engine/data/table_records.h"

#include "engine/core/quoting.h"
#include "engine/data/table_columns.h"
#include "engine/data/text_parts.h"
#include "engine/io/json_file.h"
#include "engine/io/refuse_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace attn {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Names = std::vector<std::string>;

class RecordReader {
public:
    RecordReader(const fs::path& path, const Names& labels, bool ofPictures)
        : path_(path), labels_(labels.begin(), labels.end()), ofPictures_(ofPictures) {}

    std::vector<TableRecord> read() const {
        const std::string text = withPlainLines(readPersonsFile(path_));
        requireUtf8(text, path_);
        const std::string ending = lowerCase(path_.extension().string());
        std::vector<TableRecord> records = ending == ".json" || ending == ".jsonl" || ending == ".ndjson"
                                               ? jsonRecords(text)
                                               : tableRecords(text, ending == ".csv");
        if (records.empty()) refuseFile(path_, "the file has no examples", "choose a file with some examples");
        return records;
    }

private:
    [[noreturn]] void refuse(size_t line, const std::string& what, const std::string& hint) const {
        refuseLine(path_, line, what, hint);
    }

    [[noreturn]] void refuseRepeated(const std::string& place, const std::string& name) const {
        refuseFile(path_, fmt::format("{} gives {} twice", place, inQuotes(name)), "remove one of the two");
    }

    static bool isIn(const Names& names, const std::string& name) {
        return std::ranges::find(names, name) != names.end();
    }
    static bool isKnown(const std::string& name) {
        return isIn(kTextColumns, name) || isIn(kSecondColumns, name) || isIn(kPictureColumns, name) ||
               isIn(kLabelColumns, name);
    }

    /// The name of a column as find() looks for it. Names of labels stay as they are.
    std::string columnName(std::string_view name) const {
        name = trimmed(name);
        const std::string lower = lowerCase(name);
        return isKnown(lower) && !labels_.contains(std::string(name)) ? lower : std::string(name);
    }

    std::vector<TableRecord> jsonRecords(std::string_view text) const {
        std::vector<TableRecord> records;
        const auto add = [&](const json& object, size_t number, bool isOfList) {
            TableRecord record{.number = number, .isOfList = isOfList};
            if (!object.is_object())
                refuseFile(path_, record.place() + " is not a JSON object",
                           "write for example {\"text\": \"a fine day\", \"labels\": [\"good\"]}");
            for (const auto& [name, value] : object.items())
                if (!record.values.emplace(columnName(name), value).second)
                    refuseRepeated(record.place(), columnName(name));
            records.push_back(std::move(record));
        };
        std::vector<std::string> repeated;
        if (trimmed(text.substr(0, 64)).starts_with('[')) {
            const json list = parseJson(text, path_.string(), &repeated);
            if (!repeated.empty()) refuseRepeated("a record", repeated.front());
            for (const json& each : list) add(each, records.size() + 1, true);
            return records;
        }
        for (size_t line = 1; !text.empty(); ++line) {
            const size_t end = std::min(text.find('\n'), text.size());
            const std::string_view object = text.substr(0, end);
            if (!trimmed(object).empty()) {
                add(parseJson(object, path_.string(), &repeated, line), line, false);
                if (!repeated.empty()) refuseRepeated(records.back().place(), repeated.front());
            }
            text.remove_prefix(std::min(end + 1, text.size()));
        }
        return records;
    }

    /// Takes the cells of the next line from a text. @param line of the text, which counts on
    /// @source RFC 4180: quotes stand around cells with separators, lines or quotes, which are doubled
    Names nextCells(std::string_view& text, char separator, bool hasQuotes, size_t& line) const {
        Names cells(1);
        const size_t first = line++;
        size_t at = 0;
        for (bool isQuoted = false; at < text.size(); ++at) {
            const char c = text[at];
            if (c == '\n') {
                if (!isQuoted) break;
                ++line;
            }
            if (hasQuotes && c == '"' && (isQuoted || cells.back().empty())) {
                if (isQuoted && at + 1 < text.size() && text[at + 1] == '"')
                    cells.back() += text[++at];
                else
                    isQuoted = !isQuoted;
                if (isQuoted && at + 1 == text.size()) refuse(first, "has a quote without an end", "add the quote");
            } else if (c == separator && !isQuoted) {
                cells.emplace_back();
            } else {
                cells.back() += c;
                if (isQuoted && at + 1 == text.size()) refuse(first, "has a quote without an end", "add the quote");
            }
        }
        text.remove_prefix(std::min(at + 1, text.size()));
        return cells;
    }

    /// Moves past lines without a word, as spreadsheets leave them before a table. @param line counts on
    static void skipBlankLines(std::string_view& text, std::string_view blanks, size_t& line) {
        while (!text.empty()) {
            const size_t end = std::min(text.find('\n'), text.size());
            if (text.substr(0, end).find_first_not_of(blanks) != std::string_view::npos) return;
            text.remove_prefix(std::min(end + 1, text.size()));
            ++line;
        }
    }

    /// Whether the cells of a first line are names of columns. Without names, a line begins with labels.
    bool isHeader(const Names& cells) const {
        if (cells.size() < 2) return false;
        for (size_t i = 0; i < cells.size(); ++i)
            if (isKnown(cells[i]) && !(i == 0 && labels_.contains(cells[i]))) return true;
        return labels_.size() > 1 && cells.size() > labels_.size() &&
               std::ranges::all_of(labels_, [&](const std::string& label) { return isIn(cells, label); });
    }

    std::vector<TableRecord> tableRecords(std::string_view text, bool isCsv) const {
        size_t line = 1;
        skipBlankLines(text, isCsv ? " \t,;" : " \t", line);
        const size_t first = line;
        const std::string_view head = text.substr(0, text.find('\n'));
        const char separator = !isCsv ? '\t'
                               : head.find(',') == std::string_view::npos && head.find(';') != std::string_view::npos
                                   ? ';'
                                   : ',';
        std::string_view rest = text;
        Names columns = nextCells(rest, separator, isCsv, line);
        for (std::string& column : columns) column = columnName(column);
        const bool isNamed = isHeader(columns);
        std::set<std::string_view> seen;
        for (const std::string& column : columns)
            if (isNamed && !column.empty() && !seen.insert(column).second)
                refuseRepeated(fmt::format("line {}", first), column);
        if (!isNamed) {
            if (ofPictures_ && columns.size() > 1) requirePicture(first, columns);
            columns = {kLabelColumns.front(), ofPictures_ ? kPictureColumns.front() : kTextColumns.front(),
                       ofPictures_ ? "3" : kSecondColumns.front()};
            rest = text;
            line = first;
        }
        std::vector<TableRecord> records;
        while (!rest.empty()) {
            const size_t number = line;
            Names cells = nextCells(rest, separator, isCsv, line);
            if (std::ranges::all_of(cells, [](const std::string& cell) { return trimmed(cell).empty(); })) continue;
            if (isNamed ? cells.size() != columns.size() : cells.size() < 2)
                refuse(number,
                       isNamed ? fmt::format("has {} cells and line {} names {} columns", cells.size(), first,
                                             columns.size())
                               : fmt::format("is not labels, a {} and a {}", isCsv ? "comma" : "tab",
                                             ofPictures_ ? "picture" : "text"),
                       isNamed ? "write a cell for each column"
                               : "write one example a line, or the names of columns first, such as labels and text");
            TableRecord record{.number = number, .separator = separator};
            for (size_t i = 0; i < cells.size(); ++i)
                record.values.emplace(i < columns.size() ? columns[i] : std::to_string(i + 1), std::move(cells[i]));
            records.push_back(std::move(record));
        }
        return records;
    }

    /// Refuses a first line that names neither columns nor a picture that is there.
    void requirePicture(size_t line, const Names& cells) const {
        std::error_code error;
        if (fs::exists(path_.parent_path() / cells[1], error)) return;
        refuse(
            line,
            fmt::format("has the cells {}, and {} is neither a picture in the table's folder nor the name of a column",
                        joined(cells, [](const std::string& cell) { return inQuotes(cell); }), inQuotes(cells[1])),
            fmt::format("name the column of the pictures as one of {}, and that of the labels {}",
                        fmt::join(kPictureColumns, ", "), kLabelColumns.front()));
    }

    const fs::path& path_;
    std::set<std::string> labels_;
    bool ofPictures_;
};

} // namespace

const std::pair<const std::string, json>* TableRecord::find(const Names& names) const {
    for (const std::string& name : names)
        if (const auto found = values.find(name); found != values.end()) return &*found;
    return nullptr;
}

std::string TableRecord::place() const {
    return number == 0 ? "the folder" : fmt::format("{} {}", isOfList ? "record" : "line", number);
}

std::string TableRecord::columns() const {
    std::set<std::string> names;
    for (const auto& [name, value] : values) names.insert(name);
    return columnsText(names);
}

std::vector<TableRecord> readTableRecords(const fs::path& path, const Names& labels, bool ofPictures) {
    return RecordReader(path, labels, ofPictures).read();
}

} // namespace attn
