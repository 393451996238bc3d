#include "engine/inference/storage_choice.h"
#include "engine/inference/language_model.h"
#include "engine/inference/vision_model.h"
#include "engine/models/model_source.h"
#include "tests/models/hollow_llama.h"
#include "tests/support/catch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <span>
#include <vector>

using namespace attn;

TEST_CASE("storage choice: the memory is known before a model is loaded", "[inference][gpu]") {
    for (const char* path : {"builtin:stories", "builtin:induction", "builtin:masked", "builtin:numbers-de"}) {
        INFO(path);
        const StorageChoice choice = storageChoice(path);
        REQUIRE(choice.needs.size() == std::size(kStorages));
        for (const StorageNeeds& needs : choice.needs) {
            INFO(storageName(needs.storage));
            const LanguageModel model(openModelSource(path), {.storage = needs.storage});
            CHECK(needs.parameterBytes == model.info().parameterBytes);
            CHECK(choice.parameterCount == model.info().parameterCount);
            CHECK(choice.name == model.info().name);
            CHECK(choice.writes() == (model.isCached() && model.info().writesText()));
        }
    }
    const StorageChoice choice = storageChoice("builtin:vit-fashion");
    CHECK_FALSE(choice.writes());
    for (const StorageNeeds& needs : choice.needs) {
        const VisionModel model(openModelSource("builtin:vit-fashion"), {.storage = needs.storage});
        CHECK(needs.parameterBytes == model.info().parameterBytes);
        CHECK(needs.readBytes == 0);
    }
}

TEST_CASE("storage choice: writing a token reads every weight but the other rows of tables", "[inference]") {
    const char* path = "builtin:stories";
    const auto source = openModelSource(path);
    const ModelSpec& config = source->config();
    const StorageChoice choice = storageChoice(path);
    int64_t expected = choice.parameterCount;
    if (!config.tokenReadout().tiedEmbedding) expected -= (config.tokens.vocabulary - 1) * config.modelWidth;
    CHECK(choice.needs.front().readBytes == 4 * expected);
    const StorageNeeds &halves = choice.needs.at(static_cast<size_t>(Storage::F16)),
                       &bytes = choice.needs.at(static_cast<size_t>(Storage::Q8_0));
    CHECK(halves.readBytes > 2 * expected); // norms stay in f32
    CHECK(halves.readBytes < 3 * expected);
    CHECK(bytes.readBytes > expected);
    CHECK(bytes.readBytes < halves.readBytes);
}

TEST_CASE("storage choice: the speed of a model is measured in every storage before it is loaded", "[inference][gpu]") {
    const StorageChoice choice = storageChoice("builtin:stories");
    const WeightSpeed speed = measureWeightSpeed({}, choice);
    CHECK(speed.device == Device::shared({})->name());
    CHECK(speed.freeBytes > 0);
    for (const double rate : speed.tokensPerSecond) {
        CHECK(rate > 1);
        CHECK(rate < 1e7);
    }
    const WeightSpeed none = measureWeightSpeed({}, choice, [] { return true; });
    CHECK(std::ranges::all_of(none.tokensPerSecond, [](double rate) { return rate == 0; }));
    const WeightSpeed picture = measureWeightSpeed({}, storageChoice("builtin:vit-fashion"));
    CHECK(std::ranges::all_of(picture.tokensPerSecond, [](double rate) { return rate == 0; }));
}

TEST_CASE("storage choice: a model that is too large runs in part, and the rest is in proportion", "[inference][gpu]") {
    const TemporaryFolder folder;
    REQUIRE(test::HollowLlama{.layers = 6, .width = 1024, .heads = 8, .feedForward = 4096}.write(folder.path()));
    const StorageChoice choice = storageChoice(folder.path().string()); // 388 MiB in f32
    const WeightSpeed speed = measureWeightSpeed({}, choice);
    for (const double rate : speed.tokensPerSecond) CHECK(rate > 0.1);
}

TEST_CASE("storage choice: the estimate beside the measured speed", "[.measure]") {
    const char* given = std::getenv("ATTN_MEASURED_MODEL");
    const std::string path = given ? given : "builtin:english";
    const StorageChoice choice = storageChoice(path);
    const auto device = Device::shared({});
    const auto start = std::chrono::steady_clock::now();
    const WeightSpeed speed = measureWeightSpeed({}, choice);
    const auto end = std::chrono::steady_clock::now();
    fmt::print("measurement {} ms\n", (end - start) / std::chrono::milliseconds(1));
    for (size_t i = 0; i < choice.needs.size(); ++i) {
        const StorageNeeds& needs = choice.needs[i];
        LanguageModel model(openModelSource(path), {.storage = needs.storage});
        const std::vector<int> tokens(32, 1);
        model.feed(tokens);
        double least = 1e9; // of a step, for the estimate is of a quiet machine
        for (int token : tokens) {
            const auto begin = std::chrono::steady_clock::now();
            model.feed(std::span(&token, 1));
            least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        }
        fmt::print("{:<6} {:8.1f} MiB  about {:8.1f} tokens/s, measured {:8.1f}\n", storageName(needs.storage),
                   static_cast<double>(needs.parameterBytes) / (1 << 20), speed.tokensPerSecond[i], 1 / least);
    }
}
