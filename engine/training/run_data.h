#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace attn {

class Trainer;
struct DataSettings;
struct Task;

/// Files of a person's from which a model learns.
struct RunData {
    std::string field;          ///< of the recipe, which names them: "text", "translation" or "data"
    std::filesystem::path path; ///< a file, or a folder of pictures
    std::string hash;           ///< sha256OfFile(), or contentHash() of the pictures that were read
};

/// What a trainer has read. @throws Error if a file can no longer be read
std::vector<RunData> dataOf(const Trainer& trainer);
/// The same for a task without a trainer. @param pictures the files of pictures that the task has read
std::vector<RunData> dataOf(const Task& task, const DataSettings& data,
                            const std::vector<std::filesystem::path>& pictures);
/// Keeps the hashes beside the recipe of a run: data.sha256 has a line for each field, such as "text 5b8c09...".
void keepHashes(const std::filesystem::path& run, const std::vector<RunData>& all);
/// Compares what a run is to continue with to the hashes that it keeps; a run of an older version keeps none.
/// @throws Error naming the data that has changed, or if the file of hashes is damaged or belongs to other data
void requireKept(const std::filesystem::path& run, const std::vector<RunData>& all);
/// What requireKept() would refuse, as a sentence for a person who measures the run; empty: nothing.
/// @param now what dataOf() returns, asked only if the run keeps hashes
std::string changeOfData(const std::filesystem::path& run, const std::function<std::vector<RunData>()>& now);

} // namespace attn
