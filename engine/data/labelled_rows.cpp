#include "engine/data/labelled_rows.h"

#include "engine/core/error.h"
#include "engine/core/nearest_names.h"
#include "engine/core/quoting.h"
#include "engine/data/table_columns.h"
#include "engine/data/table_records.h"
#include "engine/data/text_parts.h"
#include "engine/io/json_file.h"
#include "engine/io/refuse_file.h"
#include "engine/system/folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace attn {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Names = std::vector<std::string>;

std::optional<double> numberIn(std::string_view text) {
    text = trimmed(text);
    if (text.starts_with('+')) text.remove_prefix(1);
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() && std::isfinite(number) ? std::optional(number)
                                                                                             : std::nullopt;
}

class Reader {
public:
    Reader(fs::path path, const Names& labels, LabelKind kind, bool ofPictures)
        : path_(std::move(path)), labels_(labels), kind_(kind), ofPictures_(ofPictures) {
        for (size_t label = 0; label < labels.size(); ++label) places_.emplace(labels[label], label);
    }

    /// @param remark receives TableColumns::remark()
    std::vector<LabelledRow> read(std::string& remark) {
        std::vector<LabelledRow> rows;
        for (const TableRecord& record : readTableRecords(path_, labels_, ofPictures_)) {
            rows.push_back(rowOf(record));
            std::vector<std::string> names;
            for (const auto& [name, value] : record.values) names.push_back(name);
            columns_.endRecord(names);
        }
        const std::string file = path_.filename().string();
        remark = columns_.remark(file);
        if (blanks_ > 0)
            remark +=
                fmt::format("{}{}: {} empty cell{} of labels count{} as 0, the first in {}", remark.empty() ? "" : ". ",
                            file, blanks_, blanks_ > 1 ? "s" : "", blanks_ > 1 ? "" : "s", firstBlank_);
        return rows;
    }

    /// The names of the labels that the table has, for a reader that knows none.
    /// @param remark receives which cell keeps a column from being what most of its cells are; empty: none does
    Names names(std::string& remark) const {
        const std::vector<TableRecord> all = readTableRecords(path_, labels_, ofPictures_);
        std::set<std::string> names;
        const auto* const column = all.front().find(kLabelColumns);
        if (column && kind_ == LabelKind::Number) {
            const size_t count = partsOf(column->second, all.front()).size();
            if (count == 1) return {column->first};
            Names numbered; // in the order of the numbers
            for (size_t i = 0; i < count; ++i) numbered.push_back(fmt::format("{} {}", column->first, i));
            return numbered;
        }
        if (column) {
            size_t numbers = 0, words = 0;
            std::string firstWord;
            for (const TableRecord& record : all)
                if (const auto* const value = record.find(kLabelColumns))
                    for (const json& part : partsOf(value->second, record)) {
                        if (part.is_boolean() || part.is_number_float())
                            refuse(record, fmt::format("has the flag {}, and no label has a name", part.dump()),
                                   "write the names of the labels, or a column for each label");
                        if (!part.is_string() && !part.is_number())
                            refuse(record, fmt::format("has the label {}, which is no name", shownJson(part)),
                                   "write the names of the labels as texts");
                        names.insert(nameOf(part));
                        if (numberOf(part))
                            ++numbers;
                        else if (words++ == 0)
                            firstWord = saysOf(record, value->first);
                    }
            if (words > 0 && numbers > words)
                remark = fmt::format("{}: {}, and most other labels there are numbers: all count as names of labels",
                                     path_.filename().string(), firstWord);
        } else if (std::ranges::any_of(
                       all, [](const TableRecord& record) { return record.find(kLabelColumns) != nullptr; })) {
            refuse(all.front(),
                   fmt::format("has no labels, and other {} have", all.front().isOfList ? "records" : "lines"),
                   "give every example its labels");
        } else {
            for (const auto& [name, value] : all.front().values)
                if (wrongTarget(name, all) == nullptr) names.insert(name);
            if (const auto [wrong, name] = nearlyTarget(all); wrong != nullptr) {
                if (names.empty()) refuseTarget(*wrong, name);
                remark = fmt::format("{}: the column {} is no label: {}; {}", path_.filename().string(), inQuotes(name),
                                     saysOf(*wrong, name), targetHint());
            }
        }
        constexpr size_t kMost = 1000;
        if (names.empty() || names.size() > kMost)
            refuseFile(path_,
                       fmt::format("the table has {} different labels in {}", names.size(), all.front().columns()),
                       fmt::format("name a column labels, or have a column for each of 1 to {} labels", kMost));
        return {names.begin(), names.end()};
    }

