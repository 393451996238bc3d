#include "engine/training/tasks/translation.h"
#include "engine/inference/language_model.h"
#include "engine/system/temporary_folder.h"
#include "engine/text/speller.h"
#include "engine/training/answers.h"
#include "engine/training/checkpoint.h"
#include "engine/training/trainer.h"
#include "tests/io/files.h"
#include "tests/support/farthest.h"
#include "tests/training/tasks_test.h"

#include <fstream>
#include <set>

using namespace attn;

namespace {

std::unique_ptr<TaskInstance> between(const char* task, const char* languages,
                                      std::map<std::string, double, std::less<>> values = {}) {
    return makeTask(taskNamed(task), {.values = std::move(values), .seed = 3, .data = {.languages = languages}});
}

std::string text(const TaskInstance& task, const std::vector<int32_t>& ids) {
    return task.tokenizer().decode({ids.begin(), ids.end()}, true);
}

} // namespace

TEST_CASE("numbers: the languages spell them as their grammars do", "[training][translation]") {
    CHECK(Speller("de").number(312) == "dreihundertzwölf"); // without the soft hyphens of Unicode's rules
    CHECK(Speller("en").number(312) == "three hundred twelve");
    CHECK(Speller("fr").number(80) == "quatre-vingts");
    CHECK(Speller("ja").number(777312) == "七十七万七千三百十二");
    CHECK(Speller("de").date(0) == "Donnerstag, 1. Januar 1970");
    CHECK(Speller::languages().size() >= 70);
    CHECK(Speller::nameOf("de") == "German");
    CHECK(attn::test::sentenceOf([] { Speller("xx"); }).find("no words for numbers in the language \"xx\"") !=
          std::string::npos);
    for (const char* languages : {"en", "-de", "en-", "", "en-xx", "klingon-de"}) {
        INFO(languages);
        CHECK(attn::test::sentenceOf([&] { between("numbers", languages); }) != "accepted");
    }
}

TEST_CASE("numbers: every example is a number in both languages, and the splits have none in common",
          "[training][translation]") {
    const Speller english("en"), german("de");
    std::map<std::string, std::string> all;
    for (int64_t number = 0; number < 1000; ++number) all[english.number(number)] = german.number(number);
    const auto task = between("numbers", "en-de", {{"digits", 3}});
    std::map<Split, std::set<std::string>> seen;
    for (const Split split : {Split::Train, Split::Validation, Split::Test})
        for (uint64_t index = 0; index < 300; ++index) {
            const Example example = task->example(split, index);
            const std::string source = text(*task, example.source);
            INFO(source);
            REQUIRE(all.contains(source));
            CHECK(text(*task, example.answer) == all[source]);
            CHECK(example.prompt == std::vector<int32_t>{*task->tokenizer().endId()});
            CHECK(example.answer.back() == example.prompt.front());
            seen[split].insert(source);
        }
    for (const std::string& source : seen[Split::Validation]) {
        CHECK_FALSE(seen[Split::Train].contains(source));
        CHECK_FALSE(seen[Split::Test].contains(source));
    }
    CHECK(seen[Split::Validation].size() > 50);
}

TEST_CASE("numbers: the pieces are the words of which numbers consist", "[training][translation]") {
    const auto task = between("numbers", "en-de");
    const Tokenizer& tokenizer = task->tokenizer();
    const auto pieces = [&](const char* number) {
        std::vector<std::string> result;
        for (const int id : tokenizer.encode(number, false).ids) result.push_back(tokenizer.tokenText(id));
        return result;
    };
    using Pieces = std::vector<std::string>;
    CHECK(pieces("dreihundertzwölf") == Pieces{" drei", "hundert", "zwölf"});
    CHECK(pieces("siebenundzwanzigtausendneunzig") == Pieces{" sieben", "und", "zwanzig", "tausend", "neunzig"});
    CHECK(pieces("einhunderteinundzwanzig") == Pieces{" ein", "hundert", "ein", "und", "zwanzig"});
    CHECK(pieces("three hundred twenty-one") == Pieces{" three", " hundred", " twenty", "-", "one"});
}

