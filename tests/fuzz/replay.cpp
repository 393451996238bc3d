#include "engine/io/input_file.h"
#include "tests/support/catch.h"

// The targets of this folder, each under its own name, and what libFuzzer gives to it.
#define TARGET(name) extern "C" int fuzz_##name(const uint8_t* data, size_t size);
#include "fuzz_targets.inc"
#undef TARGET

namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 20; ///< of a file of the corpus: it stays small

struct Target {
    const char* name;
    int (*run)(const uint8_t* data, size_t size);
};

constexpr Target kTargets[] = {
#define TARGET(name) {#name, fuzz_##name},
#include "fuzz_targets.inc"
#undef TARGET
};

std::vector<std::filesystem::path> filesOf(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
}

} // namespace

TEST_CASE("corpus: each reader reads or refuses every file", "[fuzz]") {
    for (const Target& target : kTargets) DYNAMIC_SECTION(target.name) {
            const auto files = filesOf(std::filesystem::path(ATTN_TEST_DIR) / "fuzz" / "corpus" / target.name);
            CHECK_FALSE(files.empty());
            for (const std::filesystem::path& file : files) {
                INFO(file.string());
                const std::string bytes = attn::readTextFile(file, kMostBytes);
                CHECK(target.run(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()) == 0);
            }
        }
}

TEST_CASE("corpus: every folder belongs to a target", "[fuzz]") {
    for (const std::filesystem::path& folder : filesOf(std::filesystem::path(ATTN_TEST_DIR) / "fuzz" / "corpus")) {
        INFO(folder.string());
        CHECK(std::ranges::any_of(kTargets, [&](const Target& target) { return folder.filename() == target.name; }));
    }
}