    /// The targets of a folder that has the name of a label.
    std::vector<double> targetsOf(const std::string& label) const { return classTargets(json(label), {}); }

private:
    [[noreturn]] void refuse(const TableRecord& record, const std::string& what, const std::string& hint) const {
        refuseFile(path_, record.place() + " " + what, hint);
    }

    /// Whether a column may hold a label of each row: it is not for texts, pictures or the numbers of rows.
    static bool mayBeTarget(const std::string& name) {
        return std::ranges::none_of(
            std::array{&kTextColumns, &kSecondColumns, &kPictureColumns, &kRowNumberColumns},
            [&](const Names* known) { return std::ranges::find(*known, lowerCase(name)) != known->end(); });
    }

    bool isTarget(const std::string& name, const TableRecord& record) const {
        const auto found = record.values.find(name);
        return found != record.values.end() &&
               (kind_ == LabelKind::Number ? numberOf(found->second) : presence(found->second));
    }

    /// The first row in which a column says neither whether a label is there nor, of a regression, a number. Null:
    /// none.
    const TableRecord* wrongTarget(const std::string& name, const std::vector<TableRecord>& all) const {
        if (!mayBeTarget(name)) return &all.front();
        const auto wrong =
            std::ranges::find_if(all, [&](const TableRecord& record) { return !isTarget(name, record); });
        return wrong == all.end() ? nullptr : &*wrong;
    }

    /// A column that says a target in most rows, with the first row in which it does not. Null: there is none.
    std::pair<const TableRecord*, std::string> nearlyTarget(const std::vector<TableRecord>& all) const {
        for (const auto& column : all.front().values) {
            const std::string& name = column.first;
            const TableRecord* const wrong = wrongTarget(name, all);
            if (!mayBeTarget(name) || wrong == nullptr) continue;
            const auto right = std::ranges::count_if(all, [&](const TableRecord& record) {
                const auto cell = record.values.find(name);
                return cell != record.values.end() && !isBlank(cell->second) &&
                       (isTarget(name, record) || (kind_ == LabelKind::Number && hasDecimalComma(cell->second)));
            });
            if (2 * right > std::ssize(all)) return {wrong, name};
        }
        return {};
    }

    /// What a row says in a column: "line 3 says "x" for "calm"".
    static std::string saysOf(const TableRecord& record, const std::string& column) {
        const auto cell = record.values.find(column);
        return cell == record.values.end()
                   ? fmt::format("{} has no {}", record.place(), inQuotes(column))
                   : fmt::format("{} says {} for {}", record.place(), shownJson(cell->second), inQuotes(column));
    }

    std::string targetHint() const {
        return kind_ == LabelKind::Number ? "write a number, with a decimal point as in 1.5" : "write 1 or 0";
    }

    [[noreturn]] void refuseTarget(const TableRecord& record, const std::string& column) const {
        refuseFile(path_, saysOf(record, column), targetHint());
    }

