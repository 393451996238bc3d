#include "tests/models/model_folder.h"
#include "tests/support/program.h"

#include <array>
#include <cmath>
#include <tuple>

// What attention-cli makes of the files of models.

using namespace attn;
using namespace attn::test;

TEST_CASE("generate: the folder's rules hold, and options that change nothing are refused", "[models][gpu]") {
    const ModelFolder folder("gpt2");
    const std::string model = "'" + folder.path().string() + "' --tokens 1,5,9 --max-tokens 4 ";
    const auto tokensOf = [&](const std::string& rules, const std::string& options) {
        writeFile(folder / "generation_config.json", rules);
        const Answer answer = runProgram("generate " + model + options + " --json", " 2>/dev/null");
        INFO(answer.text);
        REQUIRE(answer.code == 0);
        return nlohmann::json::parse(answer.text).at("tokens").get<std::vector<int>>();
    };
    const std::vector<int> plain = tokensOf("{}", "--greedy");
    REQUIRE(plain.size() == 7);
    const std::string first = std::to_string(plain[3]);
    CHECK(tokensOf("{\"suppress_tokens\": [" + first + "]}", "--greedy")[3] != plain[3]);
    CHECK(tokensOf("{\"begin_suppress_tokens\": [" + first + "]}", "--greedy")[3] != plain[3]);
    CHECK(tokensOf("{\"eos_token_id\": [0, " + first + "]}", "--greedy").size() == 4);
    CHECK(tokensOf("{\"forced_eos_token_id\": 7}", "--greedy").back() == 7);
    CHECK(tokensOf("{\"do_sample\": false}", "") == plain);              // as the folder chooses
    CHECK(tokensOf("{\"do_sample\": true, \"top_k\": 1}", "") == plain); // the one most probable token
    for (const char* silent :
         {"{}", "{\"transformers_version\": \"4.40\"}", "{\"temperature\": 5}"}) // do_sample is false
        CHECK(tokensOf(silent, "") == plain);
    writeFile(folder / "generation_config.json", "{\"max_length\": 3}");
    checkProgram("generate '" + folder.path().string() + "' --tokens 1,5,9", 0,
                 {"generation_config.json ends a text at 3 tokens (max_length), and this one has 3",
                  "--max-tokens sets another length"});
    writeFile(folder / "generation_config.json", "{\"do_sample\": true, \"num_beams\": 4}");
    checkProgram("generate " + model, 0, {"this program does not draw tokens in a beam search"});
    fs::remove(folder / "generation_config.json");
    for (const char* option : {"--temperature 0.5", "--top-k 3", "--top-p 0.9", "--min-p 0.1"})
        checkProgram("generate " + model + "--beams 2 " + option, 1, {"changes nothing with a beam search"});
    checkProgram("generate " + model + "--length-penalty 2", 1,
                 {"--length-penalty changes nothing with a text without a beam search"});
    writeFile(folder / "tokenizer.json", "{\"model\": {\"type\": \"Chars\"}}");
    checkProgram("generate " + model + "--greedy", 0, {"the tokenizer cannot be read, so the model takes token ids"});
}

TEST_CASE("models: the rules by which a folder writes are named, also where it leaves the choice of tokens open",
          "[models]") {
    ModelFolder folder("gpt2");
    const std::string model = "models '" + folder.path().string() + "'";
    folder.edit("config.json", [](nlohmann::json& config) { config["suppress_tokens"] = {3}; });
    checkProgram(model, 0, {"config.json chooses how to write: suppress_tokens (1)\n"});
    writeFile(folder / "generation_config.json",
              R"({"do_sample": true, "temperature": 0.5, "forced_eos_token_id": 1, "bad_words_ids": [[6], [7, 8]],
                  "suppress_tokens": [3, 4], "begin_suppress_tokens": [5], "no_repeat_ngram_size": 3,
                  "min_new_tokens": 2, "max_new_tokens": 9})");
    checkProgram(model, 0,
                 {"generation_config.json chooses how to write: temperature 0.5, top-k 50, forced_eos_token_id 1, "
                  "bad_words_ids (2), suppress_tokens (2), begin_suppress_tokens (1), no_repeat_ngram_size 3, "
                  "min_new_tokens 2, max_new_tokens 9\n"});
}

