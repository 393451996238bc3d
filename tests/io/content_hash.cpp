#include "engine/io/content_hash.h"

#include "tests/io/files.h"

using namespace attn;

TEST_CASE("content hash: SHA-256 as published, and a hash of files as sha256sum gives it", "[io]") {
    const auto hashOf = [](const std::string& text) { return sha256(std::as_bytes(std::span(text))); };
    CHECK(hashOf("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(hashOf("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(hashOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    CHECK(hashOf(std::string(1'000'000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    const TemporaryFolder folder;
    test::writeFile(folder / "b", std::string(3'000'001, 'b'));
    test::writeFile(folder / "a", "abc");
    const std::string sums = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n" +
                             hashOf(std::string(3'000'001, 'b')) + "  b\n";
    CHECK(contentHash(std::vector{folder / "b", folder / "a"}) == hashOf(sums));
    CHECK(contentHash(std::vector{folder / "b", folder / "a"}, folder.path()) == hashOf(sums));
    for (const char* name : {"x", "y"}) {
        std::filesystem::create_directory(folder / name);
        test::writeFile(folder / (std::string(name) + "/1"), name);
    }
    const std::vector both{folder / "x/1", folder / "y/1"};
    CHECK(contentHash(both, folder.path()) == hashOf(hashOf("x") + "  x/1\n" + hashOf("y") + "  y/1\n"));
    CHECK(contentHash(both) == hashOf(hashOf("x") + "  1\n" + hashOf("y") + "  1\n"));
}
