#include "engine/data/table_records.h"

#include "engine/core/quoting.h"
#include "engine/data/text_parts.h"
#include "engine/io/json_file.h"
#include "engine/io/refuse_file.h"

#include <fmt/format.h>

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

    [[noreturn]] void refuseRepeated(size_t line, const std::string& name) const {
        refuse(line, fmt::format("gives {} twice", inQuotes(name)), "remove one of the two");
    }

    /// The name of a column as find() looks for it. Names of labels stay as they are.
    std::string columnName(std::string_view name) const {
        name = trimmed(name);
        const std::string lower = lowerCase(name);
        const auto isIn = [&](const Names& names) { return std::ranges::find(names, lower) != names.end(); };
        const bool isKnown = isIn(kTextColumns) || isIn(kSecondColumns) || isIn(kPictureColumns) || isIn(kLabelColumns);
        return isKnown && !labels_.contains(std::string(name)) ? lower : std::string(name);
    }

    std::vector<TableRecord> jsonRecords(std::string_view text) const {
        std::vector<TableRecord> records;
        const auto add = [&](const json& object, size_t line) {
            if (!object.is_object())
                refuse(line, "is not a JSON object",
                       "write for example {\"text\": \"a fine day\", \"labels\": [\"good\"]}");
            TableRecord record{.line = line};
            for (const auto& [name, value] : object.items())
                if (!record.values.emplace(columnName(name), value).second) refuseRepeated(line, columnName(name));
            records.push_back(std::move(record));
        };
        if (trimmed(text.substr(0, 64)).starts_with('[')) {
            std::vector<std::string> repeated;
            const json list = parseJson(text, path_.string(), &repeated);
            if (!repeated.empty()) refuseRepeated(1, repeated.front());
            for (const json& each : list) add(each, records.size() + 1);
            return records;
        }
        for (size_t line = 1; !text.empty(); ++line) {
            const size_t end = std::min(text.find('\n'), text.size());
            const std::string_view object = trimmed(text.substr(0, end));
            if (!object.empty()) {
                std::vector<std::string> repeated;
                add(parseJson(object, fmt::format("{}, line {}", path_.string(), line), &repeated), line);
                if (!repeated.empty()) refuseRepeated(line, repeated.front());
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

    std::vector<TableRecord> tableRecords(std::string_view text, bool isCsv) const {
        const std::string_view head = text.substr(0, text.find('\n'));
        const char separator = !isCsv ? '\t'
                               : head.find(',') == std::string_view::npos && head.find(';') != std::string_view::npos
                                   ? ';'
                                   : ',';
        size_t line = 1;
        std::string_view rest = text;
        Names columns = nextCells(rest, separator, isCsv, line);
        for (std::string& column : columns) column = columnName(column);
        const Names &subjects = ofPictures_ ? kPictureColumns : kTextColumns,
                    &others = ofPictures_ ? kTextColumns : kPictureColumns;
        const auto names = [&](const Names& known) {
            return std::ranges::any_of(
                columns, [&](const std::string& column) { return std::ranges::find(known, column) != known.end(); });
        };
        const bool isNamed = columns.size() > 1 && (names(subjects) || (names(others) && names(kLabelColumns)));
        std::set<std::string_view> seen;
        for (const std::string& column : columns)
            if (isNamed && !column.empty() && !seen.insert(column).second) refuseRepeated(1, column);
        if (!isNamed) {
            columns = {kLabelColumns.front(), subjects.front(), ofPictures_ ? "3" : kSecondColumns.front()};
            rest = text;
            line = 1;
        }
        std::vector<TableRecord> records;
        while (!rest.empty()) {
            const size_t number = line;
            Names cells = nextCells(rest, separator, isCsv, line);
            if (cells.size() == 1 && trimmed(cells.front()).empty()) continue;
            if (isNamed ? cells.size() != columns.size() : cells.size() < 2)
                refuse(number,
                       isNamed ? fmt::format("has {} cells and the first line names {} columns", cells.size(),
                                             columns.size())
                               : fmt::format("is not labels, a {} and a {}", isCsv ? "comma" : "tab",
                                             ofPictures_ ? "picture" : "text"),
                       isNamed ? "write a cell for each column"
                               : "write one example a line, or the names of columns first, such as labels and text");
            TableRecord record{.line = number};
            for (size_t i = 0; i < cells.size(); ++i)
                record.values.emplace(i < columns.size() ? columns[i] : std::to_string(i + 1), std::move(cells[i]));
            records.push_back(std::move(record));
        }
        return records;
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

std::vector<TableRecord> readTableRecords(const fs::path& path, const Names& labels, bool ofPictures) {
    return RecordReader(path, labels, ofPictures).read();
}

} // namespace attn
