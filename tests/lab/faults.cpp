#include "app/lab/session_file.h"
#include "tests/support/catch.h"
#include "tests/support/file_size_limit.h"

#include <QDir>
#include <QTemporaryDir>

#include <filesystem>
#include <sys/stat.h>

namespace attn {
namespace fs = std::filesystem;

TEST_CASE("lab: a pipe in the place of a session is refused, not waited for", "[lab]") {
    const QTemporaryDir folder;
    const QString path = folder.filePath("pipe.attnlab");
    REQUIRE(mkfifo(path.toLocal8Bit().constData(), 0600) == 0);
    const auto loaded = loadSession(path);
    REQUIRE(std::holds_alternative<Failure>(loaded));
    CHECK(std::get<Failure>(loaded).what == "this is not a file");
    REQUIRE(saveSession({.modelPath = "builtin:stories"}, path));
    CHECK(fs::is_fifo(path.toStdString()));
}

TEST_CASE("lab: a session that a full disk refuses leaves the older one and gives the reason", "[lab]") {
    const QTemporaryDir folder;
    const QString path = folder.filePath("a.attnlab");
    REQUIRE_FALSE(saveSession({.modelPath = "builtin:stories", .prompt = "old"}, path));
    {
        const test::FileSizeLimit limit(100);
        const auto failure = saveSession({.modelPath = "builtin:stories", .prompt = "new"}, path);
        REQUIRE(failure);
        CHECK(failure->what == "cannot be written: File too large");
    }
    CHECK(std::get<SessionDocument>(loadSession(path)).prompt == "old");
    CHECK(QDir(folder.path()).entryList(QDir::Files).size() == 1);
}

} // namespace attn