TEST_CASE("models: what is in force stands beside what the configuration asks for", "[models]") {
    ModelFolder folder("gpt_neo");
    folder.edit("config.json", [](nlohmann::json& config) { config["logit_scale"] = 0.5; });
    writeFile(folder / "adapter_config.json", "{}");
    const std::string model = "models '" + folder.path().string() + "'";
    checkProgram(model, 0,
                 {"in force, and what the configuration asks for:",
                  "Windows           layers 0, 2: all earlier tokens; layer 1: the last 4 tokens  (attention_layers",
                  "Fields left out   not used  (logit_scale 0.5)", "Files left out    not used  (adapter_config.json)",
                  "Tensors left out  none"});
    const nlohmann::json said = nlohmann::json::parse(runProgram(model + " --json", " 2>/dev/null").text);
    CHECK(said.at("unusedFields") == nlohmann::json{{"logit_scale", "0.5"}});
    CHECK(said.at("unusedTensors").empty());
    CHECK(said.at("unusedFiles") == nlohmann::json{"adapter_config.json"});
    CHECK(said.at("warnings").size() == 2);
    bool hasWindows = false;
    for (const nlohmann::json& setting : said.at("settings"))
        if (setting.at("name") == "Windows") {
            hasWindows = true;
            CHECK(setting.at("inForce") == "layers 0, 2: all earlier tokens; layer 1: the last 4 tokens");
            CHECK_THAT(setting.at("asked").get<std::string>(), CONTAINS("window_size 4"));
        }
    CHECK(hasWindows);
}

TEST_CASE("capture: a classifier of texts, which has no logits, writes its patterns", "[models][gpu]") {
    const std::string model = std::string(ATTN_TEST_DIR) + "/golden/bert_no_head";
    const TemporaryFolder folder;
    const std::string out = (folder / "run.safetensors").string();
    checkProgram("capture '" + model + "' --tokens 1,2,3 --out '" + out + "'", 0, {"blocks.0.attn.hook_pattern"});
    checkProgram(
        "capture '" + std::string(ATTN_TEST_DIR) + "/golden/t5' --source-tokens 4,5,6 --tokens 0,7 --out '" + out + "'",
        0,
        {"encoder.1.attn.hook_pattern", "decoder.1.attn.hook_pattern", "decoder.1.cross_attn.hook_pattern", "logits"});
    checkProgram("capture '" + model + "' --tokens 1,2,3 --hooks logits --out '" + out + "'", 1, {"no hook matches"});
}

TEST_CASE("attention-cli: a run of one class of several refuses to continue with several labels or numbers, and a new "
          "run replaces their classifier",
          "[models][gpu]") {
    const TemporaryFolder folder;
    std::string examples;
    for (int i = 0; i < 60; ++i)
        examples += (i % 2 == 0 ? "good\ta fine day " : "bad\ta dull day ") + std::to_string(i) + "\n";
    writeFile(folder / "days.tsv", examples);
    const std::string size = " --layers 1 --heads 2 --width 16 --batch 2 --steps 1",
                      text = "train --task classify --text '" + (folder / "days.tsv").string() + "'",
                      pictures = "train --task shapes";
    for (const auto& [name, task, family] :
         {std::tuple{"text", text, "bert"}, {"next", text, "gpt2"}, {"pictures", pictures, "vit"}}) {
        const fs::path run = folder / name;
        checkProgram(task + " --family " + family + size + " --out '" + run.string() + "'", 0, {});
        for (const auto& [type, says] :
             {std::pair{"multi_label_classification", "sigmoid: "}, {"regression", "regression: "}}) {
            INFO(name << " " << type);
            for (const fs::directory_entry& entry : fs::recursive_directory_iterator(run)) {
                if (entry.path().filename() == "checksums.sfv") fs::remove(entry.path());
                if (entry.path().filename() != "config.json") continue;
                nlohmann::json config = nlohmann::json::parse(readTextFile(entry.path(), 1 << 20));
                config["problem_type"] = type;
                writeFile(entry.path(), config.dump());
            }
            const std::string model = "'" + run.string() + "'",
                              hint = "restore problem_type in config.json: single_label_classification";
            const bool hasLabels = std::string(type) != "regression"; // of which the examples have one each
            checkProgram("eval " + model, hasLabels ? 0 : 1,
                         {hasLabels ? "exact match" : "they have classes, and the model says numbers"});
            if (name == std::string("text"))
                checkProgram("eval " + model + " --sweep-heads --close 0.1", hasLabels ? 0 : 1,
                             {hasLabels ? "without L0 H0: validation loss" : "give --data FILE"});
            checkProgram("train --resume --out " + model, 1, {says, hint});
            const std::string next = (folder / name).string() + "-" + type;
            checkProgram(task + " --from " + model + " --steps 1 --out '" + next + "'", 0, {});
            checkProgram("eval '" + next + "'", 0, {"accuracy"});
        }
    }
}

