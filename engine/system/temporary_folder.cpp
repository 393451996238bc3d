#include "engine/system/temporary_folder.h"

#include "engine/core/error.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace attn {
namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
    std::error_code error;
    const fs::path parent = fs::temp_directory_path(error);
    std::string name = (parent / "attention-lab-XXXXXX").string();
    if (error || mkdtemp(name.data()) == nullptr)
        throw Error({.what = fmt::format("no temporary folder can be created: {}",
                                         error ? error.message() : std::strerror(errno)),
                     .where = error ? "TMPDIR" : parent.string(),
                     .hint = "set TMPDIR to a folder that you may write to"});
    path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

} // namespace attn
