#include "engine/io/tensor_writer.h"
#include "tests/models/model_folder.h"
#include "tests/models/vision_folder.h"
#include "tests/support/program.h"

#include <nlohmann/json.hpp>

#include <limits>

// attention-cli with a picture: classify, capture, render and models.

using namespace attn;
using namespace attn::test;

namespace {

/// The golden's picture as a file. @return its path, quoted
std::string writePicture(const TemporaryFolder& folder, const std::string& model) {
    const Image image = Golden(model).image();
    writeFile(folder / "picture.ppm", "P6\n" + std::to_string(image.width) + " " + std::to_string(image.height) +
                                          "\n255\n" + std::string(image.rgb.begin(), image.rgb.end()));
    return "'" + (folder / "picture.ppm").string() + "'";
}

std::string pathOf(const std::string& model) { return "'" + (kGoldenRoot / model).string() + "'"; }

} // namespace

TEST_CASE("attention-cli classify: the most probable classes with probability and label",
          "[models][vision][cli][gpu]") {
    const TemporaryFolder folder;
    const std::string arguments = "classify " + pathOf("vit") + " --image " + writePicture(folder, "vit");
    const std::vector<float> logits = Golden("vit").values("logits");
    const auto best = std::ranges::max_element(logits) - logits.begin();
    const double sum = std::accumulate(logits.begin(), logits.end(), 0.0, [](double total, float logit) {
        return total + std::exp(static_cast<double>(logit));
    });
    const Answer answer = runProgram(arguments + " --json --top 3", " 2>/dev/null");
    REQUIRE(answer.code == 0);
    const auto classes = nlohmann::json::parse(answer.text).at("classes");
    REQUIRE(classes.size() == 3);
    CHECK(classes[0].at("index") == best);
    CHECK(classes[0].at("label") == "thing " + std::to_string(best));
    CHECK(classes[0].at("probability").get<double>() ==
          Approx(std::exp(static_cast<double>(logits[static_cast<size_t>(best)])) / sum).margin(1e-4));
    CHECK(classes[1].at("logit").get<double>() <= classes[0].at("logit").get<double>());
    checkProgram(arguments, 0, {" %  thing " + std::to_string(best) + "\n"});
}

TEST_CASE("attention-cli capture: a picture's hooks in one file", "[models][vision][cli][gpu]") {
    const TemporaryFolder folder;
    const std::string out = folder / "run.safetensors";
    const Answer answer =
        runProgram("capture " + pathOf("deit") + " --image " + writePicture(folder, "deit") + " --out '" + out + "'");
    INFO(answer.text);
    REQUIRE(answer.code == 0);
    const SafetensorsFile file(out);
    CHECK(file.tensors().at("logits").shape == std::vector<int64_t>{1, 6});
    CHECK(file.tensors().at("patches").shape == std::vector<int64_t>{16, 48});
    const StoredTensor& pattern = file.tensors().at("blocks.1.attn.hook_pattern");
    CHECK(pattern.shape == std::vector<int64_t>{3, 18, 18}); // [head, query, key], CLS first
    std::vector<float> found(3 * 18 * 18);
    file.read(pattern, 0, found);
    const std::vector<float> expected = Golden("deit").values("blocks.1.attn.hook_pattern");
    for (size_t i = 0; i < found.size(); ++i) CHECK(found[i] == Approx(expected[i]).margin(1e-4));
}