TEST_CASE("attention-cli: effects of heads, patches and the formed path measure the classes of a text",
          "[models][gpu]") {
    const TemporaryFolder folder;
    std::string examples;
    for (int i = 0; i < 60; ++i)
        examples += (i % 2 == 0 ? "good\ta fine day " : "bad\ta dull day ") + std::to_string(i) + "\n";
    writeFile(folder / "days.tsv", examples);
    for (const char* family : {"bert", "gpt2"}) { // which read the first and the last row
        INFO(family);
        const std::string run = "'" + (folder / family).string() + "'", own = " --prompt 'a fine day 1'";
        checkProgram("train --task classify --text '" + (folder / "days.tsv").string() + "' --family " + family +
                         " --layers 1 --heads 2 --width 16 --batch 2 --steps 1 --out " + run,
                     0, {});
        const auto said = [](const std::string& arguments) {
            const Answer answer = runProgram(arguments + " --json", " 2>/dev/null");
            INFO(arguments);
            REQUIRE(answer.code == 0);
            return nlohmann::json::parse(answer.text);
        };
        const auto logitsOf = [&](const std::string& prompt) {
            std::map<std::string, double> logits;
            const nlohmann::json classes = said("classify " + run + prompt);
            for (const auto& each : classes.at("classes"))
                logits[each.at("label").get<std::string>()] = each.at("logit").get<double>();
            return logits;
        };
        auto logits = logitsOf(own), others = logitsOf(" --prompt 'a dull day 1'");
        const std::string best = logits["good"] > logits["bad"] ? "good" : "bad";
        const nlohmann::json effects = said("ablate " + run + own);
        CHECK(effects.at("target").at("class").at("label") == best);
        CHECK(effects.at("logit").get<double>() == Approx(logits[best]).margin(1e-5));
        double largest = 0;
        for (const auto& each : effects.at("without"))
            largest = std::max(largest, std::abs(each.at("effect").get<double>()));
        CHECK(largest > 1e-5);
        const nlohmann::json patch = said("patch " + run + own + " --from 'a dull day 1' --target good --against bad");
        CHECK(patch.at("own").get<double>() == Approx(logits["good"] - logits["bad"]).margin(1e-5));
        CHECK(patch.at("other").get<double>() == Approx(others["good"] - others["bad"]).margin(1e-5));
        const nlohmann::json flow =
                                 said("lens " + run + own + " --what flow"), // from the row that the class is read from
            weighted = said("lens " + run + own + " --what weighted");
        const size_t read = std::string(family) == "bert" ? 0 : flow.at("tokens").size() - 1;
        CHECK(flow.at("query") == read);
        CHECK(weighted.at("query") == read);
        CHECK(said("lens " + run + own + " --what flow --position 2").at("query") == 2);
        const nlohmann::json formed = said("lens " + run + own + " --what formed");
        CHECK(formed.at("choices").size() == 2);
        for (const auto& each : formed.at("choices")) {
            const double logit = logits[each.at("label").get<std::string>()];
            CHECK(each.at("logit").get<double>() == Approx(logit).margin(1e-5));
            CHECK(each.at("formedLogit").get<double>() == Approx(logit).margin(1e-5));
        }
        checkProgram("lens " + run + own + " --what weighted", 0, {"weight x norm"});
        const nlohmann::json lens = said("lens " + run + own + " --what logit"), last = lens.at("rows").back();
        CHECK(lens.at("rows").size() == 2); // the embedding and the layer
        CHECK(last.at("choices").at(0).at("label") == best);
        const double odds = logits["good"] - logits["bad"];
        CHECK(last.at("choices").at(0).at("probability").get<double>() ==
              Approx(1 / (1 + std::exp(-std::abs(odds)))).margin(1e-5));
        const nlohmann::json gradients = said("lens " + run + own + " --what gradients --target good --against bad");
        CHECK(gradients.at("logit").get<double>() == Approx(odds).margin(1e-5));
        double integrated = 0;
        for (const auto& each : gradients.at("tokens")) integrated += each.at("integrated").get<double>();
        const double change = odds - gradients.at("baselineLogit").get<double>();
        CHECK(std::abs(change) > 1e-4);
        CHECK(integrated == Approx(change).margin(0.01 * std::abs(change) + 1e-6));
        if (std::string(family) == "gpt2") {
            const nlohmann::json circuits = said("lens " + run + own + " --what circuits --layer 0 --head 0");
            CHECK_FALSE(circuits.contains("copyingScore")); // it writes no tokens
            CHECK(circuits.at("tokens").at(0).at("looksFor").at(0).contains("id"));
            CHECK(circuits.at("tokens").at(0).at("raises").at(0).contains("label"));
            const nlohmann::json parts = said("lens " + run + own + " --what attribution --target good");
            CHECK(parts.at("logit").get<double>() == Approx(logits["good"]).margin(1e-5));
            CHECK(parts.at("sum").get<double>() == Approx(logits["good"]).margin(1e-4));
            CHECK_FALSE(parts.contains("position"));
        } else { // a layer with a tanh reads its first row
            checkProgram("lens " + run + own + " --what attribution", 1, {"its readout is not linear"});
        }
        checkProgram("ablate " + run + own + " --target fair", 1, {"there is no class \"fair\""});
    }
    const std::string features = "'" + std::string(ATTN_TEST_DIR) + "/golden/bert_no_head' --tokens 1,2,3";
    checkProgram("ablate " + features, 1, {"no single answer to a text"});
    checkProgram("lens " + features + " --what formed", 1, {"predicts neither tokens nor classes"});
    checkProgram("lens " + features + " --what weighted", 0, {"weight x norm"});
}

