#include "engine/system/atomic_file.h"

#include "engine/core/error.h"
#include "engine/system/folder.h"
#include "engine/system/private_file.h"
#include "engine/system/temporary_folder.h"
#include "tests/support/catch.h"
#include "tests/support/file_size_limit.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

using namespace attn;
namespace fs = std::filesystem;

namespace {

std::string contentsOf(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string refusalOf(const fs::path& path, const std::string& text) {
    try {
        writeAtomically(path, text);
    } catch (const Error& error) {
        CHECK_FALSE(error.hint().empty());
        CHECK(error.where() == path.string());
        return error.message();
    }
    return "written";
}

size_t countIn(const fs::path& folder) {
    std::error_code error;
    return entriesOf(folder, error).size();
}

mode_t modeOf(const fs::path& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

} // namespace

TEST_CASE("atomic file: links are followed, also those to files that are not there yet", "[core]") {
    const TemporaryFolder folder;
    fs::create_directories(folder / "elsewhere");
    fs::create_symlink("elsewhere/real", folder / "near");
    fs::create_symlink(folder / "near", folder / "far");
    for (const std::string text : {"first", "second"}) {
        writeAtomically(folder / "far", text);
        CHECK(contentsOf(folder / "elsewhere/real") == text);
        CHECK(fs::is_symlink(folder / "far"));
        CHECK(fs::is_symlink(folder / "near"));
    }
    CHECK(countIn(folder / "elsewhere") == 1);
    fs::create_symlink("loop", folder / "loop");
    CHECK(refusalOf(folder / "loop", "x").find("cannot be written: ") == 0);
}

TEST_CASE("atomic file: devices, pipes and folders are refused and stay what they are", "[core]") {
    const TemporaryFolder folder;
    REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
    fs::create_directories(folder / "inner");
    CHECK(refusalOf(folder / "pipe", "x") == "is a device, a pipe or a socket, not a file");
    CHECK(fs::is_fifo(folder / "pipe"));
    CHECK(refusalOf(folder / "inner", "x") == "is a folder");
    CHECK(refusalOf("/dev/null", "x") == "is a device, a pipe or a socket, not a file");
    CHECK(countIn(folder.path()) == 2);
    if (mknod((folder / "null").c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0) {
        WARN("only root can make a device in a folder that it may write to");
        return;
    }
    CHECK(refusalOf(folder / "null", "x") == "is a device, a pipe or a socket, not a file");
    CHECK(fs::is_character_file(folder / "null"));
}

TEST_CASE("atomic file: a file that is replaced keeps its permissions", "[core]") {
    const TemporaryFolder folder;
    writeAtomically(folder / "file", "a");
    const mode_t mask = umask(0);
    umask(mask);
    CHECK(modeOf(folder / "file") == (0666 & ~mask));
    REQUIRE(chmod((folder / "file").c_str(), 0640) == 0);
    writeAtomically(folder / "file", "b");
    CHECK(modeOf(folder / "file") == 0640);
    CHECK(contentsOf(folder / "file") == "b");
}

TEST_CASE("atomic file: a full disk leaves the older file, no other, and is named with its reason", "[core]") {
    const TemporaryFolder folder;
    writeAtomically(folder / "file", "older");
    {
        const test::FileSizeLimit limit(1000);
        CHECK(refusalOf(folder / "file", std::string(100'000, 'x')) == "cannot be written: File too large");
    }
    CHECK(contentsOf(folder / "file") == "older");
    CHECK(countIn(folder.path()) == 1);
}

TEST_CASE("atomic file: what killed processes have left is removed, what others write is not", "[core]") {
    const TemporaryFolder folder;
    const auto make = [&](const char* name) {
        std::ofstream(folder / name) << "part";
        fs::last_write_time(folder / name, fs::file_time_type::clock::now() - std::chrono::hours(1));
    };
    for (const char* name : {"file.0123abcd.part", "file.4242.part", "file.00000001.part"}) make(name);
    for (const char* name : {"file.part", "file.two.part", "other.0123abcd.part", "file.0123abcd.parts"}) make(name);
    std::ofstream(folder / "file.00000002.part") << "just begun";
    const int held = open((folder / "file.00000001.part").c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(flock(held, LOCK_EX | LOCK_NB) == 0);
    writeAtomically(folder / "file", "x");
    close(held);
    CHECK_FALSE(fs::exists(folder / "file.0123abcd.part"));
    CHECK_FALSE(fs::exists(folder / "file.4242.part"));
    for (const char* name : {"file.part", "file.two.part", "other.0123abcd.part", "file.0123abcd.parts",
                             "file.00000001.part", "file.00000002.part", "file"}) {
        INFO(name);
        CHECK(fs::exists(folder / name));
    }
}

TEST_CASE("temporary folder: it is for this user alone and goes with everything in it", "[core]") {
    fs::path path;
    {
        const TemporaryFolder folder, other;
        path = folder.path();
        CHECK(path != other.path());
        CHECK(modeOf(path) == 0700);
        createFolder(folder / "inner");
        writeAtomically(folder / "inner" / "file", "x");
    }
    CHECK_FALSE(fs::exists(path));
}

TEST_CASE("private file: others can neither read it nor enter its folder, also where they could before", "[core]") {
    const TemporaryFolder folder;
    makePrivateFolder(folder / "deep" / "new");
    CHECK(modeOf(folder / "deep" / "new") == 0700);
    fs::create_directory(folder / "old");
    REQUIRE(chmod((folder / "old").c_str(), 0755) == 0);
    makePrivateFolder(folder / "old");
    CHECK(modeOf(folder / "old") == 0700);
    const fs::path file = folder / "old" / "file";
    makePrivateFile(file);
    CHECK(modeOf(file) == 0600);
    writeAtomically(file, "a secret");
    CHECK(modeOf(file) == 0600);
    REQUIRE(chmod(file.c_str(), 0644) == 0);
    makePrivateFile(file);
    CHECK(modeOf(file) == 0600);
    CHECK(contentsOf(file) == "a secret");
    makePrivateFile(folder / "missing" / "file"); // whoever writes there says why it cannot be
    makePrivateFile(folder / "old");
    CHECK(modeOf(folder / "old") == 0700);
}

TEST_CASE("folder: a file in its place is named", "[core]") {
    const TemporaryFolder folder;
    writeAtomically(folder / "file", "text");
    for (const char* name : {"file", "file/run", "file/runs/run"}) {
        try {
            createFolder(folder / name);
            FAIL("created");
        } catch (const Error& error) {
            CHECK(error.message() == "is a file, not a folder");
            CHECK(error.where() == (folder / "file").string());
        }
    }
}