TEST_CASE("attention-cli render: attention and rollout over a picture", "[models][vision][cli][gpu]") {
    const TemporaryFolder folder;
    const std::string picture = writePicture(folder, "dinov2_registers");
    const std::string start = "render " + pathOf("dinov2_registers") + " --image " + picture + " --out '";
    for (const char* rest :
         {"a.png' --view attention --layer 1 --head 2 --patch 1,3", "b.svg' --view rollout --fusion max --discard 0.5",
          "c.pdf' --view rollout --patch mean --smooth --theme dark"}) {
        INFO(rest);
        const Answer answer = runProgram(start + folder.path().string() + "/" + rest);
        INFO(answer.text);
        CHECK(answer.code == 0);
    }
    for (const char* name : {"a.png", "b.svg", "c.pdf"}) CHECK(fs::file_size(folder / name) > 1000);
    const auto refused = [&](const std::string& rest) { return runProgram(start + "x.png' " + rest).text; };
    CHECK_THAT(refused("--layer 2"),
               CONTAINS("there is no layer 2, head 0; choose a layer from 0 to 1 and a head from 0 to 2"));
    CHECK_THAT(
        refused("--patch 4,0"),
        CONTAINS("there is no patch \"4,0\"; cls is the class token; patches are 0 to 15, or row,column of 4 x 4"));
    CHECK(runProgram(start + folder.path().string() + "/d.svg' --view rollout --class 'thing 3'").code == 0);
    CHECK(runProgram(start + folder.path().string() + "/e.svg' --view rollout --class 3").code == 0);
    CHECK(runProgram(start + folder.path().string() + "/f.svg' --view rollout --class 1").code == 0);
    const auto textOf = [&](const char* name) {
        std::ifstream stream(folder / name);
        return std::string(std::istreambuf_iterator<char>(stream), {});
    };
    CHECK(textOf("d.svg") == textOf("e.svg")); // by label and by number
    CHECK(textOf("d.svg") != textOf("f.svg"));
    CHECK_THAT(refused("--view rollout --class 5"),
               CONTAINS("there is no class \"5\"; give a label, or a number from 0 to 4"));
    CHECK_THAT(refused("--class 1"),
               CONTAINS("--class changes nothing with --view attention; leave it out; it is for --view rollout"));
    CHECK_THAT(refused("--view lens --lens curves"),
               CONTAINS("there is no lens \"curves\"; choose one of logit, attribution, gradients"));
    CHECK_THAT(refused("--view lens --lens patching"), CONTAINS("name it with --from"));
}

TEST_CASE("attention-cli models: describes a vision folder", "[models][vision][cli][gpu]") {
    const Answer text = runProgram("models " + pathOf("dinov2_registers") + " --hooks");
    CHECK(text.code == 0);
    CHECK_THAT(text.text, CONTAINS("DINOv2 with registers") &&
                              CONTAINS("pictures of 16 x 16 pixels in 3 channels, 4 x 4 patches") &&
                              CONTAINS("before the patches CLS, register 1, register 2, register 3") &&
                              CONTAINS("5 classes read from CLS and mean of patches; with labels") &&
                              CONTAINS("blocks.1.attn.hook_pattern\n"));
    const Answer answer = runProgram("models " + pathOf("timm_vit") + " --json", " 2>/dev/null");
    CHECK(nlohmann::json::parse(answer.text).at("tokens") == 17);
}

TEST_CASE("attention-cli: what cannot be done with a picture is said", "[models][vision][cli][gpu]") {
    const TemporaryFolder folder;
    const std::string picture = writePicture(folder, "vit");
    writeFile(folder / "broken.png", "\x89PNG\r\n\x1a\nnothing more");
    const auto said = [&](const std::string& arguments, int code = 1) {
        const Answer answer = runProgram(arguments);
        CHECK(answer.code == code);
        return answer.text;
    };
    CHECK_THAT(said("classify " + pathOf("vit") + " --image '" + (folder / "broken.png").string() + "'"),
               CONTAINS("broken.png: ") && !CONTAINS("accepted"));
    CHECK_THAT(said("classify " + pathOf("vit_features") + " --image " + picture),
               CONTAINS("this model has no classifier"));
    CHECK_THAT(said("classify " + pathOf("gpt2") + " --image " + picture),
               CONTAINS("this model reads text, not pictures"));
    CHECK_THAT(said("classify " + pathOf("vit") + " --image " + picture + " --size 30"),
               CONTAINS("cannot be cut into patches of 4 x 4"));
    CHECK_THAT(said("classify " + pathOf("vit") + " --image " + picture + " --size 30y", 2),
               CONTAINS("\"30y\" is not a size"));
    CHECK_THAT(said("generate " + pathOf("vit") + " --prompt x"), CONTAINS("it reads pictures, not text"));
    CHECK_THAT(said("render " + pathOf("gpt2") + " --tokens 1,2 --patch 0 --out x.png"),
               CONTAINS("--patch changes nothing with a text; leave it out; it is for pictures"));
}

