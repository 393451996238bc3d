#include "engine/io/idx.h"

#include "engine/io/decode_image.h"
#include "tests/io/files.h"
#include "tests/io/mutator.h"

#include <zlib.h>

using namespace attn;
using namespace attn::test;
using namespace std::string_literals;

namespace {

/// Two pictures of 2 x 3, with the numbers 0 to 11.
std::string idx() {
    std::string bytes{"\x00\x00\x08\x03\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00\x03", 16};
    for (char value = 0; value < 12; ++value) bytes += value;
    return bytes;
}

std::string gzipped(const std::string& bytes) {
    z_stream stream{};
    REQUIRE(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    std::string packed(deflateBound(&stream, bytes.size()) + 64, '\0');
    std::string input = bytes;
    stream.next_in = reinterpret_cast<Bytef*>(input.data());
    stream.avail_in = static_cast<uInt>(input.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
}

std::string problemOf(const std::string& bytes) {
    const TemporaryFolder folder;
    writeFile(folder / "file", bytes);
    return sentenceOf([&] { readIdx(folder / "file"); });
}

} // namespace

TEST_CASE("idx: plain and gzipped files hold the same array", "[io]") {
    const TemporaryFolder folder;
    std::vector<uint8_t> expected(12);
    std::iota(expected.begin(), expected.end(), uint8_t{0});
    const std::string inParts = gzipped(idx().substr(0, 9)) + gzipped(idx().substr(9)); // as cat joins files
    for (const std::string& bytes : {idx(), gzipped(idx()), gzipped(idx()) + std::string(512, '\0'), inParts}) {
        writeFile(folder / "file", bytes);
        const IdxArray array = readIdx(folder / "file");
        CHECK(array.extents == std::vector<int64_t>{2, 2, 3});
        CHECK(array.values == expected);
    }
    // Larger than one piece of the unpacker.
    const std::string zeros(3'000'000, '\0');
    writeFile(folder / "large", gzipped(zeros));
    CHECK(readMaybeGzipped(folder / "large") == std::vector<uint8_t>(zeros.size(), 0));
}

TEST_CASE("idx: what is wrong with a file is said", "[io]") {
    CHECK_THAT(problemOf(""), CONTAINS("is not an IDX file"));
    CHECK_THAT(problemOf("PK\x03\x04 a zip file"), CONTAINS("is not an IDX file"));
    std::string other = idx();
    other[2] = 0x0D;
    CHECK_THAT(problemOf(other), CONTAINS("numbers of type 0x0d"));
    other = idx();
    other[3] = 9;
    CHECK_THAT(problemOf(other), CONTAINS("9 axes"));
    other = idx();
    other[7] = 0;
    CHECK_THAT(problemOf(other), CONTAINS("axis of 0"));
    CHECK_THAT(problemOf(idx().substr(0, 20)), CONTAINS("should hold 12 bytes"));
    CHECK_THAT(problemOf(idx() + "more"), CONTAINS("should hold 12 bytes"));
    const std::string packed = gzipped(idx());
    CHECK_THAT(problemOf(packed + "more"), CONTAINS("holds 4 bytes behind the end of its gzipped data"));
    CHECK_THAT(problemOf(packed + "\0\0x"s), CONTAINS("holds 1 bytes behind the end of its gzipped data"));
    CHECK_THAT(problemOf(packed + gzipped("more")), CONTAINS("should hold 12 bytes after its header but holds 16"));
    CHECK_THAT(problemOf(packed + packed.substr(0, packed.size() - 9)), CONTAINS("cut off"));
    for (size_t length = 3; length + 8 < packed.size(); ++length)
        CHECK_THAT(problemOf(packed.substr(0, length)), CONTAINS("cut off"));
    other = packed;
    other[packed.size() / 2] = static_cast<char>(~other[packed.size() / 2]);
    CHECK(problemOf(other) != "accepted");
    CHECK(sentenceOf([] { readIdx("/nowhere/file"); }) != "accepted");
}

TEST_CASE("decoding: a picture written as PPM is read as it was", "[io]") {
    const TemporaryFolder folder;
    Image image{.height = 3, .width = 2, .rgb = {}};
    for (int i = 0; i < 18; ++i) image.rgb.push_back(static_cast<uint8_t>(i * 14));
    writePpm(folder / "picture.ppm", image);
    CHECK(decodeImage(folder / "picture.ppm") == image);
    writeFile(folder / "text.png", "no picture");
    CHECK_THAT(sentenceOf([&] { decodeImage(folder / "text.png"); }), CONTAINS("cannot be read"));
    writeFile(folder / "empty.png", "");
    CHECK_THAT(sentenceOf([&] { decodeImage(folder / "empty.png"); }), CONTAINS("cannot be read"));
}

TEST_CASE("idx: 40,000 mutated files are read or refused, never worse", "[io]") {
    const TemporaryFolder folder;
    test::Mutator mutator(7);
    const auto mutants = [&](const std::string& good, int rounds, const auto& read) {
        int accepted = 0;
        for (int round = 0; round < rounds; ++round) {
            writeFile(folder / "file", mutator(good));
            try {
                read(folder / "file");
                ++accepted;
            } catch (const Error& error) {
                REQUIRE_FALSE(error.message().empty());
            }
        }
        CHECK(accepted < rounds);
    };
    const auto readArray = [](const auto& path) {
        const IdxArray array = readIdx(path);
        int64_t count = 1;
        for (const int64_t extent : array.extents) count *= extent;
        REQUIRE(count == static_cast<int64_t>(array.values.size()));
    };
    mutants(idx(), 15'000, readArray);
    mutants(gzipped(idx()), 15'000, readArray);
    const std::string ppm = "P6\n3 2\n255\n" + std::string(18, 'x');
    mutants(ppm, 10'000, [](const auto& path) {
        const Image image = decodeImage(path);
        REQUIRE(static_cast<int64_t>(image.rgb.size()) == image.size().area() * 3);
    });
}