TEST_CASE("translation: a batch holds the sources, and the targets behind the token that begins them",
          "[training][translation]") {
    const auto task = between("dates", "en-fr");
    const auto reversed = between("dates", "en-fr", {{"reversed", 1}});
    const Batch batch = task->batch(Split::Train, 2, 5);
    REQUIRE(batch["sources"].size() == static_cast<size_t>(5 * task->sourceLength()));
    for (uint64_t row = 0; row < 5; ++row) {
        const Example example = task->example(Split::Train, 10 + row);
        const auto at = [&](const std::vector<int32_t>& values, int columns) {
            return std::span(values).subspan(row * static_cast<size_t>(columns), static_cast<size_t>(columns));
        };
        const auto source = at(batch["sources"], batch.width("sources")),
                   inputs = at(batch["inputs"], batch.width("targets")),
                   targets = at(batch["targets"], batch.width("targets"));
        const size_t length = example.answer.size(), read = example.source.size();
        CHECK(std::ranges::equal(source.first(read), example.source));
        CHECK(std::ranges::all_of(source.subspan(read), [](int32_t id) { return id == Batch::kIgnored; }));
        CHECK(inputs.front() == example.prompt.front());
        CHECK(std::ranges::equal(inputs.subspan(1, length - 1), std::span(example.answer).first(length - 1)));
        CHECK(std::ranges::equal(targets.first(length), example.answer));
        CHECK(std::ranges::all_of(targets.subspan(length), [](int32_t id) { return id == Batch::kIgnored; }));
        std::vector<int32_t> turned = reversed->example(Split::Train, 10 + row).source;
        std::ranges::reverse(turned);
        CHECK(turned == example.source);
    }
    CHECK(task->batch(Split::Train, 2, 5) == batch);
}

TEST_CASE("text to text: one model answers each source as its task asks", "[training][translation][gpu]") {
    const TemporaryFolder folder;
    {
        std::ofstream file(folder / "tasks.tsv");
        for (const char* word : {"red", "blue", "green", "black", "white", "brown"})
            for (int i = 0; i < 40; ++i) {
                file << "repeat\t" << word << ' ' << i << '\t' << word << '\n';
                file << "initial\t" << word << ' ' << i << '\t' << *word << '\n';
            }
    }
    Recipe recipe = suggestedRecipe(taskNamed("text-to-text"));
    recipe.settings = {.values = {{"merges", 60}, {"context", 16}}, .seed = 2, .data = {.text = folder / "tasks.tsv"}};
    recipe.architecture.layers = 1;
    recipe.architecture.heads = 2;
    recipe.architecture.width = 32;
    recipe.schedule = {.rate = 1e-2, .warmUp = 20, .steps = 250};
    recipe.batch = 16;
    Trainer trainer(recipe, {.softwareThreads = 0});
    for (int step = 0; step < 250; ++step) trainer.step();
    const Evaluation evaluation = trainer.evaluate(Split::Validation, 64);
    CHECK(evaluation.metric > 0.9);
    // The measure of each task is the share of answers that the model writes as they should be.
    std::map<std::string, Evaluation::Matches> counted;
    for (const TaskAnswer& answer :
         answersOf(trainer, Split::Validation, 0, static_cast<int>(evaluation.examples), AnswerUntil::EndToken)) {
        const std::string source = sequencesOf(trainer)->instance().tokenizer().decode(answer.example.source, true);
        Evaluation::Matches& matches = counted[source.substr(0, source.find(':'))];
        matches.right += answer.given == answer.example.answer ? 1 : 0;
        ++matches.examples;
    }
    REQUIRE(evaluation.subtasks.size() == 2);
    for (const char* name : {"initial", "repeat"}) {
        CHECK(evaluation.subtasks.at(name).examples == counted.at(name).examples);
        CHECK(evaluation.subtasks.at(name).right == counted.at(name).right);
        CHECK(evaluation.subtasks.at(name).share() > 0.5);
    }
    for (const TaskAnswer& answer : answersOf(trainer, Split::Validation, 0, 8)) {
        const auto& tokenizer = sequencesOf(trainer)->instance().tokenizer();
        const std::string source = tokenizer.decode(answer.example.source, true);
        CHECK((source.starts_with("repeat: ") || source.starts_with("initial: ")));
    }
}

