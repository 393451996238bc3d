#include "engine/inference/language_model.h"
#include "engine/inference/vision_model.h"
#include "engine/training/answers.h"
#include "engine/training/checkpoint.h"
#include "engine/training/run.h"
#include "engine/training/starting_loss.h"
#include "engine/training/starting_model.h"
#include "engine/training/tasks/catalogue.h"
#include "tests/io/files.h"
#include "tests/support/farthest.h"
#include "tests/training/short_runs.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace attn;
using attn::test::onOneThread;
using attn::test::sentenceOf;
namespace fs = std::filesystem;

namespace {

Recipe small(const char* task, const char* family) {
    Recipe recipe{.task = task,
                  .architecture = {.family = family, .layers = 2, .heads = 2, .width = 16, .initialDeviation = 0.3},
                  .schedule = {.rate = 1e-2, .warmUp = 0, .steps = 4},
                  .batch = 2,
                  .evaluateEvery = 1000,
                  .checkpointEvery = 1000};
    if (recipe.task == "masked-text")
        recipe.settings = {.values = {{"context", 24}, {"vocabulary", 150}}, .data = {.text = "builtin:stories"}};
    if (recipe.task == "shapes") recipe.architecture.patch = 16;
    return recipe;
}

/// A model of a family after two steps, in a folder.
class Start {
public:
    explicit Start(Recipe recipe) : recipe_(std::move(recipe)) {
        Trainer trainer(recipe_, onOneThread());
        trainer.step();
        trainer.step();
        writeModel(path(), trainer);
    }
    fs::path path() const { return folder_ / "start"; }
    /// A recipe that starts from the model, with fields as a person writes them.
    Recipe with(const nlohmann::json& fields) const {
        nlohmann::json json{{"task", recipe_.task}, {"from", path().string()}, {"batch", 2}, {"steps", 4}};
        json["text"] = recipe_.settings.data.text.string();
        for (const auto& [id, value] : recipe_.settings.values) json["values"][id] = value;
        if (!fields.is_null()) json.update(fields);
        return recipeFromJson(json, "recipe.json");
    }
    std::string refusal(const nlohmann::json& fields) const {
        return sentenceOf([&] { Trainer(with(fields), onOneThread()); });
    }
    fs::path folder() const { return folder_.path(); }

private:
    TemporaryFolder folder_;
    Recipe recipe_;
};

std::vector<float> logitsOf(const fs::path& folder, const std::vector<int>& tokens) {
    LanguageModel model(openModelSource(folder.string()), {.device = onOneThread()});
    return model.capture(tokens, "logits").front().values;
}

} // namespace

TEST_CASE("composed start: a mask that shows as much as the model's own gives the model's logits", "[training][gpu]") {
    struct Case {
        const char *task, *family, *attention;
    };
    const Case each = GENERATE(Case{"masked-text", "bert", "mask=longformer(64, 1, 1)"},
                               Case{"reverse", "gpt2", "mask=causal & window(64)"},
                               Case{"reverse", "llama", "mask=causal & window(64)"});
    INFO(each.family);
    const Start start(small(each.task, each.family));
    Trainer trainer(start.with({{"attention", each.attention}}), onOneThread());
    CHECK(trainer.objective().startSentence().ends_with(" parameters are the model's")); // all of them
    CHECK(trainer.recipe().architecture.attention.find("64") != std::string::npos);
    CHECK(trainer.recipe().architecture.attention.find(';') == std::string::npos); // all layers alike
    CHECK(Trainer(start.with({}), onOneThread()).objective().startSentence().empty());
    const std::string sentence = startSentence(trainer, onOneThread()); // both losses are the same
    CHECK_THAT(sentence, CONTAINS("; validation loss before training ") && CONTAINS("with the model's own attention "));
    CHECK(sentence.substr(sentence.size() - 6) ==
          fmt::format("{:.4f}", trainer.evaluate(Split::Validation, 256).loss).substr(0, 6));
    CHECK(trainer.recipe().architecture.layers == 2);
    writeModel(start.folder() / "other", trainer);
    const std::vector<int> tokens{5, 7, 6, 8, 5, 9};
    const std::vector<float> expected = logitsOf(start.path(), tokens),
                             found = logitsOf(start.folder() / "other", tokens);
    CHECK(test::farthest(found, expected, 1) < 1e-5); // by the formed path and by the kernel
    CHECK(openModelSource((start.folder() / "other").string())->config().family == "attention-lab");
}

