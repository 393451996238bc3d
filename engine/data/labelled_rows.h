#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A text, a pair of texts or a picture of a person's file, and what a classifier should say of it.
struct LabelledRow {
    std::string text{}, second{};
    std::filesystem::path picture{};
    std::vector<double> targets{}; ///< one for each label: 1 if it has this label, else 0; of a regression the number
};

/// What the labels of a file may be.
enum class LabelKind : unsigned char {
    One,     ///< one of several
    Several, ///< any number of them, also none
    Number   ///< a number for each
};

/// Reads a table of texts or of pictures with their labels. CSV (.csv) has commas or semicolons and quotes, JSON has an
/// object on each line or a list of them (.jsonl, .ndjson, .json), any other file has tabs. The first line names the
/// columns: a text ("text", "sentence" ...) and maybe a second one, or a picture ("image", "file_name" ...) in the
/// folder of the table, and
/// - "labels" or "label": names, or numbers from 0 on if no name is a number, several with | ; or , between them; in
/// JSON also a list of them,
///   or a list with one true, false, 1.0 or 0.0 for each label; or
/// - a column for each label, with 1 or 0.
/// Numbers have a decimal point, and several in a cell have | or ; between them. A comma parts numbers only in a table
/// with commas between its cells, where quotes stand around the cell; elsewhere it could be a decimal comma, and is
/// refused.
/// Without column names a line is labels, a text, and maybe a second text. Of pictures, a folder is the table in it
/// (metadata.csv, .jsonl or .tsv), or holds a folder for each label.
/// Where several columns may be the same, such as "label" and "target", the first of a list of names counts.
/// @param labels of the model, in its order
/// @param remark receives which columns nothing reads, and which are read as what; empty: all are read
/// @throws Error naming the file, the line, or the record of a JSON list, and the remedy, also of a number that a float
/// cannot hold
std::vector<LabelledRow> readLabelledRows(const std::filesystem::path& path, const std::vector<std::string>& labels,
                                          LabelKind kind, bool ofPictures, std::string* remark = nullptr);

/// Whether a word is a usual name of a column of labels, as "label" or "Sentiment".
bool namesLabels(std::string_view word);

/// A table whose labels are its own.
struct LabelledTable {
    std::vector<std::string> labels{};
    std::vector<LabelledRow> rows{};
    std::string remark{};         ///< as readLabelledRows(), and which cell is unlike most others of its column
    std::filesystem::path file{}; ///< that was read; empty: the folders of the pictures are their labels
};
/// Reads a table as readLabelledRows() does. Its labels are the known ones, if they name all that the table has; else,
/// in the order of their names, those in its column of labels, or the columns beside the texts or pictures that have 1
/// or 0, or numbers, in every row.
/// @param known labels of a model; empty: none are known
LabelledTable readLabelledTable(const std::filesystem::path& path, const std::vector<std::string>& known,
                                LabelKind kind, bool ofPictures);

} // namespace attn
