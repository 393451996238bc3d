#include "engine/io/checksums.h"

#include "tests/io/files.h"

using namespace attn;
using namespace attn::test;

TEST_CASE("checksums: one flipped bit in any listed file is found and named", "[io]") {
    const TemporaryFolder folder;
    writeFile(folder / "config.json", "{}");
    writeFile(folder / "model.safetensors", std::string(3'000'000, 'x'));
    writeFile(folder / "notes.txt", "mine");
    writeChecksums(folder.path(), kModelFiles);
    const auto verified = [&] { return sentenceOf([&] { verifyChecksums(folder.path(), kModelFiles); }); };
    CHECK(verified() == "accepted");
    writeFile(folder / "notes.txt", "changed"); // not listed
    CHECK(verified() == "accepted");
    for (const size_t at : {size_t{0}, size_t{1'500'000}, size_t{2'999'999}}) {
        std::string bytes(3'000'000, 'x');
        bytes[at] ^= 1;
        writeFile(folder / "model.safetensors", bytes);
        CHECK_THAT(verified(), CONTAINS("model.safetensors: is damaged: its checksum is"));
    }
    fs::remove(folder / "model.safetensors");
    CHECK_THAT(verified(), CONTAINS("model.safetensors: is missing, but checksums.sfv names it; use another"));
    writeFile(folder / "config.json", "{} ");
    CHECK_THAT(verified(), CONTAINS("config.json: is damaged"));
    removeChecksums(folder.path());
    removeChecksums(folder.path());
    CHECK(verified() == "accepted");
}

TEST_CASE("checksums: a file of checksums that nobody could have written is harmless, and half a line named", "[io]") {
    const TemporaryFolder folder;
    writeFile(folder / "config.json", "{}");
    const auto with = [&](const std::string& text) {
        writeFile(folder / "checksums.sfv", text);
        return sentenceOf([&] { verifyChecksums(folder.path(), kModelFiles); });
    };
    CHECK(with("../../etc/passwd 00000000\n/dev/zero 00000000\nnotes.txt 00000000\n") == "accepted");
    CHECK_THAT(with(""), CONTAINS("checksums.sfv: names no file; use"));
    CHECK_THAT(with("\n\n"), CONTAINS("checksums.sfv: names no file; use"));
    CHECK_THAT(with("notes.txt 00000000\n\nconfig.json"), CONTAINS("checksums.sfv: line 3 is damaged; use"));
    CHECK_THAT(with("config.json " + std::string(1'000'000, '0')), CONTAINS("instead of 00000000; use"));
}

TEST_CASE("checksums: a link that leads nowhere is a file of checksums that cannot be read", "[io]") {
    const TemporaryFolder folder;
    writeFile(folder / "config.json", "{}");
    fs::create_symlink("nowhere", folder / "checksums.sfv");
    CHECK(hasChecksums(folder.path()));
    CHECK_THAT(sentenceOf([&] { verifyChecksums(folder.path(), kModelFiles); }), CONTAINS("checksums.sfv: "));
    removeChecksums(folder.path());
    CHECK_FALSE(hasChecksums(folder.path()));
}
