#include "engine/system/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace attn {
namespace fs = std::filesystem;

void makePrivateFolder(const fs::path& folder) {
    std::error_code ignored; // writing into the folder will report why it is missing
    fs::create_directories(folder.parent_path(), ignored);
    if (mkdir(folder.c_str(), 0700) != 0) fs::permissions(folder, fs::perms::owner_all, ignored);
}

void makePrivateFile(const fs::path& path) {
    const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0600);
    if (descriptor < 0) return;
    fchmod(descriptor, 0600);
    close(descriptor);
}

} // namespace attn
