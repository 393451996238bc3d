#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

/// Examples that a model reads, and what it should say of them: rows of numbers by name. Rows that are named like a
/// loss (see NamedLoss) hold its targets. What targets are is defined by Task::readout: the token that should follow
/// the input in the same place, the token that it hides, its class. One class: one target. An answer span: two targets,
/// its first and last token. Several labels, or numbers of a text or picture: numbers, one for each label, and NaN
/// where a row has none. A picture has patches and no inputs, and its class is its only target.
struct Batch {
    static constexpr int32_t kIgnored = -1;            ///< no target, or nothing beyond the end of a shorter text
    static constexpr const char* kInputs = "inputs";   ///< [rows, context] of token ids
    static constexpr const char* kSources = "sources"; ///< [rows, source length] of token ids
    static constexpr const char* kTypes = "types";     ///< [rows, context] of token types; none: all 0
    /// [rows, context]: for each word the number of the one above it in its tree, from 1; 0 for the root; kIgnored
    /// after the last word. None: the task has no trees.
    static constexpr const char* kParents = "parents";
    static constexpr const char* kRanks = "ranks";     ///< [rows, context] of places in an order of prediction
    static constexpr const char* kWhole = "whole";     ///< [rows, context]: the inputs before segments were hidden
    static constexpr const char* kHidden = "hidden";   ///< [rows, segments]: 1 where a segment is hidden, else 0
    static constexpr const char* kTargets = "targets"; ///< [rows, columns] of the loss that every task has
    static constexpr const char* kClasses = "classes"; ///< [rows] of classes beside targets that are hidden tokens
    /// [rows]: 1 where a row continues the same row of the batch before, else 0; none: no row does
    static constexpr const char* kContinues = "continues";
    static constexpr const char* kSegments = "segments"; ///< [rows, segments] of hidden segments: see Task::segments

    static constexpr const char* kPatches = "patches"; ///< numbers: [rows, patches, values per patch] of a picture

    int rows = 0;
    std::map<std::string, std::vector<int32_t>, std::less<>> integers{};
    std::map<std::string, std::vector<float>, std::less<>> numbers{};

    /// The numbers with a name. Makes empty ones if there are none.
    std::vector<int32_t>& operator[](std::string_view name) &;
    const std::vector<int32_t>& operator[](std::string_view name) const&; ///< empty if there are none
    std::vector<int32_t> operator[](std::string_view name) && { return std::as_const(*this)[name]; }
    const std::vector<float>& numbersOf(std::string_view name) const; ///< empty if there are none
    /// The number of integers in each row.
    int64_t width(std::string_view name) const;
    /// Adds the rows of a batch with the same names and widths.
    void append(const Batch& other);
    bool operator==(const Batch&) const = default;
};

} // namespace attn
