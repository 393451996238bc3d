#include "tests/models/vision_folder.h"
#include "tests/support/program.h"

#include <nlohmann/json.hpp>

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

TEST_CASE("attention-cli classify: the likeliest classes with probability and label", "[models][vision][cli][gpu]") {
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
    CHECK_THAT(refused("--class 1"), CONTAINS("--class applies only to --view rollout; add --view rollout"));
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
    CHECK_THAT(said("classify " + pathOf("gpt2") + " --image " + picture), CONTAINS("not a supported vision model"));
    CHECK_THAT(said("classify " + pathOf("vit") + " --image " + picture + " --size 30"),
               CONTAINS("cannot be cut into patches of 4 x 4"));
    CHECK_THAT(said("classify " + pathOf("vit") + " --image " + picture + " --size 30y", 2),
               CONTAINS("\"30y\" is not a size"));
    CHECK_THAT(said("generate " + pathOf("vit") + " --prompt x"), CONTAINS("it reads pictures, not text"));
    CHECK_THAT(said("render " + pathOf("gpt2") + " --tokens 1,2 --patch 0 --out x.png"),
               CONTAINS("--patch needs a picture; give one with --image"));
}
