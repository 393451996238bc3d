#include "engine/core/storage.h"
#include "engine/io/tensor_writer.h"
#include "engine/io/weight_source.h"
#include "tests/io/files.h"
#include "tests/support/answers.h"

#include <zlib.h>

#include <cstring>
#include <ctime>
#include <fmt/format.h>

using namespace attn;
using namespace attn::test;

namespace {

const std::string kGood =
    R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"b":{"dtype":"F16","shape":[3],"data_offsets":[16,22]}})";

/// The message of the Error that opening these bytes gives.
std::string refusal(const std::string& bytes) {
    const TemporaryFolder folder;
    writeFile(folder / "weights.safetensors", bytes);
    const std::string sentence = sentenceOf([&] { const SafetensorsFile file(folder / "weights.safetensors"); });
    if (sentence != "accepted") CHECK_THAT(sentence, CONTAINS("weights.safetensors: "));
    return sentence;
}

} // namespace

TEST_CASE("safetensors: every bad file is refused with a sentence that names the thing", "[io]") {
    const std::string data(22, '\1');
    CHECK(refusal(safetensors(kGood + std::string(3, '\0'), data)) == "accepted");
    CHECK_THAT(refusal(""), CONTAINS("the file is empty"));
    CHECK_THAT(refusal("abc"), CONTAINS("has only 3 bytes"));
    CHECK_THAT(refusal("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"), CONTAINS("git lfs pull"));
    CHECK_THAT(refusal("PK\3\4 this is a zip file, not weights"), CONTAINS("no safetensors file"));
    CHECK_THAT(refusal(safetensors(kGood, data).substr(0, 60)), CONTAINS("truncated"));
    CHECK_THAT(refusal(safetensors(kGood, data.substr(0, 20))),
               CONTAINS("tensor \"b\" lies at bytes 16 to 22 but the file holds 20"));
    CHECK_THAT(refusal(safetensors(std::string("{\"\xff\xfe\":1}"), data)), CONTAINS("not valid JSON"));
    CHECK_THAT(refusal(safetensors("{\"a\":" + std::string(100'000, '['), "")), CONTAINS("not described"));
    CHECK_THAT(refusal(safetensors("{\"a\":{\"b\":" + std::string(100'000, '['), "")), CONTAINS("more than 64 deep"));
}

TEST_CASE("safetensors: what no tensor needs is passed over, and bad entries are refused", "[io]") {
    for (const size_t bytes : {22, 8, 0}) // of data
        checkAnswers("io/safetensors_headers.json", std::to_string(bytes),
                     [&](const std::string& header) { return refusal(safetensors(header, std::string(bytes, '\1'))); });
}

TEST_CASE("safetensors: a header is read in one pass, however many tensors it has", "[io]") {
    constexpr int kTensors = 60'000;
    std::string header = "{";
    for (int i = 0; i < kTensors; ++i)
        header += fmt::format(R"({}"model.layers.{}.weight":{{"dtype":"F32","shape":[1],"data_offsets":[{},{}]}})",
                              i == 0 ? "" : ",", i, 4 * i, 4 * i + 4);
    const std::string bytes = safetensors(header + "}", std::string(size_t{4} * kTensors, '\0'));
    const std::clock_t start = std::clock(); // of this process, so that a busy machine does not matter
    const auto parsed = parseSafetensorsHeader(std::as_bytes(std::span(bytes)), bytes.size(), "many");
    CHECK(parsed.tensors.size() == kTensors);
    CHECK(std::clock() - start <
          10 * CLOCKS_PER_SEC); // a hundred times as long as one pass; a quadratic one takes 100 s
}

TEST_CASE("safetensors: half, bfloat16 and double become the right float32, unaligned too", "[io]") {
    CHECK(floatOfHalf(0x3C00) == 1.0f);
    CHECK(floatOfHalf(0xC000) == -2.0f);
    CHECK(floatOfHalf(0x0001) == 0x1p-24f); // the smallest subnormal
    CHECK(floatOfHalf(0x83FF) == -1023 * 0x1p-24f);
    CHECK(floatOfHalf(0x7BFF) == 65504.0f);
    CHECK(std::isinf(floatOfHalf(0x7C00)));
    CHECK(std::isnan(floatOfHalf(0x7E00)));
    CHECK(std::signbit(floatOfHalf(0x8000)));

    const TemporaryFolder folder;
    std::string data(1, 'x'); // everything after it is unaligned
    const auto append = [&](auto value) { data.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
    append(uint16_t{0x3F80});
    append(uint16_t{0xC040});
    append(2.5);
    append(std::numeric_limits<double>::quiet_NaN());
    writeFile(
        folder / "w.safetensors",
        safetensors(
            R"({"pad":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"bf":{"dtype":"BF16","shape":[2],"data_offsets":[1,5]},"d":{"dtype":"F64","shape":[2],"data_offsets":[5,21]}})",
            data));
    const SafetensorsFile file(folder / "w.safetensors");
    std::vector<float> values(2);
    CHECK(file.read(file.tensors().at("bf"), 0, values) == 0);
    CHECK(values == std::vector<float>{1.0f, -3.0f});
    CHECK(file.read(file.tensors().at("d"), 0, values) == 1); // one NaN counted
    CHECK(values[0] == 2.5f);
    CHECK_THROWS_AS(file.read(file.tensors().at("pad"), 0, std::span(values).first(1)), Error);
}

TEST_CASE("model folders: shards, snapshots and what is missing", "[io]") {
    const TemporaryFolder folder;
    const auto refusalOf = [](const fs::path& path) { return sentenceOf([&] { const WeightSource source(path); }); };
    CHECK_THAT(refusalOf(folder / "nowhere"), CONTAINS("no such file or folder"));
    CHECK_THAT(refusalOf(folder.path()), CONTAINS("has no config.json; it holds nothing"));
    writeFile(folder / "config.json", "{\"model_type\": ");
    CHECK_THAT(refusalOf(folder.path()), CONTAINS("not valid JSON"));
    writeFile(folder / "config.json", "{\"model_type\": \"llama\"}");
    CHECK_THAT(refusalOf(folder.path()), CONTAINS("has no model.safetensors"));
    writeFile(folder / "pytorch_model.bin", "x");
    CHECK_THAT(refusalOf(folder.path()), CONTAINS("safe_serialization"));
    writeFile(folder / "model.safetensors.index.json",
              R"({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}})");
    writeFile(folder / "one.safetensors",
              safetensors(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", std::string(4, '\0')));
    CHECK_THAT(refusalOf(folder.path()), CONTAINS("the shard two.safetensors is missing"));
    writeFile(folder / "two.safetensors",
              safetensors(R"({"c":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", std::string(4, '\0')));
    CHECK_THAT(refusalOf(folder.path()), CONTAINS("promises tensor \"b\""));
    writeFile(folder / "two.safetensors",
              safetensors(R"({"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", std::string(4, '\0')));
    const WeightSource source(folder.path());
    CHECK(source.names() == std::vector<std::string>{"a", "b"});
    CHECK_THAT(sentenceOf([&] { source.tensor("bb"); }),
               CONTAINS("tensor \"bb\" is missing") && CONTAINS("nearest names are b"));

    // A cache: models--x--y/snapshots/HASH/* are symlinks to blobs.
    const TemporaryFolder cache;
    fs::create_directories(cache / "snapshots/abc");
    fs::create_directories(cache / "refs");
    writeFile(cache / "refs/main", "abc");
    for (const char* name : {"config.json", "one.safetensors", "two.safetensors", "model.safetensors.index.json"})
        fs::create_symlink(folder / name, cache.path() / "snapshots/abc" / name);
    CHECK(WeightSource(cache.path()).names().size() == 2);
}

TEST_CASE("writers: what is written reads back, whole or not at all", "[io]") {
    const TemporaryFolder folder;
    const std::vector<float> values{1, -2.5f, 3, 4, 5, 6};
    const std::vector<int32_t> ids{7, 8, 9};
    const std::vector<WrittenTensor> tensors{{.name = "x", .shape = {2, 3}, .values = values},
                                             {.name = "ids", .shape = {3}, .integers = ids}};
    writeSafetensors(folder / "run.safetensors", tensors, {{"model", "m"}});
    const SafetensorsFile file(folder / "run.safetensors");
    std::vector<float> read(6);
    file.read(file.tensors().at("x"), 0, read);
    CHECK(read == values);
    CHECK(file.readIntegers(file.tensors().at("ids")) == ids);

    writeNpz(folder / "run.npz", tensors);
    const std::string npz = readTextFile(folder / "run.npz", 1 << 20);
    CHECK(npz.starts_with("PK\3\4"));
    CHECK(npz.find("ids.npy") != std::string::npos);

    const std::vector<std::u32string> words{U"a", U"héß", U"🙂"};
    writeNpz(folder / "run.npz", std::vector<WrittenTensor>{{.name = "words", .shape = {3}, .texts = words}});
    const std::string written = readTextFile(folder / "run.npz", 1 << 20);
    std::string plain(4096, ' '); // of the first entry: 30 bytes of its header and its name precede it
    z_stream stream{};
    REQUIRE(inflateInit2(&stream, -15) == Z_OK);
    const size_t begin = 30 + std::string_view("words.npy").size();
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(written.data() + begin));
    stream.avail_in = static_cast<uInt>(written.size() - begin);
    stream.next_out = reinterpret_cast<Bytef*>(plain.data());
    stream.avail_out = static_cast<uInt>(plain.size());
    CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END);
    plain.resize(stream.total_out);
    inflateEnd(&stream);
    CHECK(plain.find("'<U3'") != std::string::npos);
    std::u32string characters(9, U' ');
    REQUIRE(plain.size() > 36);
    std::memcpy(characters.data(), plain.data() + plain.size() - 36, 36);
    CHECK(characters == std::u32string(U"a\0\0héß🙂\0\0", 9));
    CHECK_THROWS_AS(writeNpz(folder / "no/such/folder/run.npz", tensors), Error);
    CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 2); // nothing was left aside
}
