#include "engine/inference/language_model.h"
#include "engine/io/input_file.h"
#include "engine/models/model_builder.h"
#include "engine/system/temporary_folder.h"
#include "engine/training/answers.h"
#include "engine/training/readout_quality.h"
#include "engine/training/trainer.h"
#include "tests/io/files.h"
#include "tests/support/farthest.h"
#include "tests/training/tasks_test.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <set>

using namespace attn;
using attn::test::refuses;
using attn::test::sentenceOf;

namespace {

const std::string kFiles = ATTN_TEST_DIR "/golden/training/";

TaskSettings settingsOf(const std::filesystem::path& text, double context = 24) {
    return {.values = {{"context", context}, {"vocabulary", 200}}, .seed = 3, .data = {.text = text}};
}

Recipe readoutRecipe(const std::string& task, const std::string& file, const std::string& family = "bert") {
    Recipe recipe = suggestedRecipe(taskNamed(task));
    recipe.settings = settingsOf(file.empty() ? "builtin:stories" : kFiles + file, 32);
    recipe.architecture = {
        .family = family, .layers = 1, .heads = 2, .width = 16, .activation = "gelu", .initialDeviation = 0.1};
    recipe.schedule = {.rate = 1e-2, .warmUp = 10, .steps = 200};
    recipe.batch = 16;
    return recipe;
}

std::filesystem::path written(const TemporaryFolder& folder, const std::string& text) {
    const std::filesystem::path path = folder / "examples.txt";
    std::ofstream(path, std::ios::binary) << text;
    return path;
}

/// Text of `count` lines that a function makes.
template <class Line> std::string lines(int count, const Line& line) {
    std::string text;
    for (int i = 0; i < count; ++i) text += line(i) + "\n";
    return text;
}

/// Weeks of five days, a line each: the second of a pair follows if its day does.
std::string weeks() {
    return lines(480, [](int i) {
        constexpr std::array kDays{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday"};
        constexpr std::array kDeeds{"swam", "cooked", "read", "slept", "painted", "sang"};
        const auto day = static_cast<size_t>(i % 6);
        return day == 5 ? std::string()
                        : fmt::format("{}: {}", kDays.at(day), kDeeds.at(static_cast<size_t>(i * i % 7 % 6)));
    });
}

} // namespace

TEST_CASE("classes: a file of labelled texts gives rows of one target, and a tenth for validation", "[training]") {
    const TemporaryFolder folder;
    const auto path =
        written(folder, lines(200, [](int i) {
                    return fmt::format("{}\tthis is text number {} of it", i % 2 == 0 ? "even" : "odd", i);
                }));
    const auto task = makeTask(taskNamed("classify"), settingsOf(path));
    CHECK(task->labels() == std::vector<std::string>{"even", "odd"});
    const uint64_t rows = *task->rowCount(Split::Validation);
    CHECK(rows >= 8);
    CHECK(rows <= 35);
    std::set<std::string> validation;
    for (uint64_t row = 0; row < rows; ++row) {
        const Example example = task->example(Split::Validation, row);
        REQUIRE(example.answer.size() == 1);
        const std::string text = task->tokenizer().decode(example.prompt, true);
        validation.insert(text);
        const int number = std::stoi(text.substr(text.find("number") + 7));
        CHECK(task->answerTexts(example, example.answer).front() == (number % 2 == 0 ? "even" : "odd"));
    }
    const Batch batch = task->batch(Split::Train, 0, 100);
    CHECK(batch.width("targets") == 1);
    CHECK(batch["inputs"].size() == 2400);
    CHECK(batch["inputs"][0] == task->tokenizer().beginId());
    CHECK(std::ranges::count(batch["inputs"], *task->tokenizer().endId()) == 100);
    for (uint64_t row = 0; row < 100; ++row)
        CHECK_FALSE(validation.contains(task->tokenizer().decode(task->example(Split::Train, row).prompt, true)));
    const Batch beyond = task->batch(Split::Validation, rows, 1);
    CHECK(beyond["targets"] == std::vector{Batch::kIgnored});
}

TEST_CASE("classes: files that cannot work are refused with the line and the remedy", "[training]") {
    const TemporaryFolder folder;
    const auto refused = [&](const char* id, const std::string& text, const std::string& part) {
        CAPTURE(text, part);
        CHECK(refuses([&] { makeTask(taskNamed(id), settingsOf(written(folder, text))); }, part));
    };
    refused("classify", "good\tnice\nbad awful\n", "line 2 is not a label, a tab and a text; write one example a line");
    refused("classify", "\tnice\n", "line 1 is not a label");
    refused("classify", "good\tnice\ngood\tfine\n", "the file has 1 different labels; choose a file with 2 to 1000");
    refused("classify", "good\tnice\nbad\tawful\n", "choose a file with more examples");
    refused("tag", "Anna B-PER\nsleeps\n", "line 2 is not a word, a blank or tab, and a tag");
    refused("tag", "Anna O\nsleeps O\n", "the file has 1 different tags");
    refused("answer", "who?\tnobody\n", "line 1 has 2 fields instead of 3");
    refused("answer", "who?\tnobody knows\tAnna\n", "the answer of line 1 is not in its passage");
    refused("answer", "{\"data\": 7}", "the file is JSON, but not as SQuAD has it");
    refused("answer", R"({"data": [{"paragraphs": [{"context": "abc", "qas": [{"question": "q",
            "answers": [{"text": "b", "answer_start": 0}]}]}]}]})",
            "does not stand at its \"answer_start\"");
    refused("next-sentence", "one line", "choose a text with a sentence on each line");
    for (const char* id : {"classify", "tag", "answer", "next-sentence"})
        CHECK(refuses([&] { makeTask(taskNamed(id), {}); }, "to learn from; choose"));
    Recipe recipe = readoutRecipe("tag", "names.conll", "gpt2");
    CHECK(refuses([&] { check(recipe); }, "gpt2 cannot learn the task tag; choose bert"));
}