TEST_CASE("translation: families that cannot learn a task are refused with those that can", "[training][translation]") {
    CHECK(familiesFor(taskNamed("numbers")) == std::vector<std::string_view>{"t5", "bart", "marian"});
    const auto refusal = [](Recipe recipe) { return attn::test::sentenceOf([&] { check(recipe); }); };
    Recipe recipe = suggestedRecipe(taskNamed("numbers"));
    CHECK(refusal(recipe) == "accepted");
    recipe.architecture.family = "gpt2";
    CHECK(refusal(recipe).find("choose t5 or bart or marian") != std::string::npos);
    recipe.architecture.family = "bart";
    recipe.architecture.positions = "none";
    CHECK(refusal(recipe) == "accepted");
    recipe.architecture.family = "marian";
    CHECK(refusal(recipe).find("positions") != std::string::npos);
    recipe.architecture = suggestedRecipe(taskNamed("numbers")).architecture;
    const auto attention = [&](const char* expression) {
        recipe.architecture.attention = expression;
        return refusal(recipe);
    };
    for (const char* works : {"score=dot", "position=alibi", "encoder: position=rope; decoder: position=rope",
                              "cross: score=additive; encoder: mixer=fnet, position=none, score=scaled_dot",
                              "cross: score=dot, mask=local_p(4)"}) {
        INFO(works);
        CHECK(attention(works) == "accepted");
    }
    CHECK_THAT(attention("cross: position=rope"), CONTAINS("cross: Rotary (RoPE) works within one sequence"));
    CHECK_THAT(attention("cross: mask=causal"), CONTAINS("compares positions of one sequence"));
    CHECK_THAT(attention("cross: mask=adaptive_span"), CONTAINS("compares positions of one sequence"));
    CHECK_THAT(attention("cross: mask=local_p & window(3)"), CONTAINS("compares positions of one sequence"));
    CHECK_THAT(attention("cross: normaliser=linear"), CONTAINS("cross-attention needs softmax"));
    CHECK_THAT(attention("decoder: mask=full"), CONTAINS("decoder: "));
    CHECK_THAT(attention("encoder: normaliser=linear, position=none, score=scaled_dot"),
               CONTAINS("encoder: Linear attention computes no scores"));
    CHECK_THAT(attention("encoder: residual=post_norm"), CONTAINS("keeps its own blocks"));
    CHECK_THAT(attention("cross: heads=multi_head(7)"), CONTAINS("7 heads but the model has"));
    CHECK(attention("decoder: normaliser=aft, position=none, score=scaled_dot") != "accepted"); // for each position
    CHECK_THAT(attention("other: score=dot"), CONTAINS("other"));
    Recipe text = suggestedRecipe(taskNamed("reverse"));
    text.architecture.attention = "cross: score=additive";
    CHECK_THAT(refusal(text), CONTAINS("is for a model with an encoder and a decoder"));
}

