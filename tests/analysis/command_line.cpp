#include "engine/analysis/storage_effects.h"
#include "engine/inference/language_model.h"
#include "engine/models/model_source.h"
#include "tests/models/model_folder.h"
#include "tests/models/vision_folder.h"
#include "tests/support/program.h"

#include <nlohmann/json.hpp>

#include <sys/stat.h>

// attention-cli perplexity, lens, ablate, patch and detect.

using namespace attn;
using namespace attn::test;

namespace {

constexpr const char* kJson = " 2>/dev/null"; ///< warnings are no JSON

nlohmann::json jsonOf(const Answer& answer) { return nlohmann::json::parse(answer.text); }

} // namespace

TEST_CASE("attention-cli perplexity: the mean of the tokens' losses", "[analysis][cli][gpu]") {
    const Answer answer =
        runProgram("perplexity builtin:stories --prompt 'Lily went to the park.' --each --json", kJson);
    REQUIRE(answer.code == 0);
    const auto json = jsonOf(answer);
    double sum = 0;
    for (const auto& each : json.at("each")) {
        sum += each.at("loss").get<double>();
        CHECK(each.at("rank").get<int>() >= 1); // as printed ranks, the best is 1
    }
    CHECK(json.at("tokens") == json.at("each").size());
    CHECK(json.at("loss").get<double>() == Approx(sum / static_cast<double>(json.at("each").size())).margin(1e-5));
    CHECK(json.at("perplexity").get<double>() == Approx(std::exp(json.at("loss").get<double>())));
    checkProgram("perplexity builtin:induction --prompt a", 1,
                 {"a single token cannot be scored: nothing precedes it"});
}

TEST_CASE("attention-cli lens: every kind answers in JSON", "[analysis][cli][gpu]") {
    for (const char* what : {"logit", "attribution", "gradients", "flow", "weighted", "circuits", "composition"}) {
        INFO(what);
        const std::string prompt = what == std::string("composition") ? "" : " --prompt 'the quick fox the qu'";
        const Answer answer = runProgram("lens builtin:induction" + prompt + " --json --what " + what, kJson);
        CHECK(answer.code == 0);
        CHECK(jsonOf(answer).is_object());
    }
    const auto lens = jsonOf(runProgram("lens builtin:induction --prompt 'the quick fox the qu' --json", kJson));
    CHECK(lens.at("rows").back().at("rankOfFinal") == 1); // the last stage is the prediction
    const auto parts = jsonOf(runProgram(
        "lens builtin:induction --prompt 'the quick fox the qu' --what attribution --target i --json", kJson));
    CHECK(parts.at("sum").get<double>() == Approx(parts.at("logit").get<double>()).margin(1e-4));
    CHECK(parts.at("target").at("token").at("text") == "i");
    checkProgram("lens builtin:induction --prompt abc --what attribution --target xyz", 1, {"\"xyz\" is 3 tokens"});
    CHECK(runProgram("lens builtin:induction --prompt abc --what nonsense").code == 2);
}

TEST_CASE("attention-cli lens: every layer of every kind of built-in model", "[analysis][cli][gpu]") {
    struct Asked {
        const char* model;
        const char* input;
        int layers;
    };
    for (const Asked& asked : {Asked{"builtin:induction", "--prompt 'the quick fox'", 2},
                               {"builtin:stories", "--prompt 'The cat'", 5},
                               {"builtin:masked", "--prompt 'Omar was [MASK] busy.'", 3},
                               {"builtin:numbers-de", "--source 'three hundred twelve'", 6},
                               {"builtin:numbers-de", "", 6}})
        for (const char* what : {"weighted", "gradients", "logit", "flow"})
            for (int layer = 0; layer < asked.layers; ++layer) {
                const std::string place = std::string(what) == "weighted" ? " --layer " + std::to_string(layer) : "";
                if (place.empty() && layer > 0) break; // explains all layers
                const std::string arguments =
                    std::string("lens ") + asked.model + " " + asked.input + " --what " + what + place;
                INFO(arguments);
                const Answer answer = runProgram(arguments);
                INFO(answer.text);
                CHECK(answer.code == 0);
            }
}

