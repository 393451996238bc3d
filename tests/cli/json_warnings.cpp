#include "tests/cli/commands.h"
#include "tests/models/model_folder.h"

// What commands say besides their results: warnings about a model and about what it reads.

using namespace attn;
using namespace attn::test;

namespace {

bool names(const nlohmann::json& warnings, const std::string& part) {
    return std::ranges::any_of(
        warnings, [&](const nlohmann::json& each) { return each.get<std::string>().find(part) != std::string::npos; });
}

} // namespace

TEST_CASE("warnings: the JSON of every command that opens a model has those of the model", "[cli][gpu]") {
    ModelFolder folder("gpt2");
    folder.edit("config.json", [](nlohmann::json& config) { config["odd_field"] = 3; });
    const std::string model = "'" + folder.path().string() + "'", tokens = " --tokens 1,2,3,4";
    for (const std::string& arguments :
         {"generate " + model + tokens + " --max-tokens 2", "generate " + model + tokens + " --beams 2 --max-tokens 2",
          "perplexity " + model + tokens, "storage " + model + tokens, "ablate " + model + tokens,
          "patch " + model + tokens + " --from 4,3,2,1", "detect " + model, "models " + model}) {
        INFO(arguments);
        CHECK(names(jsonOf(arguments).at("warnings"), "odd_field"));
    }
    CHECK(names(jsonOf("lens " + model + " --what composition").at("warnings"), "odd_field")); // reads no text
    for (const char* what : {"logit", "attribution", "gradients", "flow", "weighted", "circuits", "formed"})
        CHECK(names(jsonOf("lens " + model + tokens + " --what " + what).at("warnings"), "odd_field"));
    CHECK(jsonOf("eval builtin:sort").at("warnings").empty());
}

TEST_CASE("warnings: a damaged tensor is named by every command that opens the model, also if it does not read it",
          "[cli][gpu]") {
    const ModelFolder folder("bert");
    folder.setValues("cls.predictions.bias", {std::numeric_limits<float>::quiet_NaN()}); // patterns do not need it
    const std::string model = " '" + folder.path().string() + "'", text = model + " --tokens 1,2,3,4 ",
                      out = "--out '" + (folder / "out").string();
    for (const std::string& arguments :
         {"models" + model, "detect" + model, "lens --what flow" + text, "lens --what weighted" + text,
          "capture --hooks '*.hook_pattern'" + text + out + ".npz'", "render --view attention" + text + out + ".svg'"})
        checkProgram(arguments, 0, {"warning: 1 of 37 values of unembed.b_U are NaN or infinite"});
    CHECK(names(jsonOf("lens --what flow" + text).at("warnings"), "values of unembed.b_U"));
    folder.setValues("cls.predictions.bias", {-std::numeric_limits<float>::infinity()}); // bars a token
    CHECK(jsonOf("models" + model).at("warnings").empty());
}

TEST_CASE("warnings: a picture that is cropped or changes its ratio says so, in words and in JSON", "[cli][gpu]") {
    const TemporaryFolder folder;
    const std::string wide = (folder / "wide.ppm").string(), square = (folder / "square.ppm").string();
    writeFile(wide, "P6 60 30 255\n" + std::string(60 * 30 * 3, 'x'));
    writeFile(square, "P6 48 48 255\n" + std::string(48 * 48 * 3, 'x'));
    ModelFolder stretched("vit");
    ModelFolder cropping("vit");
    cropping.edit("preprocessor_config.json", [](nlohmann::json& json) {
        json["size"] = {{"shortest_edge", json["size"]["height"]}};
        json["do_center_crop"] = true;
        json["crop_size"] = {{"height", json["size"]["shortest_edge"]}, {"width", json["size"]["shortest_edge"]}};
    });
    for (const auto& [model, part] : {std::pair(&stretched, "which changes the ratio of its sides"),
                                      std::pair(&cropping, "the model sees 50 % of it, the middle")}) {
        for (const std::string command : {"classify", "ablate"}) {
            const std::string arguments = command + " '" + model->path().string() + "' --image '";
            checkProgram(arguments + wide + "'", 0, {part});
            CHECK(names(jsonOf(arguments + wide + "'").at("warnings"), part));
            CHECK(jsonOf(arguments + square + "'").at("warnings").empty());
        }
    }
}

TEST_CASE("answers: a model that looks for them in a passage asks for one", "[cli][gpu]") {
    const TemporaryFolder folder;
    std::string rows;
    for (int i = 0; i < 40; ++i) rows += "who sat?\tthe cat sat on mat " + std::to_string(i) + "\tthe cat\n";
    writeFile(folder / "questions.tsv", rows);
    const std::string run = "'" + (folder / "run").string() + "'";
    checkProgram("train --task answer --family bert --text '" + (folder / "questions.tsv").string() +
                     "' --layers 1 --heads 2 --width 16 --batch 2 --steps 1 --out " + run,
                 0, {});
    for (const char* command : {"classify ", "lens ", "ablate "})
        for (const char* second : {"", " --second ''", " --second '  '"})
            checkProgram(command + run + " --prompt 'who sat?'" + second, 1,
                         {"this model looks for an answer in a passage, and none is given"});
    checkProgram("classify " + run + " --prompt 'who sat?' --second 'the cat sat'", 0, {"%"});
    checkProgram("eval " + run + " --data '" + (folder / "questions.tsv").string() + "'", 1,
                 {"this model answers with words of a passage"});
}