    LabelledRow rowOf(const TableRecord& record) {
        LabelledRow row;
        const Names& subjects = ofPictures_ ? kPictureColumns : kTextColumns;
        const char* const missing = ofPictures_ ? "names no picture" : "has no text";
        const auto* const subject = record.find(subjects);
        const bool isThere =
            subject && subject->second.is_string() && !trimmed(subject->second.get_ref<const std::string&>()).empty();
        if (!subject)
            refuse(record, fmt::format("{} in {}", missing, record.columns()),
                   fmt::format("name the column of the {} as one of {}", ofPictures_ ? "pictures" : "texts",
                               fmt::join(subjects, ", ")));
        if (!isThere)
            refuse(record, fmt::format("{} in the column {}", missing, inQuotes(subject->first)),
                   ofPictures_ ? "write the name of a picture" : "write a text");
        columns_.read(ofPictures_ ? "pictures" : "texts", subject->first);
        const auto& given = subject->second.get_ref<const std::string&>();
        if (ofPictures_) {
            const fs::path inside = fs::path(given).lexically_normal();
            if (inside.is_absolute() || inside.string().starts_with(".."))
                refuse(record, fmt::format("names {}, which lies outside of the table's folder", inQuotes(given)),
                       "put the pictures into the folder of the table");
            row.picture = path_.parent_path() / inside;
        } else {
            row.text = given;
            if (const auto* second = record.find(kSecondColumns)) {
                columns_.read("second texts", second->first);
                if (!second->second.is_string() && !second->second.is_null())
                    refuseFile(path_, saysOf(record, second->first), "write a text");
                if (second->second.is_string()) row.second = second->second;
            }
        }
        row.targets = targetsOf(record);
        constexpr auto kMost = static_cast<double>(std::numeric_limits<float>::max());
        for (const double target : row.targets)
            if (std::abs(target) > kMost)
                refuse(record,
                       fmt::format("has the number {:g}, and a model's numbers reach {:g} at most", target, kMost),
                       "measure in a larger unit");
        if (kind_ == LabelKind::One && std::ranges::count(row.targets, 1.0) != 1)
            refuse(
                record,
                fmt::format("has {} labels, and the model says one of several", std::ranges::count(row.targets, 1.0)),
                "give each example one label, or choose a model of several labels");
        return row;
    }

    std::vector<double> targetsOf(const TableRecord& record) {
        const auto* const value = record.find(kLabelColumns);
        const auto missing =
            std::ranges::find_if(labels_, [&](const std::string& label) { return !record.values.contains(label); });
        if (missing != labels_.end() || labels_.empty()) {
            if (!value)
                refuse(record,
                       fmt::format("has no labels, and no column {}, among {}",
                                   inQuotes(labels_.empty() ? "" : *missing), record.columns()),
                       "name a column labels, or have a column for each label of the model");
            columns_.read("labels", value->first);
            return kind_ == LabelKind::Number ? numbers(*value, record) : classTargets(value->second, record);
        }
        std::vector<double> targets;
        for (const std::string& label : labels_) {
            const json& cell = record.values.at(label);
            columns_.read("labels", label);
            const auto number = kind_ == LabelKind::Number ? numberOf(cell) : presence(cell);
            if (!number) refuseTarget(record, label);
            if (isBlank(cell) && blanks_++ == 0) firstBlank_ = record.place();
            targets.push_back(*number);
        }
        return targets;
    }

    static std::optional<double> numberOf(const json& value) {
        if (value.is_string()) return numberIn(value.get_ref<const std::string&>());
        return value.is_number() && std::isfinite(value.get<double>()) ? std::optional(value.get<double>())
                                                                       : std::nullopt;
    }

    static bool hasDecimalComma(const json& value) {
        std::string text = value.is_string() ? value.get<std::string>() : "";
        const size_t comma = text.find(',');
        if (comma == std::string::npos) return false;
        text[comma] = '.';
        return numberIn(text).has_value();
    }

    static bool isBlank(const json& value) {
        return value.is_null() || (value.is_string() && trimmed(value.get_ref<const std::string&>()).empty());
    }

    /// 1 or 0 of 1, true or yes, or of 0, false, no or nothing.
    static std::optional<double> presence(const json& value) {
        if (isBlank(value)) return 0;
        if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
        if (value.is_string()) {
            const std::string word = lowerCase(trimmed(value.get_ref<const std::string&>()));
            if (word == "true" || word == "yes") return 1;
            if (word == "false" || word == "no") return 0;
        }
        const auto number = numberOf(value);
        return number == 0.0 || number == 1.0 ? number : std::nullopt;
    }