TEST_CASE("eval: several labels and numbers are measured on a table as classify says them", "[models][gpu]") {
    const TemporaryFolder folder;
    std::string examples, csv = "text,labels\n", numbers = "{\"text\": \"a fine day 0\", \"label\": [0.5, -1]}\n";
    std::vector<std::vector<double>> right;
    for (int i = 0; i < 60; ++i) {
        const std::string text = (i % 2 == 0 ? "a fine day " : "a dull day ") + std::to_string(i);
        examples += (i % 2 == 0 ? "good\t" : "bad\t") + text + "\n";
        if (i >= 8) continue;
        csv += text + (i % 3 == 0 ? ",good|bad" : i % 3 == 1 ? ",bad" : ",") + "\n";
        right.push_back({i % 3 == 0 ? 1.0 : 0.0, i % 3 < 2 ? 1.0 : 0.0}); // good, bad
    }
    writeFile(folder / "days.tsv", examples);
    writeFile(folder / "more.csv", csv);
    const std::string run = "'" + (folder / "run").string() + "'";
    checkProgram("train --task classify --text '" + (folder / "days.tsv").string() +
                     "' --family bert --layers 1 --heads 2 --width 16 --batch 2 --steps 1 --out " + run,
                 0, {});
    const auto become = [&](const char* type) {
        for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder / "run")) {
            if (entry.path().filename() == "checksums.sfv") fs::remove(entry.path());
            if (entry.path().filename() != "config.json") continue;
            nlohmann::json config = nlohmann::json::parse(readTextFile(entry.path(), 1 << 20));
            config["problem_type"] = type;
            writeFile(entry.path(), config.dump());
        }
    };
    const auto said = [](const std::string& arguments) {
        const Answer answer = runProgram(arguments + " --json", " 2>/dev/null");
        INFO(arguments);
        REQUIRE(answer.code == 0);
        return nlohmann::json::parse(answer.text);
    };
    const auto logitsOf = [&](int i) {
        std::vector<double> logits(2);
        const nlohmann::json answer = said("classify " + run + " --prompt '" +
                                           (i % 2 == 0 ? "a fine day " : "a dull day ") + std::to_string(i) + "'");
        for (const auto& each : answer.at("classes"))
            logits[each.at("label") == "good" ? 0 : 1] = each.at("logit").get<double>();
        return logits;
    };
    become("multi_label_classification");
    double exact = 0, loss = 0;
    std::array<double, 2> there{}, found{}, hits{};
    for (int i = 0; i < 8; ++i) {
        const std::vector<double> logits = logitsOf(i);
        bool same = true;
        for (size_t label = 0; label < 2; ++label) {
            const double p = 1 / (1 + std::exp(-logits[label])), target = right[static_cast<size_t>(i)][label];
            loss -= std::log(target == 1 ? p : 1 - p) / 16;
            same = same && (p >= 0.5) == (target == 1);
            there[label] += target;
            found[label] += p >= 0.5 ? 1 : 0;
            hits[label] += p >= 0.5 ? target : 0;
        }
        exact += same ? 0.125 : 0;
    }
    const nlohmann::json labels = said("eval " + run + " --data '" + (folder / "more.csv").string() + "'");
    CHECK(labels.at("examples") == 8);
    CHECK(labels.at("activation") == "sigmoid");
    CHECK(labels.at("exact_match").get<double>() == Approx(exact));
    CHECK(labels.at("loss").get<double>() == Approx(loss).epsilon(1e-4));
    for (const auto& each : labels.at("labels")) {
        const size_t at = each.at("label") == "good" ? 0 : 1;
        CHECK(each.at("examples").get<double>() == there[at]);
        CHECK(each.at("recall").get<double>() == Approx(hits[at] / there[at]));
        CHECK(each.at("precision").get<double>() == Approx(found[at] == 0 ? 0 : hits[at] / found[at]));
    }
    CHECK(labels.at("micro").at("recall").get<double>() == Approx((hits[0] + hits[1]) / (there[0] + there[1])));
    become("regression");
    writeFile(folder / "numbers.jsonl", numbers);
    const nlohmann::json regression = said("eval " + run + " --data '" + (folder / "numbers.jsonl").string() + "'");
    const std::vector<double> answer = logitsOf(0);
    const std::string first = regression.at("labels")[0].at("label");
    const double good = answer[0] - (first == "good" ? 0.5 : -1), bad = answer[1] - (first == "good" ? -1 : 0.5);
    CHECK(regression.at("mean_squared_error").get<double>() == Approx((good * good + bad * bad) / 2).epsilon(1e-4));
    CHECK(regression.at("pearson").is_null()); // of one example
    become("single_label_classification");
    writeFile(folder / "both.csv", "text,target,label\na fine day,bad,good\n");
    const std::string both = "eval " + run + " --data '" + (folder / "both.csv").string() + "'";
    const std::string reads =
        "both.csv: nothing reads the column \"target\"; texts from the column \"text\", labels from";
    CHECK_THAT(said(both).at("warnings").back().get<std::string>(), CONTAINS(reads));
    checkProgram(both, 0, {"attention-cli: warning: " + reads});
    CHECK(said("eval " + run + " --data '" + (folder / "days.tsv").string() + "'").at("examples") == 60);
    CHECK(said("eval " + run).at("metric").at("name") == "accuracy");
    checkProgram("eval " + run + " --data '" + (folder / "more.csv").string() + "'", 1,
                 {"has 2 labels, and the model says one of several"});
    checkProgram("eval builtin:stories --data '" + (folder / "days.tsv").string() + "'", 1,
                 {"this model has no classes"});
}