TEST_CASE("composed start: what the expression does not name stays, and new parameters start from the beginning",
          "[training][gpu]") {
    const Start start(small("masked-text", "bert"));
    Trainer trainer(start.with({{"attention", "score=learned_cosine, output=gated; mask=window(5)"}}), onOneThread());
    CHECK_THAT(trainer.objective().startSentence(),
               CONTAINS("parameters are the model's; new: blocks.*.attn.output.") && CONTAINS("score.log_scale"));
    CHECK(trainer.objective().isNew("blocks.0.attn.score.log_scale"));
    CHECK_FALSE(trainer.objective().isNew("blocks.0.attn.W_Q"));
    CHECK(sequencesOf(trainer)->config().layers[0].spec.id(Slot::Score) == "learned_cosine");
    CHECK(sequencesOf(trainer)->config().layers[1].spec.id(Slot::Score) == "scaled_dot");
    CHECK(sequencesOf(trainer)->config().positions == Positions::Learned); // BERT's own table
    const auto kept = [&](const char* name) {
        const StartingModel model = openStartingModel({.model = start.path().string()}, taskNamed("masked-text"));
        for (const Trainer::Named& parameter : trainer.parameters())
            if (parameter.name == name) return trainer.read(name) == model.read(name, parameter.shape);
        return false;
    };
    CHECK(kept("blocks.0.attn.W_Q"));
    CHECK(kept("pos_embed.W_pos"));
    CHECK(kept("blocks.1.mlp.W_in"));

    Trainer without(start.with({{"attention", "position=alibi"}}), onOneThread());
    CHECK_THAT(without.objective().startSentence(), CONTAINS("left out: pos_embed.W_pos"));

    // A run continues as it began, whatever its recipe leaves out.
    const Recipe asked = start.with({{"attention", "position=none, normaliser=softmax, mask=longformer(3, 1, 1)"}});
    const fs::path run = start.folder() / "run";
    std::vector<float> weights;
    {
        TrainingRun first(run, asked, onOneThread(), false);
        first.advance();
        first.save();
        weights = first.trainer().read("blocks.0.attn.W_Q");
    }
    TrainingRun again(run, readRecipe(run / "recipe.json"), onOneThread(), true);
    CHECK(again.trainer().read("blocks.0.attn.W_Q") == weights);
    CHECK(sequencesOf(again.trainer())->config().layers[0].spec.mask == MaskExpression::parse("longformer(3, 1, 1)"));
    CHECK(sequencesOf(again.trainer())->config().positions == Positions::None);
}