// Results that are not finite: the command fails with a sentence, whatever the model reads.

namespace {

/// Fills a tensor with a number: unless it is given, one that is finite but much too large.
/// @param count of numbers to write; 0: all
void overfill(const ModelFolder& folder, const std::string& tensor,
              float number = std::numeric_limits<float>::max() * 0.9f, size_t count = 0) {
    auto [header, data] = folder.weights();
    const size_t begin = header[tensor]["data_offsets"][0], end = header[tensor]["data_offsets"][1];
    const size_t stop = count == 0 ? end : begin + count * sizeof number;
    for (size_t at = begin; at < stop; at += sizeof number) std::memcpy(data.data() + at, &number, sizeof number);
    writeFile(folder / "model.safetensors", wholeSafetensors(header, data));
}

/// @param said a part of the sentence
void checkRefused(const std::string& arguments, const std::string& said) {
    INFO(arguments);
    const Answer answer = runProgram(arguments);
    INFO(answer.text);
    CHECK(answer.code == 1);
    CHECK_THAT(answer.text, CONTAINS(said));
    for (const char* number : {"nan", "inf ", "inf\n", "null"}) CHECK_THAT(answer.text, !CONTAINS(number));
}

} // namespace

TEST_CASE("not finite: no command takes what a model of text computes from huge weights for a result", "[cli][gpu]") {
    const ModelFolder folder("gpt2");
    overfill(folder, "h.1.mlp.c_proj.weight");
    const std::string model = "'" + folder.path().string() + "'", out = "'" + (folder / "out").string();
    const std::string tokens = " --tokens 1,2,3,4,5";
    for (const char* json : {"", " --json"}) {
        checkRefused("generate " + model + tokens + " --greedy" + json,
                     "61 of 61 logits are NaN or infinite, so there is no result");
        checkRefused("generate " + model + tokens + " --beams 2" + json,
                     "61 of 61 logits are NaN or infinite, so there is no result");
        checkRefused("perplexity " + model + tokens + json, "are NaN or infinite, so there is no result");
        for (const char* lens : {"logit", "attribution", "gradients", "formed"})
            checkRefused("lens " + model + tokens + " --what " + lens + json, "so there is no result");
        checkRefused("ablate " + model + tokens + json, "so there is no result");
        checkRefused("patch " + model + tokens + " --from 5,4,3,2,1" + json, "so there is no result");
        checkRefused("storage " + model + tokens + json, "so there is no result");
    }
    for (const char* view : {"attention", "heads", "lens --lens logit"})
        checkRefused("render " + model + tokens + " --view " + view + " --out " + out + ".svg'", "NaN");
    checkRefused("capture " + model + tokens + " --out " + out + ".npz'", "of its tensors, from logits on, hold NaN");
    CHECK(fs::exists(folder / "out.npz")); // it shows where the numbers go wrong
    CHECK_FALSE(fs::exists(folder / "out.svg"));
    // What does not depend on the last layer is still a result.
    checkProgram("lens " + model + tokens + " --what weighted --layer 0", 0, {"weight"});
}

