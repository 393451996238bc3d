#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace attn {

// Names of columns in data sets of Hugging Face, Kaggle and GLUE, the first that is there counts.
inline const std::vector<std::string> kTextColumns{"text",     "sentence", "sentence1",    "text_a",  "question1",
                                                   "premise",  "question", "comment_text", "comment", "content",
                                                   "document", "review",   "input"};
inline const std::vector<std::string> kSecondColumns{"second",    "sentence2",  "text_b",  "text_pair",
                                                     "question2", "hypothesis", "passage", "context"};
inline const std::vector<std::string> kPictureColumns{"file_name", "filename", "file", "path", "image", "picture"};
inline const std::vector<std::string> kLabelColumns{"labels",     "label",    "classes",   "class",
                                                    "categories", "category", "sentiment", "target",
                                                    "tags",       "tag",      "score",     "similarity"};
inline const std::vector<std::string> kRowNumberColumns{"id", "idx", "index"};

/// A line of a table, or an object of a JSON list: its number, and its values by the names of their columns.
struct TableRecord {
    size_t number = 0;     ///< of the line, or of the object in its list; from 1. 0: a folder that names a label
    bool isOfList = false; ///< a JSON list
    char separator = 0;    ///< between the cells of a line; 0: JSON has none
    std::map<std::string, nlohmann::json> values{};

    /// The first of these columns that is there; null if none is.
    const std::pair<const std::string, nlohmann::json>* find(const std::vector<std::string>& names) const;
    std::string place() const;   ///< for messages: "line 3", "record 3" of a JSON list, or "the folder"
    std::string columns() const; ///< for messages: "the columns "label", "text""
};

/// Reads the lines of a table: CSV, fields with tabs between them, or JSON, as readLabelledRows() says. The known names
/// of columns have small letters, except that names of labels stay as they are. Lines without a word do not count.
/// A first line is one of names if one of its cells is a known name, or if all labels stand in it.
/// @param ofPictures a table without names of columns holds names of pictures in place of texts
/// @return at least one  @throws Error naming the file, the line and the remedy
std::vector<TableRecord> readTableRecords(const std::filesystem::path& path, const std::vector<std::string>& labels,
                                          bool ofPictures);

} // namespace attn