TEST_CASE("tags: the first token of a word has the target, and other columns are left out", "[training]") {
    const TemporaryFolder folder;
    const auto path = written(folder, "-DOCSTART- -X- O O\n\n" + lines(60, [](int i) {
                                          return fmt::format("Peter{} NNP B-NP B-PER\nran VBD B-VP O\n", i);
                                      }));
    const auto task = makeTask(taskNamed("tag"), settingsOf(path));
    CHECK(task->labels() == std::vector<std::string>{"B-PER", "O"});
    const Batch batch = task->batch(Split::Train, 0, 20);
    CHECK(batch.width("targets") == 24);
    for (size_t row = 0; row < 20; ++row) {
        std::vector<int32_t> targets;
        for (size_t at = row * 24; at < (row + 1) * 24; ++at) {
            if (batch["targets"][at] != Batch::kIgnored) {
                targets.push_back(batch["targets"][at]);
                CHECK_FALSE(task->tokenizer().continuesWord(batch["inputs"][at]));
            }
        }
        CHECK(targets == std::vector{0, 1});
    }
}

TEST_CASE("answers: targets are the tokens of the answer, also after letters of several bytes", "[training]") {
    const TemporaryFolder folder;
    std::string questions;
    for (int i = 0; i < 60; ++i)
        questions += fmt::format(R"({}{{"context": "Zoë über {} lives here", "qas": [{{"question": "Who lives here?",
            "answers": [{{"text": "{} lives", "answer_start": 9}}]}}]}})",
                                 i == 0 ? "" : ",", i, i);
    const auto path = written(folder, R"({"data": [{"paragraphs": [)" + questions + "]}]}");
    const auto task = makeTask(taskNamed("answer"), settingsOf(path, 40));
    const Batch batch = task->batch(Split::Train, 0, 5);
    CHECK(batch.width("targets") == 2);
    for (uint64_t row = 0; row < 5; ++row) {
        const Example example = task->example(Split::Train, row);
        const auto first = example.prompt.begin() + example.answer[0],
                   last = example.prompt.begin() + example.answer[1];
        const std::string answer = task->tokenizer().decode({first, last + 1}, true);
        CHECK(answer.ends_with(" lives"));
        CHECK(std::isdigit(answer.front()));
        const auto types = std::span(batch["types"]).subspan(row * 40, 40);
        CHECK(types[0] == 0);
        CHECK(types[static_cast<size_t>(example.answer[0])] == 1);
    }
    CHECK(task->answerTexts({.prompt = {5, 6, 7}}, std::vector{2, 1}).empty()); // ends before it begins
}

