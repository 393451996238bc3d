#include "engine/inference/language_model.h"
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

// Decoders with classes: the names and the biases are those of transformers' classes.

namespace {

/// Adds a classifier of two labels to the weights of a small decoder. @param bias of both labels; empty: none
void addClassifier(ModelFolder& folder, const std::string& architecture, const std::string& layer,
                   const std::vector<float>& bias) {
    int64_t width = 0;
    folder.edit("config.json", [&](json& config) {
        width = config.contains("n_embd") ? config["n_embd"] : config["hidden_size"];
        config["architectures"] = {architecture};
        if (architecture.starts_with("Mistral")) config["model_type"] = "mistral"; // the tensors are those of Llama
        config["id2label"] = {{"0", "A"}, {"1", "B"}};
    });
    auto stored = folder.weights();
    json& header = stored.first;
    std::string& data = stored.second;
    const auto add = [&](const std::string& name, const json& shape, const std::vector<float>& values) {
        const size_t begin = data.size();
        data.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
        header[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, data.size()}}};
    };
    std::vector<float> weights;
    for (int64_t i = 0; i < 2 * width; ++i) weights.push_back(0.05f * static_cast<float>(i % 7 - 3));
    add(layer + ".weight", {2, width}, weights);
    if (!bias.empty()) add(layer + ".bias", {2}, bias);
    writeFile(folder / "model.safetensors", safetensors(header.dump(), data));
}

std::vector<float> logitsOf(const ModelFolder& folder) {
    LanguageModel model(openModelSource(folder.path().string()), {});
    model.feed(std::vector<int>{3, 1, 4, 1, 5});
    const auto classes = model.classes();
    REQUIRE(classes);
    return classes->logits;
}

} // namespace

TEST_CASE("decoders with classes: a class of each token has the bias and the names of its class", "[models][gpu]") {
    const auto [model, architecture, layer] = GENERATE(
        table<std::string, std::string, std::string>({{"llama", "LlamaForTokenClassification", "score"},
                                                      {"llama", "MistralForTokenClassification", "score"},
                                                      {"qwen2", "Qwen2ForTokenClassification", "score"},
                                                      {"gpt2", "GPT2ForTokenClassification", "classifier"},
                                                      {"gpt_neo", "GPTNeoForTokenClassification", "classifier"},
                                                      {"gpt_neox", "GPTNeoXForTokenClassification", "classifier"}}));
    INFO(architecture);
    ModelFolder with(model), without(model);
    addClassifier(with, architecture, layer, {100, -100});
    addClassifier(without, architecture, layer, {0, 0});
    const std::vector<float> found = logitsOf(with), bare = logitsOf(without);
    REQUIRE(found.size() == 10);
    REQUIRE(bare.size() == found.size());
    for (size_t i = 0; i < found.size(); ++i)
        CHECK(found[i] == Approx(bare[i] + (i % 2 == 0 ? 100 : -100)).margin(1e-3));
}

TEST_CASE("decoders with classes: a class of a whole text opens for every family", "[models][gpu]") {
    const auto [model, architecture] =
        GENERATE(table<std::string, std::string>({{"llama", "LlamaForSequenceClassification"},
                                                  {"llama", "MistralForSequenceClassification"},
                                                  {"qwen2", "Qwen2ForSequenceClassification"},
                                                  {"gpt2", "GPT2ForSequenceClassification"},
                                                  {"gpt_neo", "GPTNeoForSequenceClassification"},
                                                  {"gpt_neox", "GPTNeoXForSequenceClassification"}}));
    INFO(architecture);
    ModelFolder folder(model);
    addClassifier(folder, architecture, "score", {});
    const auto source = openModelSource(folder.path().string());
    CHECK(source->config().readout() == TextReadout::TextClass);
    CHECK(source->config().classReadout().labels == std::vector<std::string>{"A", "B"});
    CHECK(source->leftOut().fields.empty());
    CHECK(logitsOf(folder).size() == 2);
}

TEST_CASE("classes that no family here has are named among what is left out", "[models]") {
    const auto [model, architecture] =
        GENERATE(table<std::string, std::string>({{"roberta", "RobertaForSequenceClassification"},
                                                  {"distilbert", "DistilBertForTokenClassification"},
                                                  {"t5", "T5ForSequenceClassification"},
                                                  {"gpt2", "MistralForSequenceClassification"}}));
    INFO(architecture);
    ModelFolder folder(model);
    folder.edit("config.json", [&, &named = architecture](json& config) { config["architectures"] = {named}; });
    const auto source = openModelSource(folder.path().string());
    const auto& fields = source->leftOut().fields;
    CHECK(std::ranges::count(fields, LeftOut::Field{"architectures", '"' + architecture + '"'}) == 1);
}

TEST_CASE("two stacks with tables of their own: the readout is compared with the decoder's", "[models]") {
    ModelFolder folder("marian_two_tables");
    folder.edit("config.json", [](json& config) { config["tie_word_embeddings"] = true; });
    auto [header, data] = folder.weights();
    std::string name;
    for (const auto& [tensor, entry] : header.items())
        if (tensor.ends_with("decoder.embed_tokens.weight")) name = tensor;
    REQUIRE_FALSE(name.empty());
    const size_t begin = header[name]["data_offsets"][0], end = header[name]["data_offsets"][1];
    if (!header.contains("lm_head.weight")) {
        json entry = header[name];
        entry["data_offsets"] = {data.size(), data.size() + end - begin};
        data += data.substr(begin, end - begin);
        header["lm_head.weight"] = entry;
        writeFile(folder / "model.safetensors", safetensors(header.dump(), data));
    }
    const auto source = openModelSource(folder.path().string());
    for (const std::string& warning : source->warnings()) CHECK_THAT(warning, !CONTAINS("differs from the embedding"));
}

TEST_CASE("mT5: without a word in config.json its feed-forward layers are gated", "[models]") {
    ModelFolder folder("mt5");
    folder.edit("config.json", [](json& config) {
        for (const char* field : {"feed_forward_proj", "dense_act_fn", "is_gated_act"}) config.erase(field);
    });
    const auto config = openModelSource(folder.path().string())->config();
    CHECK(config.feedForward.gated);
    CHECK(config.feedForward.activation == Activation::GeluTanh);
}
