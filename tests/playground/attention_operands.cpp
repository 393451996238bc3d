#include "engine/playground/attention_operands.h"
#include "tests/io/files.h"

#include <fmt/format.h>

using namespace attn;
using namespace attn::test;

namespace {

/// A file with the tensors q, k and v of these shapes, full of zeros.
std::string inputs(const std::string& q, const std::string& k, const std::string& v, size_t bytesOfEach) {
    const auto tensor = [&](const char* name, const std::string& shape, size_t index) {
        return fmt::format(R"("{}":{{"dtype":"F32","shape":{},"data_offsets":[{},{}]}})", name, shape,
                           index * bytesOfEach, (index + 1) * bytesOfEach);
    };
    return safetensors(fmt::format("{{{},{},{}}}", tensor("q", q, 0), tensor("k", k, 1), tensor("v", v, 2)),
                       std::string(3 * bytesOfEach, '\0'));
}

} // namespace

TEST_CASE("attention operands: shapes are read with and without an axis of heads", "[session]") {
    const TemporaryFolder folder;
    writeFile(folder / "qkv", inputs("[2,3,4]", "[1,6,4]", "[6,4]", 96));
    const AttentionOperands read = readAttentionOperands(folder / "qkv", {.heads = 2, .groups = 1});
    CHECK(read.sizes == AttentionSizes{.queries = 3, .keys = 6, .width = 4});
    CHECK(read.q.size() == 24);
    CHECK(read.v.size() == 24);
    CHECK(read.leftOut.empty());
    const std::string more =
        R"({"q":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},"k":{"dtype":"F32","shape":[1,1],)"
        R"("data_offsets":[4,8]},"v":{"dtype":"F32","shape":[1,1],"data_offsets":[8,12]},)"
        R"("bias":{"dtype":"U8","shape":[1],"data_offsets":[12,13]}})";
    writeFile(folder / "qkv", safetensors(more, std::string(13, '\0')));
    CHECK(readAttentionOperands(folder / "qkv", {.heads = 1, .groups = 1}).leftOut == std::vector<std::string>{"bias"});
}

TEST_CASE("attention operands: a shape without numbers, or with too many, is refused", "[session]") {
    const TemporaryFolder folder;
    for (const char* shape : {"[1099511627776,0]", "[0,1099511627776]", "[0,8]", "[4,0]", "[1,0,0]", "[65537,0]"}) {
        writeFile(folder / "qkv", inputs(shape, shape, shape, 0));
        const std::string sentence =
            sentenceOf([&] { readAttentionOperands(folder / "qkv", {.heads = 1, .groups = 1}); });
        INFO(shape << ": " << sentence);
        CHECK(sentence.find("but attend needs 1 to 65536 rows and a width from 1 to 1024") != std::string::npos);
    }
}

TEST_CASE("attention operands: shapes that do not fit together are refused", "[session]") {
    const TemporaryFolder folder;
    const auto sentence = [&](const char* q, const char* k, const char* v) {
        writeFile(folder / "qkv", inputs(q, k, v, 96));
        return sentenceOf([&] { readAttentionOperands(folder / "qkv", {.heads = 2, .groups = 2}); });
    };
    CHECK(sentence("[2,3,4]", "[1,6,4]", "[2,3,4]").find("the shape of k is [1, 6, 4], not [2, rows, width]") !=
          std::string::npos);
    CHECK(sentence("[2,3,4]", "[2,6,2]", "[2,6,2]").find("k has width 2, but q has width 4") != std::string::npos);
    CHECK(sentence("[2,3,4]", "[2,3,4]", "[2,3,4]") == "accepted");
}