TEST_CASE("next sentence: half of the pairs follow each other, and none crosses an empty line", "[training]") {
    const TemporaryFolder folder;
    const auto path = written(
        folder, lines(300, [](int i) { return i % 3 == 2 ? std::string() : fmt::format("sentence {} here", i); }));
    const auto task = makeTask(taskNamed("next-sentence"), settingsOf(path));
    const auto numberAt = [](const std::string& text, size_t from) {
        return std::stoi(text.substr(text.find("sentence", from) + 9));
    };
    int following = 0;
    for (uint64_t index = 0; index < 400; ++index) {
        const Example example = task->example(Split::Train, index);
        const std::string text = task->tokenizer().decode(example.prompt, true);
        const int first = numberAt(text, 0), second = numberAt(text, text.find("here"));
        CHECK(first % 3 == 0);
        CHECK((second == first + 1) == (example.answer.front() == 0));
        following += example.answer.front() == 0 ? 1 : 0;
    }
    CHECK(std::abs(following - 200) < 60); // three standard deviations, and pairs that follow by chance
}

TEST_CASE("next sentence: a text without documents is refused", "[training]") {
    const TemporaryFolder folder;
    const auto refusal = [&](const std::string& text) {
        return sentenceOf([&] { makeTask(taskNamed("next-sentence"), settingsOf(written(folder, text))); });
    };
    const auto sentence = [](int i) { return fmt::format("sentence {} here", i); };
    CHECK_THAT(refusal(lines(300, sentence)),
               CONTAINS("1 document of two or more lines") && CONTAINS("an empty line between documents"));
    CHECK_THAT(refusal(lines(300, [&](int i) { return sentence(i) + "\n"; })), CONTAINS("has 0 documents"));
    CHECK_THAT(refusal(lines(300, [&](int i) { return sentence(i) + (i < 250 && i % 5 == 4 ? "\n" : ""); })),
               CONTAINS("which is for validation, has 1 document"));
    CHECK(refusal(lines(300, [&](int i) { return sentence(i) + (i % 5 == 4 ? "\n" : ""); })) == "accepted");
    CHECK_THAT(sentenceOf([] { makeTask(taskNamed("next-sentence"), settingsOf("builtin:stories", 64)); }),
               CONTAINS("each line of builtin:stories is a story of its own") && CONTAINS("between documents"));
}

TEST_CASE("tags: spans are those of conlleval", "[training]") {
    using Tags = std::vector<std::string>;
    CHECK(spansOf(Tags{"B-PER", "I-PER", "O", "B-LOC"}) == std::vector<TagSpan>{{"PER", 0, 2}, {"LOC", 3, 4}});
    CHECK(spansOf(Tags{"B-PER", "B-PER"}) == std::vector<TagSpan>{{"PER", 0, 1}, {"PER", 1, 2}});
    CHECK(spansOf(Tags{"O", "I-LOC", "I-LOC"}) == std::vector<TagSpan>{{"LOC", 1, 3}}); // begins without B
    CHECK(spansOf(Tags{"B-LOC", "I-PER"}) == std::vector<TagSpan>{{"LOC", 0, 1}, {"PER", 1, 2}});
    CHECK(spansOf(Tags{"S-PER", "B-LOC", "E-LOC"}) == std::vector<TagSpan>{{"PER", 0, 1}, {"LOC", 1, 3}});
    CHECK(spansOf(Tags{"I-PER", "O", "I-PER"}).size() == 2);
    SpanScore score;
    addSpans(score, Tags{"B-PER", "I-PER", "O", "B-LOC"}, Tags{"B-PER", "O", "O", "B-LOC"});
    addSpans(score, Tags{"O"}, Tags{"B-LOC"});
    CHECK(score.precision() == Approx(0.5));
    CHECK(score.recall() == Approx(1.0 / 3));
    CHECK(score.f1() == Approx(0.4));
    CHECK(SpanScore{}.f1() == 0);
}