    /// The parts of a cell, of which there may be several. A comma may part names, but numbers only in a table with
    /// commas between its cells: elsewhere it may be a decimal comma.
    json partsOf(const json& value, const TableRecord& record) const {
        if (!value.is_string())
            return value.is_null() ? json::array() : value.is_array() ? value : json::array({value});
        const std::string_view text = trimmed(value.get_ref<const std::string&>());
        if (text.starts_with('[')) try {
                return parseJson(text, path_.string());
            } catch (const Error&) {
                refuse(record, fmt::format("says {}, which begins as a JSON list and is none", shownJson(value)),
                       R"(write a list such as ["a", "b"], or a|b)");
            }
        json parts = json::array();
        if (places_.contains(std::string(text))) return {std::string(text)};
        const std::string_view separators = kind_ == LabelKind::Number && record.separator != ',' ? "|;" : "|;,";
        const auto used =
            std::ranges::find_if(separators, [&](char c) { return text.find(c) != std::string_view::npos; });
        for (size_t begin = 0; begin <= text.size();) {
            const size_t end = used == separators.end() ? text.size() : std::min(text.find(*used, begin), text.size());
            if (const auto part = trimmed(text.substr(begin, end - begin)); !part.empty()) parts.push_back(part);
            begin = end + 1;
        }
        return parts;
    }

    /// The numbers in a cell. @param cell with the name of its column
    std::vector<double> numbers(const std::pair<const std::string, json>& cell, const TableRecord& record) const {
        std::vector<double> result;
        for (const json& part : partsOf(cell.second, record)) {
            const auto number = numberOf(part);
            if (!number)
                refuseFile(path_, saysOf(record, cell.first),
                           targetHint() + "; several have | between them, as in 1|5");
            result.push_back(*number);
        }
        if (result.size() != labels_.size())
            refuse(record, fmt::format("has {} numbers, and the model says {}", result.size(), labels_.size()),
                   "write a number for each output of the model, each with a decimal point as in 1.5");
        return result;
    }

    /// A label as a table would write it.
    static std::string nameOf(const json& part) { return part.is_string() ? part.get<std::string>() : part.dump(); }

    std::vector<double> classTargets(const json& value, const TableRecord& record) const {
        const json parts = partsOf(value, record);
        const auto isFlag = [](const json& part) {
            if (!part.is_number()) return part.is_boolean();
            const auto number = part.get<double>();
            return number == 0 || number == 1;
        };
        const auto isExact = [](const json& part) { return !part.is_number_integer(); }; // 1.0 is no index
        if (parts.size() == labels_.size() && std::ranges::all_of(parts, isFlag)) {
            if (parts.size() == 2 && parts[0] != parts[1] && std::ranges::none_of(parts, isExact))
                refuse(record, fmt::format("says {}, which may be two labels or one flag for each", shownJson(parts)),
                       "write the names of the labels, or 1.0 and 0.0 for flags");
            std::vector<double> flags;
            for (const json& part : parts) flags.push_back(*presence(part));
            return flags;
        }
        if (labels_.size() == 1 && parts.size() == 1 && !places_.contains(nameOf(parts[0])))
            if (const auto flag = presence(parts[0])) return {*flag};
        std::vector<double> targets(labels_.size(), 0.0);
        for (const json& part : parts) targets[placeOf(part, record)] = 1;
        return targets;
    }

    /// A label by its name, which may be a number, or else by its number from 0 on.
    size_t placeOf(const json& part, const TableRecord& record) const {
        if (const auto found = places_.find(nameOf(part)); found != places_.end()) return found->second;
        if (const auto number = numberOf(part)) {
            const auto named =
                std::ranges::find_if(labels_, [&](const auto& label) { return numberIn(label) == number; });
            if (named != labels_.end()) return static_cast<size_t>(named - labels_.begin());
            const bool hasNumbers = std::ranges::any_of(labels_, [](const auto& label) { return !!numberIn(label); });
            if (!hasNumbers && *number >= 0 && *number < static_cast<double>(labels_.size()) &&
                *number == std::floor(*number))
                return static_cast<size_t>(*number);
        }
        const std::string name = nameOf(part);
        refuse(record, fmt::format("has the label {}, which the model does not know", inQuotes(name)),
               fmt::format(
                   "write one of its {} labels, such as {}", labels_.size(),
                   joined(nearestNames(name, labels_, 3), [](const std::string& label) { return inQuotes(label); })));
    }