TEST_CASE("attention-cli ablate: layers with fewer heads list no others", "[analysis][vision][cli][gpu]") {
    const TemporaryFolder folder;
    const Image image = Golden("swin").image(); // 2 heads, then 4
    writeFile(folder / "picture.ppm", "P6\n" + std::to_string(image.width) + " " + std::to_string(image.height) +
                                          "\n255\n" + std::string(image.rgb.begin(), image.rgb.end()));
    const std::string arguments =
        "ablate '" + (kGoldenRoot / "swin").string() + "' --image '" + (folder / "picture.ppm").string() + "'";
    const Answer answer = runProgram(arguments);
    CHECK(answer.code == 0);
    CHECK_THAT(answer.text, CONTAINS("L1 H1") && CONTAINS("L2 H3") && !CONTAINS("L0 H2") && !CONTAINS("L1 H3"));
    CHECK(jsonOf(runProgram(arguments + " --json", kJson)).at("without").size() == 2 * (2 + 1) + 2 * (4 + 1));
}

TEST_CASE("attention-cli ablate, patch and detect: what the constructed model is made of", "[analysis][cli][gpu]") {
    const auto ablated = jsonOf(runProgram("ablate builtin:induction --prompt 'the quick fox the qu' --json", kJson));
    CHECK(ablated.at("target").at("token").at("text") == "i");
    CHECK(ablated.at("without").size() == 4);
    for (const auto& each : ablated.at("without"))
        if (each.at("name") == "L1 H0") CHECK(each.at("effect").get<double>() == Approx(-8).margin(0.01));
    // The two prompts differ in what follows the "u" that comes again.
    const auto patched =
        jsonOf(runProgram("patch builtin:induction --prompt 'quick qu' --from 'qumck qu' --json", kJson));
    CHECK(patched.at("target").at("token").at("text") == "m");
    CHECK(patched.at("target").at("against").at("text") == "i");
    CHECK(patched.at("effects")[1][2].get<double>() ==
          Approx(1).margin(0.05)); // that letter's stream before the induction head
    CHECK(std::abs(patched.at("effects")[1][5].get<double>()) < 0.05);
    checkProgram(
        "patch builtin:induction --prompt abc --from abcd", 1,
        {"both texts need the same number of tokens: the prompt with its continuation has 3, the other one 4"});
    const auto detected = jsonOf(runProgram("detect builtin:induction --like 1 0 --cluster 0.5 --json", kJson));
    CHECK(detected.at("heads")[2].at("title") == "induction");
    CHECK(detected.at("like").size() == 3);
    size_t grouped = 0;
    for (const auto& group : detected.at("groups")) grouped += group.size();
    CHECK(grouped == 4);
    CHECK(runProgram("detect builtin:induction --like 5 0").code == 1);
}