TEST_CASE("answers: words are compared as SQuAD does", "[training]") {
    CHECK(answerWords("The  cat, in A hat!") == std::vector<std::string>{"cat", "in", "hat"});
    CHECK(answerF1("the cat", "cat") == 1);
    CHECK(answerF1("black cat", "cat") == Approx(2.0 / 3));
    CHECK(answerF1("cat cat", "cat") == Approx(2.0 / 3)); // a word counts as often as it is in both
    CHECK(answerF1("dog", "cat") == 0);
    CHECK(answerF1("", "cat") == 0);
    CHECK(answerF1("the", "a") == 1); // neither has words
}

TEST_CASE("readouts: each learns, and its folder opens with the same readout and gives the same results",
          "[training][gpu]") {
    struct Case {
        const char *task, *file, *family, *architecture;
        double least; ///< metric after training
        const char* attention = "";
    };
    const Case each = GENERATE(Case{"classify", "opinions.tsv", "bert", "BertForSequenceClassification", 0.9},
                               Case{"classify", "opinions.tsv", "gpt2", "GPT2ForSequenceClassification", 0.9},
                               Case{"classify", "opinions.tsv", "llama", "LlamaForSequenceClassification", 0.9},
                               Case{"classify", "opinions.tsv", "bert", "AttentionLabForSequenceClassification", 0.9,
                                    "position=learned, mask=longformer(4, 1, 1)"},
                               Case{"tag", "names.conll", "bert", "BertForTokenClassification", 0.9},
                               Case{"answer", "questions.tsv", "bert", "BertForQuestionAnswering", 0.3},
                               Case{"next-sentence", "", "bert", "BertForNextSentencePrediction", 0.7});
    CAPTURE(each.task, each.family, each.attention);
    const TemporaryFolder texts;
    Recipe recipe = readoutRecipe(each.task, each.file, each.family);
    recipe.architecture.attention = each.attention;
    const bool isPair = each.task == std::string("next-sentence");
    if (isPair) { // needs two layers, and stays at chance with a higher rate
        recipe.architecture.layers = 2;
        recipe.architecture.heads = 4;
        recipe.architecture.width = 32;
        recipe.schedule.rate = 3e-3;
        recipe.settings.data.text = written(texts, weeks());
        recipe.settings.values["context"] = 16;
    }
    Trainer trainer(recipe, {.softwareThreads = 0});
    const double before = trainer.evaluate(Split::Train, 64).loss;
    for (int i = 0; i < (isPair ? 200 : 120); ++i) trainer.step();
    const Evaluation evaluation = trainer.evaluate(Split::Validation, 64);
    CHECK(trainer.evaluate(Split::Train, 64).loss < before);
    CHECK(evaluation.metric >= each.least);

    const auto answers = answersOf(trainer, Split::Validation, 0, static_cast<int>(evaluation.examples));
    double right = 0, all = 0;
    const bool isSpan = trainer.task().readout == TextReadout::Span;
    for (const TaskAnswer& answer : answers) {
        if (isSpan) {
            right += answer.given == answer.example.answer ? 1 : 0;
            ++all;
        }
        for (size_t i = 0; i < answer.given.size() && !isSpan; ++i, ++all)
            right += answer.given[i] == answer.example.answer[i];
    }
    CHECK(right / all == Approx(evaluation.metric));

    const TemporaryFolder folder;
    trainer.objective().writeModel(folder.path(), [&](const std::string& name) { return trainer.read(name); });
    const auto source = openModelSource(folder.path().string());
    CHECK(source->config().readout() == trainer.task().readout);
    CHECK(source->config().classReadout().labels == sequencesOf(trainer)->instance().labels());
    CHECK(source->configText().find(each.architecture) != std::string::npos);
    LanguageModel model(openModelSource(folder.path().string()), {.device = {.softwareThreads = 0}});
    CHECK(model.feed(answers.front().example.prompt));
    CHECK(model.logits().empty()); // it predicts no tokens
    CHECK_FALSE(model.capture(answers.front().example.prompt, "blocks.0.attn.hook_pattern").empty());
    for (size_t i = 0; i < std::min<size_t>(answers.size(), 8) && isSpan; ++i) {
        const std::vector<int> tokens(answers[i].example.prompt.begin(), answers[i].example.prompt.end());
        const Batch row = trainer.objective().questions(Split::Validation, i, 1);
        const std::vector<int> types(row["types"].begin(), row["types"].begin() + std::ssize(tokens));
        model.predict(TextInput{.tokens = tokens, .types = types});
        const Passage passage = model.classes()->passage;
        CHECK(types[static_cast<size_t>(passage.begin)] == 1);
        CHECK(passage.end == static_cast<int>(tokens.size()) - 1); // without [SEP]
        const ClassAnswer said = classAnswers(*model.classes(), 1).front();
        CHECK(answers[i].given == std::vector<int32_t>{said.begin, said.end - 1});
    }
    // What it says of a text is what training measured.
    for (size_t i = 0; i < std::min<size_t>(answers.size(), 8) && !isPair && !isSpan; ++i) {
        model.predict(answers[i].example.prompt);
        const auto said = classAnswers(*model.classes(), 1);
        const auto& given = answers[i].given;
        if (readsOneRow(trainer.task().readout))
            CHECK(said.front().label == given.front());
        else // tokens without a target have a class too
            CHECK(said.size() >= given.size());
    }

    recipe.start.model = folder.path().string(); // continues where it was
    recipe.settings.data.tokens = kModelTokens;
    Trainer again(recipe, {.softwareThreads = 0});
    CHECK(again.evaluate(Split::Validation, 64).loss == evaluation.loss);
}