    fs::path path_;
    const Names& labels_;
    LabelKind kind_;
    bool ofPictures_;
    std::map<std::string, size_t> places_;
    TableColumns columns_;
    size_t blanks_ = 0;      ///< cells of labels that say nothing
    std::string firstBlank_; ///< the place of the first
};

/// The files or the folders in a folder, in order.
std::vector<fs::path> entries(const fs::path& folder, bool folders) {
    std::error_code error, ignored;
    std::vector<fs::path> found = entriesOf(folder, error);
    if (error) refuseFile(folder, fmt::format("cannot be read: {}", error.message()), "check its permissions");
    std::erase_if(found, [&](const fs::path& entry) {
        return fs::is_directory(entry, ignored) != folders || entry.filename().string().starts_with(".");
    });
    std::ranges::sort(found);
    return found;
}

/// The table at a path, which of pictures may be that of a folder. Empty: the folder has none.
fs::path tableAt(const fs::path& path, bool ofPictures) {
    std::error_code error;
    if (!ofPictures || !fs::is_directory(path, error)) return path;
    std::vector<fs::path> tables;
    for (const char* name : {"metadata.csv", "metadata.jsonl", "metadata.tsv"})
        if (fs::exists(path / name, error)) tables.push_back(path / name);
    if (tables.size() > 1)
        refuseFile(path,
                   joined(tables, [](const fs::path& table) { return inQuotes(table.filename().string()); }) +
                       " may each be the table of its pictures",
                   "keep one of them, or give its name");
    return tables.empty() ? fs::path() : tables.front();
}

} // namespace

std::vector<LabelledRow> readLabelledRows(const fs::path& path, const Names& labels, LabelKind kind, bool ofPictures,
                                          std::string* remark) {
    std::string ignored;
    if (const fs::path table = tableAt(path, ofPictures); !table.empty())
        return Reader(table, labels, kind, ofPictures).read(remark != nullptr ? *remark : ignored);
    std::vector<LabelledRow> rows;
    if (kind != LabelKind::Number)
        for (const fs::path& folder : entries(path, true)) {
            const std::vector<double> targets =
                Reader(folder, labels, kind, true).targetsOf(folder.filename().string());
            for (const fs::path& file : entries(folder, false)) rows.push_back({.picture = file, .targets = targets});
        }
    if (rows.empty())
        refuseFile(path, "holds neither metadata.csv nor a folder of pictures for each label",
                   "write metadata.csv with the columns file_name and labels");
    return rows;
}

bool namesLabels(std::string_view word) {
    return std::ranges::find(kLabelColumns, lowerCase(word)) != kLabelColumns.end();
}

LabelledTable readLabelledTable(const fs::path& path, const Names& known, LabelKind kind, bool ofPictures) {
    LabelledTable table{.labels = known, .file = tableAt(path, ofPictures)};
    const auto read = [&] { table.rows = readLabelledRows(path, table.labels, kind, ofPictures, &table.remark); };
    std::string remark, mismatch;
    if (!known.empty()) try {
            read();
            return table;
        } catch (const Error& error) { // the table has labels of its own, or the next reading says what is wrong
            mismatch = error.message();
        }
    table.labels.clear();
    if (!table.file.empty())
        table.labels = Reader(table.file, table.labels, kind, ofPictures).names(remark);
    else
        for (const fs::path& folder : entries(path, true)) table.labels.push_back(folder.filename().string());
    read();
    // Where the model knows most of the labels, another one may be a mistake.
    const auto others = std::ranges::count_if(
        table.labels, [&](const std::string& label) { return std::ranges::find(known, label) == known.end(); });
    if (remark.empty() && others > 0 && 2 * others < std::ssize(table.labels))
        remark = fmt::format("{}: the labels are those of the table, because {}", path.filename().string(), mismatch);
    if (!remark.empty()) table.remark = remark + (table.remark.empty() ? "" : ". ") + table.remark;
    return table;
}

} // namespace attn