TEST_CASE("composed start: fewer key/value heads are means of the model's, more are copies", "[training][gpu]") {
    const auto [family, isKept] = GENERATE(std::pair("llama", true), std::pair("gpt2", false));
    INFO(family);
    Recipe recipe = small("reverse", family);
    recipe.architecture.heads = 4;
    const Start start(recipe);
    Trainer trainer(start.with({{"key_value_heads", 2}}), onOneThread());
    CHECK_THAT(trainer.objective().startSentence(),
               CONTAINS(" parameters are the model's; means of the model's key/value heads: blocks.*.attn.W_K"));
    CHECK(sequencesOf(trainer)->config().layers[1].heads().groups == 2);
    CHECK(sequencesOf(trainer)->config().family == (isKept ? "llama" : "attention-lab"));
    const StartingModel model = openStartingModel({.model = start.path().string()}, taskNamed("reverse"));
    const std::vector<float> old = model.read("blocks.1.attn.W_V", {16, 16}), now = trainer.read("blocks.1.attn.W_V");
    REQUIRE(now.size() == 8 * 16);
    for (size_t row = 0; row < 8; ++row) // heads of 4 rows: the first and the second, the third and the fourth
        for (size_t column = 0; column < 16; ++column) {
            const size_t first = (row / 4 * 2 * 4 + row % 4) * 16 + column;
            CHECK(now[row * 16 + column] == Approx((old[first] + old[first + 4 * 16]) / 2).margin(1e-7));
        }
    writeModel(start.folder() / "fewer", trainer);
    const std::vector<int> tokens{5, 7, 6, 8, 5, 9};
    const std::vector<float> fewer = logitsOf(start.folder() / "fewer", tokens);
    CHECK(test::farthest(fewer, logitsOf(start.path(), tokens), 1) > 1e-4); // they are other heads

    // One head for each query head again, from the model with fewer: nothing changes.
    Recipe more = start.with({{"key_value_heads", 4}});
    more.start.model = (start.folder() / "fewer").string();
    more.start.hash.clear();
    Trainer back(more, onOneThread());
    CHECK_THAT(back.objective().startSentence(), CONTAINS("copies of the model's key/value heads"));
    writeModel(start.folder() / "more", back);
    CHECK(test::farthest(logitsOf(start.folder() / "more", tokens), fewer, 1) < 1e-5);
}

TEST_CASE("composed start: positions by distance let the context grow", "[training][gpu]") {
    const auto [family, fields, fits] =
        GENERATE(table<const char*, nlohmann::json, bool>({{"llama", nlohmann::json::object(), true},
                                                           {"gpt2", nlohmann::json::object(), false},
                                                           {"gpt2", {{"attention", "position=alibi"}}, true},
                                                           {"gpt2", {{"attention", "position=rope"}}, true}}));
    INFO(family << " " << fields.dump());
    Recipe recipe = small("text", family);
    recipe.settings = {.values = {{"context", 16}}, .data = {.text = "builtin:stories"}};
    const Start start(recipe);
    Recipe longer = start.with(fields);
    longer.settings.values["context"] = 48;
    longer.settings.data.tokens = kModelTokens;
    if (!fits) {
        CHECK_THAT(sentenceOf([&] { Trainer(longer, onOneThread()); }), CONTAINS("reads at most 16 tokens"));
        return;
    }
    Trainer trainer(longer, onOneThread());
    CHECK(sequencesOf(trainer)->config().context == 48);
    CHECK(startSentence(trainer, onOneThread()).find("own attention cannot read") !=
          (fields.empty() ? 0 : std::string::npos));
    CHECK(std::isfinite(trainer.step().loss));
    writeModel(start.folder() / "longer", trainer);
    CHECK(logitsOf(start.folder() / "longer", std::vector<int>(40, 3)).size() % 40 == 0);
}

TEST_CASE("composed start: what the model cannot become is refused with the nearest that works", "[training]") {
    const Start start(small("reverse", "llama"));
    for (const auto& [field, value] : std::map<std::string, nlohmann::json>{{"layers", 5},
                                                                            {"width", 32},
                                                                            {"heads", 4},
                                                                            {"family", "gpt2"},
                                                                            {"feed_forward", 8},
                                                                            {"attention_only", true},
                                                                            {"bias", true},
                                                                            {"activation", "relu"},
                                                                            {"positions", "none"}}) {
        INFO(field);
        const std::string refusal = start.refusal({{field, value}});
        CHECK_THAT(refusal, CONTAINS(" keeps ") && CONTAINS(value.dump()) && CONTAINS("recipe: " + field) &&
                                CONTAINS("leave " + field + " out"));
    }
    CHECK(start.refusal({{"layers", 2},
                         {"width", 16},
                         {"heads", 2},
                         {"family", "llama"},
                         {"feed_forward", 0},
                         {"key_value_heads", 2}}) == "accepted");
    CHECK_THAT(start.refusal({{"attention", "mask=window(3)"}}),
               CONTAINS("the mask window(3) shows it") && CONTAINS("mask=causal & window(3)"));
    CHECK_THAT(start.refusal({{"attention", "heads=multi_head(8)"}}), CONTAINS("8 heads but the model has 2"));
    CHECK_THAT(start.refusal({{"key_value_heads", 3}}), CONTAINS("3 key/value heads do not divide the model's 2"));
    CHECK_THAT(start.refusal({{"key_value_heads", 1}, {"attention", "heads=multi_head(2)"}}),
               CONTAINS("given beside it") && CONTAINS("heads=grouped_query"));
    CHECK_THAT(start.refusal({{"attention", "position=alib"}}), CONTAINS("alibi"));
    CHECK_THAT(start.refusal({{"attention", "mixer=fnet"}}), CONTAINS("acts on queries and keys, but Fourier (FNet)"));
    const Start translation(small("numbers", "t5"));
    CHECK_THAT(translation.refusal({{"attention", "cross: position=alibi"}}),
               CONTAINS("cross: ALiBi works within one sequence") && CONTAINS("leave it empty"));
}

