#include "engine/inference/text_classes.h"
#include "engine/models/config_reader.h"
#include "tests/models/model_folder.h"
#include "tests/models/vision_folder.h"
#include "tests/support/program.h"

// What turns the logits of classes into numbers: problem_type, as in transformers.

using namespace attn;
using namespace attn::test;
using nlohmann::json;

namespace {

ClassActivation activationOf(const json& config, int64_t labels) {
    return classActivation(ConfigReader(config, "config.json"), labels);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

} // namespace

TEST_CASE("class activation: problem_type and the number of labels decide", "[models]") {
    CHECK(activationOf(json::object(), 3) == ClassActivation::Softmax);
    CHECK(activationOf({{"problem_type", nullptr}}, 2) == ClassActivation::Softmax);
    CHECK(activationOf({{"problem_type", "single_label_classification"}}, 2) == ClassActivation::Softmax);
    CHECK(activationOf({{"problem_type", "multi_label_classification"}}, 3) == ClassActivation::Sigmoid);
    CHECK(activationOf(json::object(), 1) == ClassActivation::Sigmoid);
    CHECK(activationOf({{"problem_type", "single_label_classification"}}, 1) == ClassActivation::Sigmoid);
    CHECK(activationOf({{"problem_type", "regression"}}, 1) == ClassActivation::None);
    CHECK(activationOf({{"problem_type", "regression"}}, 4) == ClassActivation::None);
    CHECK_THAT(sentenceOf([] {
                   activationOf({{"problem_type", "ranking"}}, 2);
               }),
               CONTAINS("\"problem_type\" is \"ranking\"; supported: single_label_classification"));
}

TEST_CASE("class activation: classes of a text are sorted, and each has the number that it says", "[models]") {
    const std::vector<float> logits{-2, 3, 0.5f};
    const auto said = [&](ClassActivation activation) {
        return classAnswers({.activation = activation, .labels = {"a", "b", "c"}, .logits = logits}, 3);
    };
    const auto sigmoids = said(ClassActivation::Sigmoid), numbers = said(ClassActivation::None);
    CHECK(sigmoids.front().label == 1);
    for (const ClassAnswer& each : sigmoids)
        CHECK(static_cast<double>(each.probability) == Approx(sigmoid(static_cast<double>(each.logit))));
    CHECK(numbers.front().label == 1);
    CHECK(numbers.front().probability == 3.0f);
    CHECK(numbers.back().probability == -2.0f);
    double sum = 0;
    for (const ClassAnswer& each : said(ClassActivation::Softmax)) sum += static_cast<double>(each.probability);
    CHECK(sum == Approx(1));
    CHECK(saidOf(std::vector<float>{1000, -1000}, ClassActivation::Sigmoid) == std::vector<float>{1, 0});
}

TEST_CASE("class activation: an answer lies in the passage, and the rest of its probability belongs to CLS",
          "[models]") {
    // [CLS] 2 questions [SEP] 3 passages [SEP]; the separators have the largest logits.
    const std::vector<int> tokens{2, 5, 6, 3, 9, 12, 7, 3}, types{0, 0, 0, 0, 1, 1, 1, 1};
    const Passage passage = passageOf(tokens, types, nullptr);
    CHECK(passage == Passage{4, 7});
    CHECK(passageOf(tokens, std::vector<int>{0, 0, 0, 0, 1, 1}, nullptr) == Passage{4, 6}); // the others have type 0
    CHECK(passageOf(tokens, {}, nullptr) == Passage{0, 8});
    std::vector<float> logits;
    const std::vector<double> first{1, 4, 0, 6, 0.5, 2, -1, 7}, last{0.25, 5, 1, 6, -2, 1, 1.5, 8};
    for (size_t row = 0; row < tokens.size(); ++row)
        for (const auto* each : {&first, &last}) logits.push_back(static_cast<float>((*each)[row]));
    const auto shareOf = [](const std::vector<double>& of, size_t at) {
        double sum = 0;
        for (const size_t row : {0, 4, 5, 6}) sum += std::exp(of[row]);
        return std::exp(of[at]) / sum;
    };
    const auto said = classAnswers(
        {.readout = TextReadout::Span, .labels = {"first", "last"}, .logits = logits, .passage = passage}, 100);
    REQUIRE(said.size() == 6);
    for (size_t i = 0; i < said.size(); ++i) {
        const auto begin = static_cast<size_t>(said[i].begin), end = static_cast<size_t>(said[i].end) - 1;
        CAPTURE(begin, end);
        CHECK(begin >= 4);
        CHECK(begin <= end);
        CHECK(end <= 6);
        CHECK(static_cast<double>(said[i].probability) == Approx(shareOf(first, begin) * shareOf(last, end)));
        if (i > 0) CHECK(said[i].probability <= said[i - 1].probability);
    }
    CHECK(said.front().begin == 5);
    CHECK(said.front().end == 7);
}

TEST_CASE("attention-cli classify: a picture with several labels, one label, or numbers",
          "[models][vision][cli][gpu]") {
    ModelFolder folder("vit");
    const Image image = Golden("vit").image();
    writeFile(folder / "picture.ppm", "P6\n" + std::to_string(image.width) + " " + std::to_string(image.height) +
                                          "\n255\n" + std::string(image.rgb.begin(), image.rgb.end()));
    const std::string arguments =
        "classify '" + folder.path().string() + "' --image '" + (folder / "picture.ppm").string() + "' --top 7";
    const auto classesWith = [&](const char* type, const char* activation) {
        folder.edit("config.json", [&](json& config) { config["problem_type"] = type; });
        const Answer answer = runProgram(arguments + " --json", " 2>/dev/null");
        REQUIRE(answer.code == 0);
        const json said = json::parse(answer.text);
        CHECK(said.at("activation") == activation);
        return said.at("classes");
    };
    for (const json& each : classesWith("multi_label_classification", "sigmoid"))
        CHECK(each.at("probability").get<double>() == Approx(sigmoid(each.at("logit").get<double>())).margin(1e-5));
    checkProgram(arguments, 0, {"sigmoid: each label has a probability of its own", " %  thing "});
    for (const json& each : classesWith("regression", "none")) CHECK(each.at("probability") == each.at("logit"));
    checkProgram(arguments, 0, {"regression: each number is the model's answer"});
    CHECK_THAT(runProgram(arguments, " 2>/dev/null").text, !CONTAINS("%"));
    double sum = 0;
    for (const json& each : classesWith("single_label_classification", "softmax"))
        sum += each.at("probability").get<double>();
    CHECK(sum == Approx(1).margin(1e-5));
    // Analyses of probabilities follow, and those that need some refuse.
    const std::string rest = " '" + folder.path().string() + "' --image '" + (folder / "picture.ppm").string() + "'";
    folder.edit("config.json", [](json& config) { config["problem_type"] = "multi_label_classification"; });
    const json lens = json::parse(runProgram("lens" + rest + " --json --top 7", " 2>/dev/null").text).at("rows").back();
    const auto last = classesWith("multi_label_classification", "sigmoid");
    CHECK(lens.at("choices").front().at("probability").get<double>() ==
          Approx(last.front().at("probability").get<double>()).margin(1e-5));
    folder.edit("config.json", [](json& config) { config["problem_type"] = "regression"; });
    checkProgram("lens" + rest, 1, {"answers with numbers (regression)", "attribution"});
    checkProgram("ablate" + rest, 0, {"L0 H0"});
}
