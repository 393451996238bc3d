#include "engine/attention/mask/catalogue.h"
#include "engine/attention/part.h"
#include "engine/io/safetensors.h"
#include "tests/attention/mask_pictures.h"
#include "tests/io/files.h"
#include "tests/support/answers.h"
#include "tests/support/program.h"

#include <QImage>

using namespace attn;
using namespace attn::test;

namespace {

Answer runMask(const std::string& arguments) { return runProgram("mask " + arguments); }

} // namespace

TEST_CASE("attention-cli attend: refuses inputs without rows or width, and impossible sizes", "[attention][cli]") {
    const TemporaryFolder folder;
    const auto problem = [&](const std::string& shape) {
        std::string header = "{";
        for (const char* name : {"q", "k", "v"})
            header += (header.size() > 1 ? ",\"" : "\"") + std::string(name) +
                      "\":{\"dtype\":\"F32\",\"shape\":" + shape + ",\"data_offsets\":[0,0]}";
        writeFile(folder / "input.safetensors", safetensors(header + "}", ""));
        const Answer answer =
            runProgram("attend --spec mask=causal --input '" + (folder / "input.safetensors").string() + "' --out '" +
                       (folder / "out.npz").string() + "'");
        CHECK(answer.code == 1);
        return answer.text;
    };
    for (const char* shape : {"[1099511627776, 0]", "[0, 8]", "[4, 0]", "[1, 1099511627776, 0]", "[0, 0]"})
        CHECK_THAT(problem(shape), CONTAINS("input.safetensors: the shape of q is " + std::string(shape) +
                                            ", but attend needs 1 to 65536 rows and a width from 1 to 1024"));
    CHECK_THAT(problem("[0, 4, 8]"), CONTAINS("not [1, rows, width]"));
}

TEST_CASE("attention-cli attend: writes a window of an effective pattern of any length", "[attention][cli][gpu]") {
    const TemporaryFolder folder;
    const std::string path = folder / "pattern.safetensors";
    const auto attend = [&](const std::string& spec, const std::string& window) {
        return runProgram("attend --validation --spec '" + spec + "' --random 4096,8 --window " + window + " --out '" +
                          path + "'");
    };
    const Answer part = attend("heads=multi_head(2), normaliser=linear, mask=causal", "3000:3128,10:74");
    INFO(part.text);
    REQUIRE(part.code == 0);
    const SafetensorsFile file(path);
    CHECK(file.tensors().size() == 1);
    CHECK(file.tensors().at("pattern").shape == std::vector<int64_t>{2, 128, 64});
    CHECK(attend("normaliser=linear", "0:4096,0:4096 --pixels 32").code == 0);
    CHECK(SafetensorsFile(path).tensors().at("pattern").shape == std::vector<int64_t>{1, 32, 32});
    const Answer beyond = attend("normaliser=linear", "0:4097,0:128");
    CHECK(beyond.code == 1);
    CHECK_THAT(beyond.text, CONTAINS("--window: \"0:4097,0:128\" is not a window of 4096 queries and 4096 keys"));
    const Answer whole = attend("mask=causal", "0:128,0:128");
    CHECK(whole.code == 1);
    CHECK_THAT(whole.text, CONTAINS("not a product of features"));
}

TEST_CASE("attention-cli mask: prints small masks and counts", "[attention][cli]") {
    const Answer small = runMask("'causal & window(2)' --size 3 --keys 4");
    CHECK(small.code == 0);
    CHECK(small.text == "■ · · ·\n■ ■ · ·\n· ■ ■ ·\n");
    const Answer counts = runMask("'causal & window(256)' --size 4096 --count");
    CHECK(counts.code == 0);
    CHECK(counts.text == "cells per row: min 1, mean 248.03, max 256\nseen: 1015936 of 16777216 (6.055 %)\n");
    CHECK(runMask("'per_head(full, causal)' --size 2 --head 1 --heads 2").text == "■ ·\n■ ■\n");
    CHECK(runMask("'per_layer(full, ~full)' --size 2 --layer 3").text == "· ·\n· ·\n");
}

TEST_CASE("attention-cli mask: files hold the mask", "[attention][cli]") {
    const TemporaryFolder folder;
    const std::string path = folder / "mask.safetensors";
    REQUIRE(runMask("'causal & (window(3) | global(2))' --size 70 --keys 90 --out '" + path + "'").code == 0);
    const SafetensorsFile file(path);
    const StoredTensor& stored = file.tensors().at("mask");
    CHECK(stored.shape == std::vector<int64_t>{70, 90});
    CHECK(stored.dtype == FileDType::F32);
    std::vector<float> cells(70 * 90);
    file.read(stored, 0, cells);
    const std::string expected = pictureOf("causal & (window(3) | global(2))", {.queries = 70, .keys = 90});
    for (size_t i = 0; i < 70; ++i)
        for (size_t j = 0; j < 90; ++j) CHECK(cells[i * 90 + j] == (expected[i * 91 + j] == '#' ? 1.0f : 0.0f));

    const std::string picture = folder / "mask.png";
    REQUIRE(runMask("'causal & (window(3) | global(2))' --size 70 --keys 90 --cell 3 --out '" + picture + "'").code ==
            0);
    const QImage image(QString::fromStdString(picture));
    REQUIRE(image.size() == QSize(270, 210));
    CHECK(image.pixel(0, 0) != image.pixel(269, 0));
    for (int y = 0; y < 210; ++y)
        for (int x = 0; x < 270; ++x) {
            const bool isSeen = expected[static_cast<size_t>(y / 3 * 91 + x / 3)] == '#';
            if (image.pixel(x, y) != image.pixel(isSeen ? 0 : 269, 0)) FAIL("pixel " << x << ", " << y);
        }

    REQUIRE(runMask("blocks\\(3\\) --size 10 --out '" + (folder / "mask.npz").string() + "'").code == 0);
    CHECK(fs::file_size(folder / "mask.npz") > 100);
}

TEST_CASE("attention-cli mask: what cannot be done is said, with the exit codes of the other commands",
          "[attention][cli]") {
    for (const int code : {1, 2})
        checkAnswers("attention/texts.json", "attention-cli mask ends with " + std::to_string(code),
                     [&](const std::string& arguments) {
                         const Answer answer = runMask(arguments);
                         CHECK(answer.code == code);
                         return answer.text;
                     });
    // A misspelt composition is found before the first one is priced.
    const Answer cost = runProgram("cost mask=causal 'mask=windw(2)' --to 64", " 2>/dev/null");
    CHECK(cost.code == 1);
    CHECK(cost.text.empty());
    const Answer help = runMask("--help");
    CHECK(help.code == 0);
    for (const Part* part : maskParts()) CHECK_THAT(help.text, CONTAINS("\n  " + std::string(part->id)));
    CHECK_THAT(help.text, CONTAINS("Examples:"));
}