TEST_CASE("translation: composed attention trains in all kinds of sites, and opens again",
          "[training][translation][gpu]") {
    const auto [family, attention] = GENERATE(table<const char*, const char*>(
        {{"t5", "cross: score=additive"},
         {"bart", "cross: score=dot, mask=local_p(3)"},
         {"t5", "cross: score=bilinear, heads=multi_query(2); encoder: position=alibi; encoder: position=none, "
                "score=scaled_dot, mixer=fnet; decoder: position=rope"},
         {"bart", "cross: score=dot(0.5), output=gated; decoder: score=learned_cosine; encoder: mask=window(5)"},
         {"marian", "score=additive; encoder: score=additive; cross: score=learned_cosine"}}));
    INFO(family << ": " << attention);
    Recipe recipe = suggestedRecipe(taskNamed("numbers"));
    recipe.settings.values = {{"digits", 3}};
    recipe.architecture = {.family = family, .layers = 2, .heads = 2, .width = 16, .attention = attention};
    recipe.schedule = {.rate = 1e-2, .warmUp = 0, .steps = 100};
    recipe.batch = 4;
    Trainer trainer(recipe, {.softwareThreads = 0});
    const double first = trainer.step().loss;
    for (int step = 0; step < 12; ++step) trainer.step();
    CHECK(trainer.step().loss < first);
    const attn::test::TemporaryFolder folder;
    writeModel(folder.path() / "model", trainer);
    LanguageModel model(openModelSource((folder.path() / "model").string()), {.device = {.validation = true}});
    CHECK(model.config().family == "attention-lab");
    const auto& trained = *sequencesOf(trainer);
    CHECK(model.config().layers == trained.config().layers);
    CHECK(model.config().crossAttention == trained.config().crossAttention);
    CHECK(model.config().encoder->layers == trained.config().encoder->layers);
    CHECK(model.config().encoder->positions == trained.config().encoder->positions);

    // Token by token, from the kept keys of the source, as in the whole run, and beside other texts in a batch.
    const Example example = trained.instance().example(Split::Validation, 0);
    std::vector<int> target(example.prompt.begin(), example.prompt.end());
    target.insert(target.end(), example.answer.begin(), example.answer.end());
    const std::vector<int> source(example.source.begin(), example.source.end());
    TextInput input{.tokens = target, .source = source};
    const std::vector<float> whole = model.formedLogits(Input(input));
    model.setSides(input);
    model.truncate(0);
    for (size_t token = 0; token < target.size(); ++token) {
        model.feed(std::span(target).subspan(token, 1));
        CHECK(attn::test::farthest(model.logits(),
                                   std::span(whole).subspan(token * model.logits().size(), model.logits().size()),
                                   1) < 1e-4);
    }

    // Training continues from it, also with another attention.
    Recipe again = suggestedRecipe(taskNamed("numbers"), (folder.path() / "model").string());
    again.settings.values = recipe.settings.values;
    again.batch = 4;
    Trainer continued(again, {.softwareThreads = 0});
    CHECK(sequencesOf(continued)->config().crossAttention == trained.config().crossAttention);
    again.architecture.attention = "cross: score=scaled_dot";
    Trainer other(again, {.softwareThreads = 0});
    CHECK(sequencesOf(other)->config().crossAttention.front().spec.id(Slot::Score) == "scaled_dot");
    CHECK(sequencesOf(other)->config().layers == trained.config().layers);
    CHECK(std::isfinite(other.step().loss));
}

TEST_CASE("translation: another attention takes the place of a trained model's", "[training][translation][gpu]") {
    Recipe recipe = suggestedRecipe(taskNamed("numbers"), "builtin:numbers-de");
    recipe.architecture.attention = "cross: score=additive; encoder: mask=window(4)";
    recipe.batch = 4;
    Trainer trainer(recipe, {.softwareThreads = 0});
    CHECK_THAT(trainer.objective().startSentence(),
               CONTAINS("parameters are the model's; new: decoder.*.cross_attn.score.U"));
    const attn::test::TemporaryFolder folder;
    writeModel(folder.path() / "model", trainer);
    LanguageModel model(openModelSource((folder.path() / "model").string()), {});
    CHECK(model.config().crossAttention.front().spec.id(Slot::Score) == "additive");
    CHECK(model.config().encoder->layers.front().spec.mask == MaskExpression::parse("window(4)"));
}

TEST_CASE("translation: a model without positions is written with a table of zeros", "[training][translation][gpu]") {
    const char* family = GENERATE("t5", "bart");
    INFO(family);
    Recipe recipe = suggestedRecipe(taskNamed("numbers"));
    recipe.settings.values = {{"digits", 3}};
    recipe.architecture = {.family = family, .layers = 1, .heads = 2, .width = 16, .positions = "none"};
    recipe.batch = 4;
    Trainer trainer(recipe, {.softwareThreads = 0});
    trainer.step();
    const attn::test::TemporaryFolder folder;
    writeModel(folder.path(), trainer);
    LanguageModel model(openModelSource(folder.path().string()), {});
    CHECK(model.config().family == family);
    // Other orders of the source give the same, because nothing tells them apart.
    const Example example = sequencesOf(trainer)->instance().example(Split::Validation, 0);
    std::vector<int> source(example.source.begin(), example.source.end());
    const auto logits = [&] {
        model.truncate(0);
        model.setSides({.source = source});
        model.feed(example.prompt);
        return std::vector<float>(model.logits().begin(), model.logits().end());
    };
    const std::vector<float> forwards = logits();
    std::ranges::reverse(source);
    const std::vector<float> backwards = logits();
    for (size_t i = 0; i < forwards.size(); ++i) CHECK(std::abs(forwards[i] - backwards[i]) < 1e-4f);
}
