#include "engine/training/run_data.h"

#include "engine/core/attempt.h"
#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/data/word_pieces.h"
#include "engine/io/content_hash.h"
#include "engine/io/input_file.h"
#include "engine/system/atomic_file.h"
#include "engine/training/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace attn {
namespace fs = std::filesystem;
namespace {

constexpr const char* kHashFile = "data.sha256";

bool isHash(const std::string& text) {
    return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

} // namespace

std::vector<RunData> dataOf(const Trainer& trainer) {
    std::vector<fs::path> pictures;
    if (const ImageObjective* images = imagesOf(trainer)) pictures = images->instance().files();
    if (const SequenceObjective* sequences = sequencesOf(trainer)) pictures = sequences->instance().files();
    return dataOf(trainer.task(), trainer.recipe().settings.data, pictures);
}

std::vector<RunData> dataOf(const Task& task, const DataSettings& data, const std::vector<fs::path>& pictures) {
    std::vector<RunData> all;
    const auto add = [&](const char* field, const fs::path& file) {
        if (!file.empty()) all.push_back({.field = field, .path = file, .hash = sha256OfFile(file)});
    };
    if (task.readsText && data.text != kBuiltinStories) add("text", data.text);
    if (task.readsTranslation) add("translation", data.translation);
    if (pictures.empty()) return all;
    std::error_code error;
    const fs::path path = data.pictures.empty() ? pictures.front().parent_path() : data.pictures;
    all.push_back({.field = "data",
                   .path = path,
                   .hash = contentHash(pictures, fs::is_directory(path, error) ? path : path.parent_path())});
    return all;
}

void keepHashes(const fs::path& run, const std::vector<RunData>& all) {
    std::string lines;
    for (const RunData& each : all) lines += fmt::format("{} {}\n", each.field, each.hash);
    if (!lines.empty()) writeAtomically(run / kHashFile, lines);
}

void requireKept(const fs::path& run, const std::vector<RunData>& all) {
    constexpr uint64_t kMostBytes = 1 << 16;
    std::error_code error;
    const fs::path file = run / kHashFile;
    if (!fs::exists(file, error)) return;
    const auto refuse = [&](std::string what) {
        throw Error({.what = std::move(what),
                     .where = file.string(),
                     .hint = "remove it to continue without comparing the data, if you know that they are the same"});
    };
    std::map<std::string, std::string> kept;
    if (fs::file_size(file, error) <= kMostBytes && !error) {
        std::istringstream lines(readTextFile(file, kMostBytes));
        for (std::string field, hash; lines >> field;) {
            if (!(lines >> hash) || !isHash(hash)) refuse("is damaged: a line has no hash of 64 digits");
            kept[field] = hash;
        }
    }
    if (kept.empty()) refuse("is damaged: it has no hashes of the data of this training run");
    for (const auto& [field, hash] : kept)
        if (std::ranges::find(all, field, &RunData::field) == all.end())
            refuse(fmt::format("names data of the run, \"{}\", that recipe.json no longer names", printable(field)));
    for (const RunData& each : all)
        if (const auto found = kept.find(each.field); found == kept.end())
            refuse(fmt::format("has no hash of {}, which recipe.json names", each.path.string()));
        else if (found->second != each.hash)
            throw Error({.what = fmt::format("has changed since the training run began: its hash begins with {:.12}, "
                                             "not {:.12}",
                                             each.hash, found->second),
                         .where = each.path.string(),
                         .hint = "restore it, or start another training run with --from and the folder of this one"});
}

std::string changeOfData(const fs::path& run, const std::function<std::vector<RunData>()>& now) {
    std::error_code error;
    if (!fs::exists(run / kHashFile, error)) return {};
    const auto failure = attempt(run.string(), [&] { requireKept(run, now()); });
    return failure ? failure->where + " " + failure->what : std::string();
}

} // namespace attn