TEST_CASE("composed start: a vision transformer gets another attention", "[training][gpu]") {
    const Start start(small("shapes", "vit"));
    Trainer same(start.with({}), onOneThread());
    CHECK(imagesOf(same)->config().family == "vit");
    Trainer trainer(start.with({{"attention", "normaliser=linear"}}), onOneThread());
    CHECK(imagesOf(trainer)->config().family == "attention-lab-vit");
    CHECK(imagesOf(trainer)->config().positions == Positions::Learned);
    CHECK(trainer.objective().startSentence().ends_with(" parameters are the model's"));
    CHECK(std::isfinite(trainer.step().loss));
    writeModel(start.folder() / "linear", trainer);
    VisionModel opened(openModelSource((start.folder() / "linear").string()), {.device = onOneThread()});
    CHECK(opened.config().layers[1].spec.id(Slot::Normaliser) == "linear");
    CHECK_THAT(start.refusal({{"patch", 8}}), CONTAINS("recipe: patch"));
}

TEST_CASE("composed start: a Swin model keeps its table of positions unless other positions are named", "[training]") {
    Recipe swin = small("shapes", "vit");
    swin.architecture.pooling = "mean";
    swin.architecture.window = 2;
    swin.architecture.merges = 1;
    const Start start(swin);
    const auto positionsWith = [&](const char* attention) {
        const Trainer trainer(start.with({{"attention", attention}}), onOneThread());
        const bool hasTable = imagesOf(trainer)->config().positions == Positions::Learned;
        const bool isLeftOut = trainer.objective().startSentence().find("pos_embed") != std::string::npos;
        CHECK(hasTable != isLeftOut);
        return hasTable ? "table" : "none";
    };
    CHECK(positionsWith("score=cosine") == std::string("table"));
    CHECK(positionsWith("mask=window(4)") == std::string("table"));
    CHECK(positionsWith("position=alibi") == std::string("none"));
    CHECK(positionsWith("position=none") == std::string("none"));
}

TEST_CASE("composed start: a recipe that names a model says of it only what it demands", "[training]") {
    const Recipe recipe = suggestedRecipe(taskNamed("text"), "builtin:stories");
    const nlohmann::json json = toJson(recipe);
    CHECK_FALSE(json.contains("layers"));
    CHECK(json.at("attention") == "");
    CHECK(recipeFromJson(json, "x") == recipe);
    nlohmann::json asked = json;
    asked["layers"] = 3;
    CHECK(recipeFromJson(asked, "x").start.asked == std::set<std::string, std::less<>>{"layers"});
    CHECK(toJson(recipeFromJson(asked, "x")).at("layers") == 3);
    CHECK(suggestedRecipeWith(R"({"task": "text", "from": "builtin:stories", "text": "builtin:stories"})")
              .start.asked.empty());
    CHECK_THAT(sentenceOf([] { suggestedRecipeWith(R"({"from": "builtin:stories", "lairs": 3})"); }),
               CONTAINS("unknown field \"lairs\""));
}