TEST_CASE("readouts: a decoder's class is that of the last token that is no padding", "[training][gpu]") {
    const TemporaryFolder folder;
    const Trainer trainer(readoutRecipe("classify", "opinions.tsv", "gpt2"), {.softwareThreads = 0});
    trainer.objective().writeModel(folder.path(), [&](const std::string& name) { return trainer.read(name); });
    const auto logitsOf = [&](std::vector<int> tokens) {
        LanguageModel model(openModelSource(folder.path().string()), {.device = {.softwareThreads = 0}});
        model.predict(tokens);
        return model.classes()->logits;
    };
    const auto plain = logitsOf({9, 11, 12});
    CHECK(test::farthest(logitsOf({9, 11, 12, 3, 3}), plain) > 1e-4); // no file names a token of padding
    nlohmann::json config = nlohmann::json::parse(readTextFile(folder / "config.json", 1 << 20));
    config["pad_token_id"] = 3;
    test::writeFile(folder / "config.json", config.dump());
    CHECK(test::farthest(logitsOf({9, 11, 12, 3, 3}), plain) < 1e-5); // float32 in another order of summation
    CHECK(logitsOf({9, 11, 12}) == plain);
    ModelSpec spec = openModelSource(folder.path().string())->config();
    CHECK(readoutRow(spec, std::vector{3, 9, 3, 11, 3}) == 3);
    CHECK(readoutRow(spec, std::vector{3, 3}) == 0);
    spec.classPadding.reset();
    CHECK(readoutRow(spec, std::vector{3, 3}) == 1);
}