TEST_CASE("attention-cli lens, ablate and patch: a picture", "[analysis][vision][cli][gpu]") {
    const TemporaryFolder folder;
    const Image image = Golden("deit").image();
    const std::string size = std::to_string(image.width) + " " + std::to_string(image.height);
    const auto write = [&](const char* name, const std::string& pixels) {
        writeFile(folder / name, "P6\n" + size + "\n255\n" + pixels);
        return " '" + (folder / name).string() + "'";
    };
    const std::string golden = "'" + (kGoldenRoot / "deit").string() + "'";
    const std::string picture = write("a.ppm", {image.rgb.begin(), image.rgb.end()}),
                      other = write("b.ppm", {image.rgb.rbegin(), image.rgb.rend()});
    const std::string asked = golden + " --image" + picture + " --json";
    const auto lens = jsonOf(runProgram("lens " + asked + " --top 2", kJson));
    REQUIRE(lens.at("rows").size() == 3);
    const auto said = jsonOf(runProgram("classify " + asked, kJson)).at("classes").at(0);
    CHECK(lens.at("rows").at(2).at("choices").at(0).at("index") == said.at("index"));
    const auto parts = jsonOf(runProgram("lens " + asked + " --what attribution", kJson));
    CHECK(parts.at("sum").get<double>() == Approx(parts.at("logit").get<double>()).margin(1e-4));
    CHECK(parts.at("target").at("class").at("index") == said.at("index"));
    CHECK(jsonOf(runProgram("lens " + asked + " --what gradients --target 2", kJson)).at("patches").size() == 16);
    CHECK(jsonOf(runProgram("ablate " + asked, kJson)).at("without").size() == 2 * 4); // three heads and an MLP each
    const auto patching = jsonOf(runProgram("patch " + asked + " --from" + other, kJson));
    REQUIRE(patching.at("effects").size() == 2);
    CHECK(patching.at("effects").at(0).size() == 18);
    const auto circuits = jsonOf(runProgram("lens " + asked + " --what circuits --top 2", kJson)).at("rows");
    REQUIRE(circuits.size() == 18); // CLS, the distillation token and the patches
    CHECK(circuits.at(0).at("token") == "CLS");
    CHECK(circuits.at(17).at("looksFor").size() == 2);
    CHECK(circuits.at(17).at("raises").at(0).contains("label"));
    CHECK(runProgram("ablate " + golden + " --image" + picture + " --target nothing", " 2>&1")
              .text.find("there is no class \"nothing\"") != std::string::npos);
}

TEST_CASE("attention-cli detect: kinds of heads of a vision model", "[analysis][vision][cli][gpu]") {
    const TemporaryFolder folder;
    const Image image = Golden("dinov2_registers").image();
    const fs::path picture = folder / "a.ppm";
    writeFile(picture, "P6\n" + std::to_string(image.width) + " " + std::to_string(image.height) + "\n255\n" +
                           std::string(image.rgb.begin(), image.rgb.end()));
    const std::string asked =
        "detect '" + (kGoldenRoot / "dinov2_registers").string() + "' --image '" + picture.string() + "'";
    const auto json = jsonOf(runProgram(asked + " --json", kJson));
    CHECK(json.at("model") == "dinov2_registers");
    CHECK(json.at("kinds").size() == 9);
    REQUIRE(json.at("heads").size() == 2 * 3);
    const std::vector<float> scores = Golden("dinov2_registers", "analysis.safetensors").values("kinds.scores");
    for (size_t head = 0; head < 6; ++head)
        for (size_t kind = 0; kind < 9; ++kind) {
            const std::string id = json.at("kinds").at(kind).at("id");
            INFO(id);
            // The file holds pixels as bytes, and those of the golden come from the same.
            CHECK(json.at("heads").at(head).at("scores").at(id).get<double>() ==
                  Approx(scores[head * 9 + kind]).margin(1e-3));
        }
    const Answer text = runProgram(asked);
    CHECK(text.code == 0);
    CHECK(text.text.find("L1 H2") != std::string::npos);
    const auto compared = jsonOf(runProgram(asked + " --like 0 1 --cluster 0.9 --json", kJson));
    REQUIRE(compared.at("like").size() == 5); // itself is left out
    for (size_t at = 1; at < 5; ++at)
        CHECK(compared.at("like").at(at - 1).at("similarity") >= compared.at("like").at(at).at("similarity"));
    size_t members = 0;
    for (const auto& group : compared.at("groups")) members += group.size();
    CHECK(members == 6);
    const auto elsewhere = jsonOf(
        runProgram(asked + " --like 0 1 --in '" + (kGoldenRoot / "dinov2_registers").string() + "' --json", kJson));
    REQUIRE(elsewhere.at("like").size() == 6);
    CHECK(elsewhere.at("like").at(0).at("layer") == 0);
    CHECK(elsewhere.at("like").at(0).at("head") == 1);
    CHECK(elsewhere.at("like").at(0).at("similarity").get<double>() == Approx(1).margin(1e-4));
    checkProgram(asked + " --like 0 9", 1, {"there is no head 9 in layer 0"});
}

