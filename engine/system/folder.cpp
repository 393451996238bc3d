#include "engine/system/folder.h"

#include "engine/core/error.h"
#include "engine/system/atomic_file.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

namespace attn {
namespace fs = std::filesystem;

std::vector<fs::path> entriesOf(const fs::path& folder, std::error_code& error) {
    std::vector<fs::path> entries;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
        entries.push_back(entry->path());
    return entries;
}

void createFolder(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    std::error_code ignored;
    for (fs::path part = folder; error && !part.empty(); part = part == part.parent_path() ? "" : part.parent_path())
        if (fs::exists(part, ignored) && !fs::is_directory(part, ignored))
            throw Error({.what = "is a file, not a folder", .where = part.string(), .hint = "choose another name"});
    if (error)
        throw Error({.what = fmt::format("the folder cannot be created: {}", error.message()),
                     .where = folder.string(),
                     .hint = remedyForWriting(error.value())});
}

void syncFolder(const fs::path& folder) {
    const int descriptor = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    fsync(descriptor);
    close(descriptor);
}

} // namespace attn
