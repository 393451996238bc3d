#include "engine/inference/storage_choice.h"
#include "engine/inference/language_model.h"
#include "engine/inference/vision_model.h"
#include "engine/models/model_source.h"
#include "engine/models/vision_source.h"
#include "tests/support/catch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

using namespace attn;

namespace {

int64_t readIn(const StorageNeeds& needs, Storage storage) { return needs.readNumbers[static_cast<size_t>(storage)]; }

int64_t readAtAll(const StorageNeeds& needs) {
    return std::accumulate(needs.readNumbers.begin(), needs.readNumbers.end(), int64_t{0});
}

} // namespace

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
            CHECK((choice.operations > 0) == (model.isCached() && model.info().writesText()));
        }
    }
    const StorageChoice choice = storageChoice("builtin:vit-fashion");
    CHECK(choice.operations == 0);
    for (const StorageNeeds& needs : choice.needs) {
        const VisionModel model(openVisionSource("builtin:vit-fashion"), {}, {}, needs.storage);
        CHECK(needs.parameterBytes == model.info().parameterBytes);
        CHECK(readAtAll(needs) == 0);
    }
}

TEST_CASE("storage choice: writing a token reads every weight but the other rows of tables", "[inference]") {
    const char* path = "builtin:stories";
    const auto source = openModelSource(path);
    const DecoderConfig& config = source->config();
    const StorageChoice choice = storageChoice(path);
    int64_t expected = choice.parameterCount;
    if (!config.tiedEmbedding) expected -= (config.vocabulary - 1) * config.modelWidth;
    for (const StorageNeeds& needs : choice.needs) CHECK(readAtAll(needs) == expected);
    CHECK(readIn(choice.needs.front(), Storage::F32) == expected);
    const StorageNeeds& bytes = choice.needs.at(static_cast<size_t>(Storage::Q8_0));
    CHECK(readIn(bytes, Storage::Q8_0) > expected / 2);
    CHECK(readIn(bytes, Storage::F32) > 0); // norms, and rows that are no multiple of a block
    CHECK(readIn(bytes, Storage::Q8_0) + readIn(bytes, Storage::F32) == expected);
}

TEST_CASE("storage choice: the speed is the time of weights, operations and a step", "[inference]") {
    WeightSpeed speed{.secondsPerNumber = {4e-9, 2e-9, 2e-9, 1e-9, 1e-9, 1e-9}, .secondsPerOperation = 1e-6};
    speed.secondsPerStep = 1e-4;
    StorageNeeds needs{.storage = Storage::Q8_0};
    needs.readNumbers = {1000, 0, 0, 1'000'000, 0, 0};
    StorageChoice model{.operations = 100};
    CHECK(speed.tokensPerSecond(model, needs) == Approx(1 / (4e-6 + 1e-3 + 1e-4 + 1e-4)));
    model.operations = 0; // it does not write from a cache
    CHECK(speed.tokensPerSecond(model, needs) == 0);
}

TEST_CASE("storage choice: a device is measured in a moment", "[inference][gpu]") {
    const auto device = Device::shared({});
    const WeightSpeed speed = measureWeightSpeed(*device);
    CHECK(speed.device == device->name());
    CHECK(speed.freeBytes > 0);
    for (const double seconds : speed.secondsPerNumber) {
        CHECK(seconds > 1e-13); // ten million million numbers a second
        CHECK(seconds < 1e-6);
    }
    CHECK(speed.secondsPerOperation > 0);
    CHECK(speed.secondsPerOperation < 1e-2);
}

TEST_CASE("storage choice: the estimate beside the measured speed", "[.measure]") {
    const auto start = std::chrono::steady_clock::now();
    const auto device = Device::shared({});
    const auto opened = std::chrono::steady_clock::now();
    const WeightSpeed speed = measureWeightSpeed(*device);
    const auto end = std::chrono::steady_clock::now();
    fmt::print("device {} ms, measurement {} ms, {:.2f} us an operation, {:.2f} us a step\n",
               (opened - start) / std::chrono::milliseconds(1), (end - opened) / std::chrono::milliseconds(1),
               speed.secondsPerOperation * 1e6, speed.secondsPerStep * 1e6);
    const char* given = std::getenv("ATTN_MEASURED_MODEL");
    const std::string path = given ? given : "builtin:english";
    const StorageChoice choice = storageChoice(path);
    for (const StorageNeeds& needs : choice.needs) {
        LanguageModel model(openModelSource(path), {.storage = needs.storage, .inspects = false});
        const std::vector<int> tokens(32, 1);
        model.feed(tokens);
        double least = 1e9; // of a step, for the estimate is of a quiet machine
        for (int token : tokens) {
            const auto begin = std::chrono::steady_clock::now();
            model.feed(std::span(&token, 1));
            least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        }
        fmt::print("{:<6} {:8.1f} MiB  about {:8.1f} tokens/s, measured {:8.1f}\n", storageName(needs.storage),
                   static_cast<double>(needs.parameterBytes) / (1 << 20), speed.tokensPerSecond(choice, needs),
                   1 / least);
    }
}