TEST_CASE("attention-cli patch: patterns are patched, and scores are refused with the hooks that work",
          "[analysis][cli][gpu]") {
    const std::string asked = "patch builtin:stories --prompt 'Lily had a dog. She loved her' --from 'Lily had a cat. "
                              "She loved her' --json --hook ";
    const Answer patterns = runProgram(asked + "attn.hook_pattern", kJson);
    REQUIRE(patterns.code == 0);
    const auto effects = jsonOf(patterns).at("effects");
    CHECK(effects.size() >= 2);
    for (const auto& layer : effects)
        for (const auto& each : layer) CHECK(each.is_number());
    checkProgram(asked + "attn.hook_attn_scores", 1,
                 {"attn.hook_attn_scores cannot be patched token by token", "attn.hook_pattern, attn.hook_z"});
    CHECK(runProgram(asked + "hook_nonsense", " 2>&1").text.find("not every layer has a hook \"hook_nonsense\"") !=
          std::string::npos);
}

TEST_CASE("attention-cli lens, ablate, patch and detect: what they cannot read is a sentence with a remedy",
          "[analysis][vision][cli]") {
    const TemporaryFolder folder;
    writeFile(folder / "broken.png", "\x89PNG\r\n and no more");
    writeFile(folder / "text.txt", "a cat");
    const std::string vision = " '" + (kGoldenRoot / "vit").string() + "'";
    for (const std::string command : {"lens", "ablate", "patch", "detect"}) {
        INFO(command);
        const auto says = [&](const std::string& arguments, const std::string& sentence) {
            INFO(arguments);
            const std::string from = command == "patch" && arguments.find("--from") == std::string::npos
                                         ? " --from '" + (folder / "text.txt").string() + "'"
                                         : "";
            checkProgram(command + arguments + from, 1, {sentence});
        };
        says(vision, "give it a picture: attention-cli " + command + " PATH --image FILE");
        says(vision + " --image '" + (folder / "broken.png").string() + "'", "broken.png: ");
        says(vision + " --image '" + (folder / "text.txt").string() + "'",
             "the file is not a picture in a known format");
        says(vision + " --image '" + (folder / "none.png").string() + "'", "there is no such file");
        says(" builtin:induction --image '" + (folder / "none.png").string() + "'",
             "this model reads text, not pictures; leave out --image, or name a vision model");
        says(" '" + (folder / "nowhere").string() + "' --image '" + (folder / "none.png").string() + "'",
             "there is no such file");
    }
}

TEST_CASE("attention-cli lens, ablate and patch: a token that is not there, and a target against itself, are named",
          "[analysis][cli][gpu]") {
    for (const std::string what : {"logit", "attribution", "gradients", "flow", "weighted"}) {
        INFO(what);
        checkProgram("lens builtin:induction --prompt abcab --what " + what + " --position 5", 1,
                     {"there is no token 5: the text has 5", "give a number from 0 to 4"});
    }
    checkProgram("lens builtin:induction --prompt abcab --position 4", 0, {});
    const std::string same = " --target a --against a";
    for (const std::string command :
         {"ablate builtin:induction --prompt abcab", "patch builtin:induction --prompt abcab --from abdab"})
        checkProgram(command + same, 1, {"--target and --against are both", "so their difference is always 0"});
}

TEST_CASE("attention-cli: a target beyond the tokens or classes of the model is named, with the option and the limit",
          "[analysis][cli][gpu]") {
    const ModelFolder folder; // GPT-2 of 61 tokens
    const std::string text = "'" + folder.path().string() + "' --tokens 1,2";
    nlohmann::json tokenizer = letterTokenizer(3);
    tokenizer["model"]["vocab"]["ab"] = 70;
    for (const std::string command : {"ablate ", "lens --what attribution ", "lens --what gradients "}) {
        fs::remove(folder / "tokenizer.json");
        checkProgram(command + text + " --target 61", 1,
                     {"--target: the model has no token \"61\"; give a number from 0 to 60"});
        writeFile(folder / "tokenizer.json", tokenizer.dump());
        checkProgram(command + text + " --against '#61'", 1, {"--against: the model has no token \"#61\""});
        checkProgram(command + text + " --target ab", 1,
                     {"--target: the tokenizer has \"ab\" as number 70, but the model has only 61 tokens",
                      "name a token up to #60"});
    }
    writeFile(folder / "picture.ppm", "P6\n2 2\n255\n" + std::string(12, 'x'));
    const std::string picture = " --image '" + (folder / "picture.ppm").string() + "' --target 7";
    const std::string golden = "ablate '" + std::string(ATTN_TEST_DIR) + "/golden/";
    checkProgram(golden + "vit'" + picture, 1, {"--target: there is no class \"7\"", "a number from 0 to 6"});
    checkProgram(golden + "vit_features'" + picture, 1, {"--target: there is no class \"7\"", "has no classifier"});
}