TEST_CASE("readouts: BERT's pretraining learns hidden tokens and the next sentence at once", "[training][gpu]") {
    const TemporaryFolder texts;
    Recipe recipe = readoutRecipe("next-sentence", "");
    recipe.settings.data.text = written(texts, weeks());
    recipe.settings.values = {{"context", 16}, {"vocabulary", 200}, {"hidden", 0.15}};
    recipe.architecture.layers = 2;
    recipe.architecture.heads = 4;
    recipe.architecture.width = 32;
    recipe.architecture.attention = GENERATE("", "position=learned, mask=longformer(8, 1, 1)");
    CAPTURE(recipe.architecture.attention);
    recipe.schedule = {.rate = 3e-3, .warmUp = 10, .steps = 800};

    const auto task = makeTask(taskNamed("next-sentence"), recipe.settings);
    const Batch batch = task->batch(Split::Train, 0, 32);
    CHECK(batch.width("targets") == 16);
    CHECK(batch["classes"].size() == 32);
    CHECK(std::ranges::count(batch["classes"], 0) > 6);
    CHECK(std::ranges::count(batch["classes"], 1) > 6);
    const auto hidden = std::ranges::count_if(batch["targets"], [](int32_t target) { return target >= 0; });
    CHECK(hidden >= 32);
    CHECK(std::ranges::count(batch["inputs"], *task->tokenizer().maskId()) > hidden / 2); // 80 %
    for (size_t at = 0; at < batch["targets"].size(); ++at)
        if (batch["targets"][at] >= 0) CHECK_FALSE(task->tokenizer().isSpecial(batch["targets"][at]));
    CHECK(task->batch(Split::Validation, *task->rowCount(Split::Validation), 1)["classes"] ==
          std::vector{Batch::kIgnored});
    const Example example = task->example(Split::Validation, 0);
    CHECK(task->answerTexts(example, example.answer).front() ==
          task->labels()[static_cast<size_t>(example.answer.front())]);

    Trainer trainer(recipe, {.softwareThreads = 0});
    const Evaluation before = trainer.evaluate(Split::Validation, 64);
    REQUIRE(before.shares.contains("hidden_tokens"));
    for (int i = 0; i < 800; ++i) trainer.step();
    const Evaluation evaluation = trainer.evaluate(Split::Validation, 64);
    CHECK(evaluation.loss < before.loss - 0.5);
    CHECK(evaluation.shares.at("hidden_tokens") > before.shares.at("hidden_tokens") + 0.2);
    CHECK(evaluation.metric >= 0.65); // of the sentences; chance is 0.5
    const auto answers = answersOf(trainer, Split::Validation, 0, static_cast<int>(evaluation.examples));
    double right = 0, classes = 0, all = 0;
    for (const TaskAnswer& answer : answers) {
        REQUIRE(answer.given.size() == answer.example.answer.size());
        classes += answer.given.front() == answer.example.answer.front() ? 1 : 0;
        for (size_t i = 1; i < answer.given.size(); ++i, ++all)
            right += answer.given[i] == answer.example.answer[i] ? 1 : 0;
    }
    CHECK(classes / static_cast<double>(answers.size()) == Approx(evaluation.metric));
    CHECK(right / all == Approx(evaluation.shares.at("hidden_tokens")));

    const TemporaryFolder folder;
    trainer.objective().writeModel(folder.path(), [&](const std::string& name) { return trainer.read(name); });
    const auto source = openModelSource(folder.path().string());
    CHECK(source->config().readout() == TextReadout::MaskedToken);
    CHECK(source->config().classReadout().labels == std::vector<std::string>{"follows", "random"});
    const bool isBert = recipe.architecture.attention.empty();
    CHECK(source->configText().find(isBert ? "\"BertForPreTraining\"" : "\"AttentionLabForPreTraining\"") !=
          std::string::npos);
    if (isBert) {
        CHECK(trainer.objective().placeOf("classifier.W")->source == "cls.seq_relationship.weight");
        CHECK(trainer.objective().placeOf("mlm_head.W")->source == "cls.predictions.transform.dense.weight");
        CHECK(trainer.objective().placeOf("unembed.b_U")->source == "cls.predictions.bias");
        CHECK(trainer.objective().placeOf("pooler.b")->source == "bert.pooler.dense.bias");
    }
    LanguageModel model(openModelSource(folder.path().string()), {.device = {.softwareThreads = 0}});
    int compared = 0;
    for (size_t i = 0; i < 8; ++i) { // both readouts say what training measured
        const Batch row = trainer.objective().batch(Split::Validation, i, 1);
        const std::vector<int> tokens(answers[i].example.prompt.begin(), answers[i].example.prompt.end());
        const std::vector<int> types(row["types"].begin(), row["types"].begin() + std::ssize(tokens));
        const std::vector<float> logits = model.predict(TextInput{.tokens = tokens, .types = types});
        REQUIRE_FALSE(logits.empty());
        CHECK(classAnswers(*model.classes(), 1).front().label == answers[i].given.front());
        const size_t place = model.predictedRow(model.input()); // of a mask, if there is one
        if (row["targets"][place] == Batch::kIgnored) continue;
        const auto earlier =
            std::count_if(row["targets"].begin(), row["targets"].begin() + static_cast<std::ptrdiff_t>(place),
                          [](int32_t target) { return target != Batch::kIgnored; });
        CHECK(std::ranges::max_element(logits) - logits.begin() == answers[i].given[static_cast<size_t>(earlier) + 1]);
        ++compared;
    }

    CHECK(compared > 3);

    recipe.start.model = folder.path().string(); // continues where it was, with both or with one
    recipe.settings.data.tokens = kModelTokens;
    CHECK(Trainer(recipe, {.softwareThreads = 0}).evaluate(Split::Validation, 64).loss == evaluation.loss);
    recipe.settings.values["hidden"] = 0;
    Trainer pairs(recipe, {.softwareThreads = 0});
    CHECK(pairs.read("classifier.W") == trainer.read("classifier.W"));
    CHECK(pairs.evaluate(Split::Validation, 64).shares.empty());
}