TEST_CASE("eval: the JSON of two runs tells them apart", "[cli][gpu]") {
    const TemporaryFolder folder;
    for (const char* name : {"a", "b"}) {
        const std::string run = (folder / name / "run").string();
        fs::create_directory(folder / name);
        checkProgram("train --task sort --layers 1 --heads 2 --width 16 --batch 2 --steps 1 --out '" + run + "'", 0,
                     {});
        const nlohmann::json json = jsonOf("eval '" + run + "'");
        CHECK(json.at("path") == run);
        CHECK(json.at("model") == "run");
    }
}

TEST_CASE("eval: data that have changed since the training are named, in words and in JSON", "[cli][gpu]") {
    const TemporaryFolder folder;
    std::string text, table = "text,labels\n", pictures = "file_name,labels\n";
    for (int i = 0; i < 80; ++i) {
        const std::string number = std::to_string(i), label = i % 3 == 0 ? "sun|wind" : i % 2 == 0 ? "sun" : "rain";
        text += number + " is a number\n";
        table += "day " + number + "," + label + "\n";
        pictures += number + ".ppm," + label + "\n";
        writeFile(folder / (number + ".ppm"), "P6\n8 8\n255\n" + std::string(8 * 8 * 3, static_cast<char>(i)));
    }
    struct Learned {
        std::string name, contents, arguments;
    };
    for (const Learned& data :
         {Learned{"text.txt", text, "text --set context=8 --text '" + folder.path().string() + "/text.txt'"},
          Learned{"table.csv", table, "text-labels --text '" + folder.path().string() + "/table.csv'"},
          Learned{"metadata.csv", pictures, "picture-labels --set size=8 --data '" + folder.path().string() + "'"}}) {
        INFO(data.name);
        const fs::path file = folder / data.name, run = folder / "run";
        writeFile(file, data.contents);
        checkProgram("train --layers 1 --heads 2 --width 16 --batch 2 --steps 1 --out '" + run.string() + "' --task " +
                         data.arguments,
                     0, {});
        const std::string command = "eval '" + run.string() + "'", changed = "has changed since the training run began";
        CHECK_FALSE(names(jsonOf(command).at("warnings"), changed));
        writeFile(file, data.contents + data.contents.substr(data.contents.rfind('\n', data.contents.size() - 2) + 1));
        CHECK(names(jsonOf(command).at("warnings"), changed));
        checkProgram(command, 0, {"attention-cli: warning: ", changed + ": its hash begins with "});
        fs::remove(run / "data.sha256"); // as in a run of an older version
        CHECK_FALSE(names(jsonOf(command).at("warnings"), changed));
        fs::remove_all(run);
        fs::remove(file);
    }
}

TEST_CASE("options: a position is refused where the model says a class of its whole input", "[cli][gpu]") {
    const TemporaryFolder folder;
    writeFile(folder / "square.ppm", "P6 48 48 255\n" + std::string(48 * 48 * 3, 'x'));
    const std::string picture = " builtin:vit-shapes --image '" + (folder / "square.ppm").string() + "' --position 1 ";
    for (const char* lens : {"logit", "attribution", "gradients"})
        checkProgram("lens" + picture + "--what " + lens, 1, {"--position changes nothing with a class"});
    for (const char* lens : {"attribution", "gradients"})
        checkProgram("render" + picture + "--view lens --lens " + lens + " --out x.svg", 1,
                     {"--position changes nothing with a class"});
    checkProgram("lens" + picture + "--what flow", 0, {"rollout"});
}

TEST_CASE("options: lists of numbers refuse what is none of them", "[cli][gpu]") {
    const std::string bert = "'" + std::string(ATTN_TEST_DIR) + "/golden/bert'", tokens = " --tokens 1,2,3";
    checkProgram("capture " + bert + tokens + " --out /dev/null.npz --token-types=-1,0,0", 1,
                 {"--token-types: \"-1,0,0\" is not a list of token types; write a whole number from 0 on"});
    checkProgram("capture " + bert + tokens + " --out /dev/null.npz --token-types=", 2,
                 {"--token-types: the value is empty"});
    checkProgram("capture " + bert + tokens + " --out /dev/null.npz --token-types=0,9,0", 1, {"type"});
    checkProgram("lens builtin:induction --tokens=-1", 1, {"\"-1\" is not a token id"});
    checkProgram("lens builtin:induction --token-types 0", 1, {"this model has no token types"});
    checkProgram("generate builtin:numbers-de --source-tokens=-1", 1, {"\"-1\" is not a token id"});
    checkProgram("generate builtin:numbers-de --source-tokens=", 1, {"source"});
    checkProgram("lens builtin:induction --tree=", 2, {"--tree: the value is empty"});
    checkProgram("lens builtin:induction --tree=-1", 1, {"--tree"});
}