TEST_CASE("not finite: no command passes over a single logit that is NaN", "[cli][gpu]") {
    const ModelFolder folder("gpt2");
    overfill(folder, "wte.weight", std::numeric_limits<float>::quiet_NaN(), 1); // of token 0, which the text lacks
    const std::string model = "'" + folder.path().string() + "' --tokens 1,2,3,4,5";
    for (const char* how : {"--greedy", "--beams 2", "--temperature 2"})
        checkRefused("generate " + model + " " + how, "1 of 61 logits are NaN or infinite, so there is no result");
    for (const char* command : {"ablate ", "lens --what attribution ", "lens --what gradients ", "lens --what formed ",
                                "patch --from 5,4,3,2,1 ", "ablate --target '#7' "})
        checkRefused(command + model, "NaN");
    checkRefused("perplexity " + model, "are NaN or infinite, so there is no result");
}

TEST_CASE("not finite: a token that a model bars takes nothing from the numbers of others", "[cli][gpu]") {
    const ModelFolder folder("bart");
    overfill(folder, "final_logits_bias", -std::numeric_limits<float>::infinity(), 1);
    const std::string asked = " '" + folder.path().string() + "' --source-tokens 3,4,5,0 --tokens 5,6";
    for (const char* command : {"lens", "lens --what gradients", "lens --what formed --top 100", "ablate", "storage",
                                "generate --max-tokens 2 --greedy --formed"}) {
        const Answer answer = runProgram(command + asked);
        INFO(command << '\n' << answer.text);
        CHECK(answer.code == 0);
        CHECK_THAT(answer.text, !CONTAINS("nan") && !CONTAINS("inf") && !CONTAINS("cannot be trusted"));
    }
    checkRefused("lens --what gradients --target '#0'" + asked, "target: the model bars number 0");
}

TEST_CASE("generate: a beam search says that the rules of a folder bar every token", "[cli][gpu]") {
    const ModelFolder folder("gpt2");
    std::string all = "0";
    for (int token = 1; token < 61; ++token) all += "," + std::to_string(token);
    writeFile(folder / "generation_config.json", "{\"suppress_tokens\": [" + all + "]}");
    for (const char* how : {"--beams 2", "--greedy"})
        checkRefused("generate '" + folder.path().string() + "' --tokens 3,4 " + how, "bar every token");
}

TEST_CASE("not finite: no command takes what a model of pictures computes from huge weights for a result",
          "[cli][gpu]") {
    const ModelFolder folder("vit");
    overfill(folder, "vit.encoder.layer.0.output.dense.weight");
    writeFile(folder / "picture.ppm", "P6\n2 2\n255\n" + std::string(12, 'x'));
    const std::string model = "'" + folder.path().string() + "'",
                      picture = " --image '" + (folder / "picture.ppm").string() + "'",
                      out = " --out '" + (folder / "out").string();
    for (const char* json : {"", " --json"}) {
        checkRefused("classify " + model + picture + json, "logits are NaN or infinite, so there is no result");
        for (const char* lens : {"logit", "attribution", "gradients"})
            checkRefused("lens " + model + picture + " --what " + lens + json, "so there is no result");
        checkRefused("detect " + model + picture + json, "so there is no result");
        checkRefused("ablate " + model + picture + json, "so there is no result");
        checkRefused("storage " + model + picture + json, "so there is no result");
    }
    for (const char* view : {"heads", "rollout", "attention --layer 1"})
        checkRefused("render " + model + picture + " --view " + view + out + ".svg'", "so there is no result");
    checkRefused("capture " + model + picture + out + ".npz'", "hold NaN or infinite values");
}