TEST_CASE("readouts: a model of hidden words gets a new readout, and keeps its other parameters", "[training][gpu]") {
    Recipe masked = suggestedRecipe(taskNamed("masked-text"));
    masked.settings = settingsOf("builtin:stories");
    masked.architecture = readoutRecipe("classify", "opinions.tsv").architecture;
    Trainer before(masked, {.softwareThreads = 0});
    const TemporaryFolder folder;
    before.objective().writeModel(folder.path(), [&](const std::string& name) { return before.read(name); });
    for (const char* task : {"classify", "tag"}) {
        Recipe recipe = readoutRecipe(task, std::string(task) == "tag" ? "names.conll" : "opinions.tsv");
        recipe.settings.values["context"] = 24;
        recipe.settings.data.tokens = kModelTokens;
        recipe.start.model = folder.path().string();
        recipe.start.trained = "norms and readout";
        Trainer trainer(recipe, {.softwareThreads = 0});
        CHECK(sequencesOf(trainer)->config().classReadout().labels == sequencesOf(trainer)->instance().labels());
        CHECK(trainer.read("blocks.0.attn.W_Q") == before.read("blocks.0.attn.W_Q"));
        CHECK_FALSE(trainer.isFrozen("classifier.W"));
        const std::vector<float> readout = trainer.read("classifier.W");
        for (int i = 0; i < 3; ++i) trainer.step();
        CHECK(trainer.read("classifier.W") != readout);
        CHECK(trainer.read("blocks.0.attn.W_Q") == before.read("blocks.0.attn.W_Q"));
    }
    Recipe recipe = readoutRecipe("sort", "");
    recipe.settings = {};
    recipe.start.model = folder.path().string();
    CHECK(refuses([&] { Trainer(recipe, {.softwareThreads = 0}); }, "choose a model that predicts the next token"));
}