TEST_CASE("attention-cli perplexity: a pipe without a text is refused, not waited for", "[analysis][cli][gpu]") {
    const TemporaryFolder folder;
    REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
    checkProgram("perplexity builtin:induction --text '" + (folder / "pipe").string() + "'", 1,
                 {"pipe: the file is empty"});
}

TEST_CASE("storage effects: a storage that weights overflow says so, and the others are measured", "[analysis][gpu]") {
    const test::ModelFolder folder;                    // GPT-2
    folder.setValues("h.1.mlp.c_proj.weight", {1e5f}); // f16 reaches 65504
    LanguageModel model(openModelSource(folder.path().string()), {});
    const auto found = std::static_pointer_cast<const StorageEffects>(
        runAnalysis(StorageEffectsAnalysis{}, model, {.input = Input(TextInput{.tokens = {1, 2, 3, 4}})}));
    REQUIRE(found->effects.size() == std::size(kStorages));
    for (const StorageEffects::Effect& effect : found->effects) {
        INFO(storageName(effect.storage) << ": " << effect.problem);
        if (effect.storage == Storage::F16) {
            CHECK_THAT(effect.problem, CONTAINS("are NaN or infinite, so there is no result"));
        } else {
            CHECK(effect.problem.empty());
            CHECK(std::isfinite(effect.perplexity));
            CHECK(effect.divergence.size() == found->effects.front().divergence.size());
        }
    }
    const std::string command = "storage --tokens 1,2,3,4 '" + folder.path().string() + "'";
    const test::Answer table = test::runProgram(command), json = test::runProgram(command + " --json", " 2>/dev/null");
    CHECK(table.code == 0);
    CHECK_THAT(table.text, CONTAINS("\nf16      not available: ") && CONTAINS("\nbf16  ") && CONTAINS("\nq4_k  "));
    const nlohmann::json rows = nlohmann::json::parse(json.text).at("storages");
    REQUIRE(rows.size() == std::size(kStorages));
    CHECK(rows[1].at("problem").get<std::string>() == found->effects[1].problem);
    CHECK(rows[2].at("bytes").get<int64_t>() == found->effects[2].parameterBytes);

    folder.setValues("h.1.mlp.c_proj.weight", std::vector<float>(128 * 32, 3e38f)); // too much for f32
    LanguageModel broken(openModelSource(folder.path().string()), {});
    CHECK_THROWS_WITH(StorageEffectsAnalysis{}.run(broken, {.input = Input(TextInput{.tokens = {1, 2, 3}})}),
                      CONTAINS("NaN or infinite"));
}

TEST_CASE("attention-cli lens: a composition score of a head that writes nothing is undefined",
          "[analysis][cli][gpu]") {
    const Answer text = runProgram("lens builtin:induction --what composition", " 2>/dev/null");
    CHECK_THAT(text.text, !CONTAINS("nan") && CONTAINS("undefined: L0 H1 writes nothing"));
    const auto pairs =
        nlohmann::json::parse(runProgram("lens builtin:induction --what composition --json", " 2>/dev/null").text)
            .at("pairs");
    int undefined = 0;
    for (const auto& pair : pairs) {
        CHECK(pair.at("score").is_null() == pair.contains("undefined"));
        undefined += pair.at("score").is_null();
    }
    CHECK(undefined > 0);
}