TEST_CASE("eval: pictures with several labels are measured on a table", "[models][gpu]") {
    ModelFolder model("vit");
    model.edit("config.json", [](nlohmann::json& config) { config["problem_type"] = "multi_label_classification"; });
    const nlohmann::json config = nlohmann::json::parse(model.text("config.json"));
    const TemporaryFolder folder;
    writeFile(folder / "a.ppm", "P6 2 2 255\n" + std::string(12, 'a'));
    writeFile(folder / "b.ppm", "P6 2 2 255\n" + std::string(12, '\0'));
    writeFile(folder / "metadata.csv", "file_name,labels\na.ppm,0|1\nb.ppm,1\n");
    const std::string command = "eval '" + model.path().string() + "' --data '" + folder.path().string() + "'";
    checkProgram(command, 0, {"exact match", " of 2", "micro mean", "macro mean"});
    double hits = 0, found = 0;
    for (const char* file : {"a.ppm", "b.ppm"}) {
        const Answer answer = runProgram("classify '" + model.path().string() + "' --image '" +
                                             (folder / file).string() + "' --top 1000 --json",
                                         " 2>/dev/null");
        const nlohmann::json said = nlohmann::json::parse(answer.text);
        for (const auto& each : said.at("classes")) {
            if (each.at("logit").get<double>() < 0) continue;
            ++found;
            hits += each.at("index") == 1 || (each.at("index") == 0 && file[0] == 'a') ? 1 : 0;
        }
    }
    const nlohmann::json measured = nlohmann::json::parse(runProgram(command + " --json", " 2>/dev/null").text);
    CHECK(measured.at("micro").at("recall").get<double>() == Approx(hits / 3));
    CHECK(measured.at("micro").at("precision").get<double>() == Approx(found == 0 ? 0 : hits / found));
}
