#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace attn {

class Trainer;

/// Files of a person's from which a model learns.
struct RunData {
    std::string field;          ///< of the recipe, which names them: "text", "translation" or "data"
    std::filesystem::path path; ///< a file, or a folder of pictures
    std::string hash;           ///< sha256OfFile(), or contentHash() of the pictures that were read
};

/// What a trainer has read. @throws Error if a file can no longer be read
std::vector<RunData> dataOf(const Trainer& trainer);
/// Keeps the hashes beside the recipe of a run: data.sha256 has a line for each field, such as "text 5b8c09...".
void keepHashes(const std::filesystem::path& run, const std::vector<RunData>& all);
/// Compares what a run is to continue with to the hashes that it keeps; a run of an older version keeps none.
/// @throws Error naming the data that has changed, or if the file of hashes is damaged or belongs to other data
void requireKept(const std::filesystem::path& run, const std::vector<RunData>& all);

} // namespace attn