TEST_CASE("not finite: minus infinity among finite logits is a class that the model bars", "[cli][gpu]") {
    ModelFolder folder("vit");
    writeFile(folder / "picture.ppm", "P6\n2 2\n255\n" + std::string(12, 'x'));
    const std::string asked = " '" + folder.path().string() + "' --image '" + (folder / "picture.ppm").string() + "'";
    const float infinity = std::numeric_limits<float>::infinity();
    const auto parts = [&](const std::string& lens) { // of the logit of a class
        const Answer answer = runProgram("lens --json --target 'thing 1' --what " + lens + asked, " 2>/dev/null");
        INFO(answer.text);
        REQUIRE(answer.code == 0);
        const auto json = nlohmann::json::parse(answer.text);
        std::vector<double> values{json.at("logit").get<double>()};
        for (const auto& each : json.at(lens == "attribution" ? "components" : "patches"))
            values.push_back(each.at(lens == "attribution" ? "value" : "integrated").get<double>());
        return values;
    };
    const std::vector<double> attribution = parts("attribution"), gradients = parts("gradients");
    folder.setValues("classifier.bias", {-infinity});
    CHECK_THAT(parts("attribution"), Catch::Matchers::Approx(attribution)); // the other classes are as they were
    CHECK_THAT(parts("gradients"), Catch::Matchers::Approx(gradients));
    const Answer formed = runProgram("lens --what formed --top 100" + asked);
    INFO(formed.text);
    CHECK(formed.code == 0);
    CHECK_THAT(formed.text, CONTAINS("thing 6") && !CONTAINS("thing 0") && !CONTAINS("inf"));
    for (const char* command : {"ablate", "lens --what attribution", "lens --what gradients"})
        checkRefused(command + asked + " --target 'thing 0'", "target: the model bars number 0");
    const std::string capture = "capture --hooks logits --out '" + (folder / "run.npz").string() + "'" + asked;
    CHECK_THAT(runProgram(capture).text, CONTAINS("logits [1, 7]\n") && !CONTAINS("infinite")); // nothing is damaged
    checkProgram("classify --top 7" + asked, 0, {"thing 1", "thing 0"});
    checkProgram("detect" + asked, 0, {"L0 H0"});
    checkProgram("ablate" + asked, 0, {"logit of \"thing 1\""});
    checkProgram("lens --what logit" + asked, 0, {"layer 1     thing 1"});
    checkProgram("render --view heads --out '" + (folder / "heads.svg").string() + "'" + asked, 0, {});
    folder.setValues("classifier.bias", {infinity});
    for (const char* command : {"classify", "detect", "ablate"})
        checkRefused(command + asked, "are NaN or infinite, so there is no result");
    checkRefused(capture, "logits on, hold NaN or infinite values");
    // A softmax does not follow where the classes are independent, or where a number is the answer.
    folder.edit("config.json", [](nlohmann::json& config) { config["problem_type"] = "multi_label_classification"; });
    for (const float strange : {-infinity, infinity, std::numeric_limits<float>::quiet_NaN()}) {
        folder.setValues("classifier.bias", {strange});
        for (const char* command : {"classify", "ablate --target 'thing 1'", "lens --what attribution",
                                    "lens --what gradients", "lens --what formed"})
            checkRefused(command + asked, "1 of 7 logits are NaN or infinite, so there is no result");
        checkProgram("models '" + folder.path().string() + "'", 0, {"1 of 7 values of head.b_H are NaN or infinite"});
        checkRefused(capture, "logits on, hold NaN or infinite values");
    }
}

TEST_CASE("not finite: a token that spoils the attention of a model without logits gets no kinds of heads",
          "[cli][gpu]") {
    const ModelFolder folder("bert_no_head");
    folder.setValues("embeddings.word_embeddings.weight", {std::numeric_limits<float>::infinity()}); // of token 0
    checkRefused("detect '" + folder.path().string() + "'",
                 "weights of attention are NaN or infinite, so there is no result");
}

TEST_CASE("not finite: inputs that are much too large are no success of attend", "[cli][gpu]") {
    const TemporaryFolder folder;
    const std::vector<float> large(2 * 8 * 4, 1e30f);
    std::vector<WrittenTensor> tensors;
    for (const char* name : {"q", "k", "v"}) tensors.push_back({.name = name, .shape = {2, 8, 4}, .values = large});
    writeSafetensors(folder / "input.safetensors", tensors);
    const std::string files =
        " --input '" + (folder / "input.safetensors").string() + "' --out '" + (folder / "out.npz").string() + "'";
    checkRefused("attend --spec 'heads=multi_head(2), mask=causal'" + files, "hold NaN or infinite values");
}
