#include "engine/inference/model_settings.h"

#include "engine/models/bundled.h"
#include "engine/models/model_source.h"
#include "engine/models/vision_family.h"
#include "tests/models/model_folder.h"
#include "tests/support/answers.h"
#include "tests/support/catch.h"

#include <map>

using namespace attn;
using namespace attn::test;

namespace {

/// A line for each setting: "Windows: window_size 4 -> the last 4 tokens".
std::string settingsIn(const std::string& path) {
    const auto source = openModelSource(path);
    std::string lines;
    for (const ModelSetting& each : settingsOf(*source, source->config().context))
        lines += each.name + ": " + each.asked + " -> " + each.inForce + "\n";
    return lines;
}

std::vector<std::string> warningsOf(const std::string& path) { return openModelSource(path)->warnings(); }

} // namespace

TEST_CASE("model settings: every case of model_settings.json", "[inference]") {
    checkAnswers("inference/model_settings.json", "", [](const std::string& given) {
        const nlohmann::json named = nlohmann::json::parse(given);
        ModelFolder folder(named.at("model"));
        std::string lines;
        const std::string refused = sentenceOf([&] {
            folder.change(named);
            lines = settingsIn(folder.path().string());
        });
        return refused == "accepted" ? lines : refused;
    });
}

TEST_CASE("model settings: the program's own models warn of nothing, and leave nothing out", "[inference]") {
    // The golden models whose warnings are true.
    const std::map<std::string, std::string> expected{
        {"gpt2_prefixed", "transformer.odd"},
        {"llama_rope_linear", "predictions use the embedding"},
        {"dinov2_registers", "positions of 6 x 6 patches are interpolated to 4 x 4"},
        {"dinov2_swiglu", "positions of 6 x 6 patches are interpolated to 4 x 4"},
        {"vit_features", "positions of 4 x 4 patches are interpolated to 5 x 5"}};
    size_t models = 0;
    for (const fs::path& root : {fs::path(ATTN_SOURCE_DIR) / "assets" / "models", fs::path(ATTN_TEST_DIR) / "golden"})
        for (const fs::directory_entry& folder : fs::directory_iterator(root)) {
            if (!fs::exists(folder.path() / "config.json")) continue;
            ++models;
            const std::string name = folder.path().filename().string();
            INFO(name);
            const std::vector<std::string> warnings = warningsOf(folder.path().string());
            const auto known = expected.find(name);
            REQUIRE(warnings.size() == (known == expected.end() ? 0u : 1u));
            if (known != expected.end()) CHECK_THAT(warnings.front(), CONTAINS(known->second));
            const std::string lines = settingsIn(folder.path().string());
            for (const char* what : {"Fields", "Tensors", "Files"})
                if (name != "gpt2_prefixed") CHECK_THAT(lines, CONTAINS(std::string(what) + " left out:  -> none\n"));
        }
    CHECK(models > 45);
    CHECK(openModelSource("builtin:induction")->warnings().empty());
    CHECK_THAT(settingsIn("builtin:induction"), CONTAINS("Fields left out:  -> none\n"));
}
