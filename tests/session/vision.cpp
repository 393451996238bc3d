#include "engine/analysis/attention_rollout.h"
#include "engine/analysis/patch_embedding.h"
#include "engine/inference/vision_model.h"
#include "engine/io/decode_image.h"
#include "engine/training/answers.h"
#include "tests/models/vision_folder.h"
#include "tests/session/session_test.h"

#include <atomic>

using namespace attn;
using namespace attn::test;

namespace {

using Shown = std::shared_ptr<const Snapshot>;

GivenPicture pictureOf(const std::string& model) {
    return {.image = std::make_shared<const Image>(Golden(model).image())};
}

Shown open(Session& session, const std::string& model) {
    return after(session,
                 OpenModelCommand{.path = (kGoldenRoot / model).string(), .given = {.picture = pictureOf(model)}});
}

const TokenMap& rollout(Session& session, const RolloutAnalysis& analysis) {
    const Shown shown = after(session, RunAnalysisCommand{std::make_shared<RolloutAnalysis>(analysis)});
    INFO((shown->failure ? shown->failure->sentence() : std::string()));
    REQUIRE_FALSE(shown->failure);
    return static_cast<const Rollout&>(*shown->analyses.at("rollout")).map;
}

bool areNear(const std::vector<float>& found, const std::vector<float>& expected) {
    return std::ranges::equal(found, expected, [](float a, float b) {
        return std::abs(static_cast<double>(a) - static_cast<double>(b)) < 1e-4; // as all goldens of float32
    });
}

} // namespace

TEST_CASE("pictures: logits and patterns are PyTorch's", "[session][vision][gpu]") {
    Session session(kTestDevice);
    const Shown shown = open(session, "deit");
    REQUIRE_FALSE(shown->failure);
    REQUIRE(shown->answer);
    const Golden golden("deit");
    CHECK(areNear(shown->answer->logits, golden.values("logits")));
    REQUIRE(static_cast<int>(shown->answer->patterns.size()) == shown->model->layers);
    for (int layer = 0; layer < shown->model->layers; ++layer)
        CHECK(areNear(shown->answer->patterns[static_cast<size_t>(layer)].values,
                      golden.values("blocks." + std::to_string(layer) + ".attn.hook_pattern")));
    double sum = 0;
    for (const float probability : shown->answer->probabilities) sum += static_cast<double>(probability);
    CHECK(sum == Approx(1).margin(1e-5));
}

TEST_CASE("pictures: hidden patches change the answer, and showing them again brings it back",
          "[session][vision][gpu]") {
    Session session(kTestDevice);
    const Shown plain = open(session, "vit");
    REQUIRE(plain->answer);
    GivenPicture picture = *plain->picture;
    picture.hidden = {0, 1, 2};
    const Shown hidden = after(session, SetPictureCommand{picture});
    REQUIRE(hidden->answer);
    CHECK(hidden->answer->logits != plain->answer->logits);
    CHECK(hidden->model == plain->model); // the same, not loaded again
    CHECK(hidden->sequenceVersion > plain->sequenceVersion);
    picture.hidden.clear();
    CHECK(after(session, SetPictureCommand{picture})->answer->logits == plain->answer->logits);
}

TEST_CASE("pictures: what cannot be opened is a sentence, and the open model stays", "[session][vision][gpu]") {
    Session session(kTestDevice);
    const Shown first = open(session, "vit");
    const Shown refused = after(session, OpenModelCommand{.path = "/no/such/folder"});
    REQUIRE(refused->failure);
    CHECK(refused->model == first->model);
    CHECK(open(session, "dinov2_swiglu")->answer);
    CHECK_FALSE(session.latest()->failure);
}

TEST_CASE("pictures: a model of text and one of pictures take each other's place", "[session][vision][gpu]") {
    Session session(kTestDevice);
    Shown shown = after(session, OpenModelCommand{.path = "builtin:induction"});
    REQUIRE(shown->sequence);
    // A model of text takes no picture.
    shown = after(session, SetPictureCommand{pictureOf("vit")});
    REQUIRE(shown->failure);
    CHECK(shown->sequence);
    shown = open(session, "vit");
    REQUIRE(shown->answer);
    CHECK_FALSE(shown->sequence);
    CHECK_FALSE(shown->grid);
    // A vision model takes no prompt and writes nothing.
    for (const Command& command : {Command(SetPromptCommand{{.text = "1,2"}}), Command(GenerateCommand{}),
                                   Command(CellRequest{}), Command(CaptureInputsCommand{})}) {
        shown = after(session, command);
        REQUIRE(shown->failure);
        CHECK(shown->answer);
    }
    // Views of text that panels still ask for do no harm.
    const uint64_t failures = shown->failureCount;
    CHECK(after(session, PatternRequest{})->failureCount == failures);
    shown = after(session, OpenModelCommand{.path = "builtin:induction"});
    CHECK_FALSE(shown->failure);
    CHECK(shown->sequence);
    CHECK_FALSE(shown->answer);
    CHECK_FALSE(shown->picture);
}

TEST_CASE("pictures: what was asked of a text while a model of pictures was read does not fail over the picture",
          "[session][vision][gpu]") {
    std::atomic<bool> isAsked = false; // before the session, whose thread sets it
    Session session(kTestDevice);
    REQUIRE(after(session, OpenModelCommand{.path = kInduction, .given = {.text = {.text = "abab"}}})->sequence);
    session.setListener([&] {
        if (session.latest()->status.activity == Activity::Loading && !isAsked.exchange(true))
            session.post(GenerateCommand{});
    });
    const Shown shown = open(session, "vit");
    session.setListener({});
    CHECK(isAsked);
    REQUIRE(shown->answer);
    CHECK_FALSE(shown->failure);
    CHECK(shown->failureCount == 0);
    CHECK_THAT(failureOf(session, GenerateCommand{}), CONTAINS("this needs a model of text"));
}

TEST_CASE("pictures: changes, the original run and both are those of the model", "[session][vision][gpu]") {
    Session session(kTestDevice);
    const Shown plain = open(session, "vit");
    Changes changes;
    changes.setGate(0, 1, 0);
    changes.valueChanges.push_back({.hook = "blocks.1.hook_mlp_out"});
    VisionModel model(openModelSource((kGoldenRoot / "vit").string()), {.device = kTestDevice});
    const std::vector<float> patches = model.patchesOf(*plain->picture->image);
    model.setChanges(changes, patches);
    const std::vector<float> expected = model.predict(patches);
    CHECK(expected != plain->answer->logits);

    const auto post = [&](const Changes& each) {
        return after(session, SetChangesCommand{std::make_shared<Changes>(each)});
    };
    Shown shown = post(changes);
    REQUIRE_FALSE(shown->failure);
    CHECK(shown->isChanged);
    CHECK(shown->answer->logits == expected);
    CHECK(shown->originalAnswer->logits == plain->answer->logits);
    shown = after(session, ShowRunCommand{ShownRun::Original});
    CHECK_FALSE(shown->isChanged);
    CHECK(shown->answer->logits == plain->answer->logits);
    CHECK(*shown->changes == changes); // they are kept
    shown = after(session, ShowRunCommand{ShownRun::Difference});
    CHECK(shown->answer->logits == expected);
    CHECK(shown->originalAnswer->logits == plain->answer->logits);
    // Analyses run on both.
    const TokenMap& map = rollout(session, {});
    shown = session.latest();
    REQUIRE(shown->originalAnalyses.contains("rollout"));
    CHECK(static_cast<const Rollout&>(*shown->originalAnalyses.at("rollout")).map.values != map.values);
    CHECK(shown->answer->logits == expected);
    shown = post({});
    CHECK_FALSE(shown->originalAnswer);
    CHECK(shown->answer->logits == plain->answer->logits);
}

TEST_CASE("pictures: rollout by a class is PyTorch's, and every head has a distance", "[session][vision][gpu]") {
    Session session(kTestDevice);
    const Shown plain = open(session, "deit");
    const auto unweighted = rollout(session, {}).values;
    CHECK(unweighted.size() == static_cast<size_t>(plain->model->tokens() * plain->model->tokens()));
    const Golden golden("deit", "gradients.safetensors");
    RolloutAnalysis weighted;
    weighted.target = LogitTarget{.token = static_cast<int>(golden.values("class").front())};
    CHECK(areNear(rollout(session, weighted).values, golden.values("relevance")));
    CHECK(session.latest()->answer == plain->answer); // not run again
    CHECK(rollout(session, {}).values == unweighted);

    const ModelInfo& info = *plain->model;
    REQUIRE(plain->answer->distances.size() == static_cast<size_t>(info.layers));
    for (const auto& layer : plain->answer->distances) {
        REQUIRE(layer.size() == static_cast<size_t>(info.heads));
        for (const float distance : layer)
            CHECK((distance > 0 && distance < 12 * std::sqrt(2.0f))); // 4 x 4 of 4 pixels
    }
}

TEST_CASE("pictures: another checkpoint of a run takes the place of the one before", "[session][vision][gpu]") {
    Recipe recipe{.task = "shapes", .batch = 4};
    recipe.settings.values = {{"odd", 1}, {"arrow", 0}, {"shapes", 1}};
    recipe.architecture = {.family = "vit", .layers = 1, .heads = 2, .width = 16, .activation = "gelu", .patch = 16};
    Trainer trainer(recipe, {.softwareThreads = 0, .validation = true});
    const auto model = trainer.objective().describe();
    const auto weightsOf = [&] {
        auto set = std::make_shared<WeightSet>(WeightSet{.model = model, .values = {}});
        for (const Trainer::Named& parameter : trainer.parameters())
            set->values[parameter.name] = trainer.read(parameter.name);
        return set;
    };
    const auto prediction = [&] { return predictionsOf(trainer, Split::Validation, 0, 1).front(); };
    Session session(kTestDevice);
    std::shared_ptr<const ModelInfo> first;
    for (int step = 0; step < 3; ++step) {
        trainer.step();
        session.post(ShowWeightsCommand{
            .weights = weightsOf(), .run = "runs/shapes", .title = "step " + std::to_string(step + 1)});
        const Shown shown =
            after(session, SetPictureCommand{{.image = std::make_shared<const Image>(prediction().example.picture)}});
        REQUIRE_FALSE(shown->failure);
        REQUIRE(shown->answer);
        CHECK(shown->shown->title == "step " + std::to_string(step + 1));
        CHECK(shown->model->name == "shapes");
        if (!first) first = shown->model;
        CHECK(shown->model == first); // nothing was made again
        const auto expected = prediction().said;
        REQUIRE(shown->answer->probabilities.size() == expected.size());
        for (size_t i = 0; i < expected.size(); ++i)
            CHECK(static_cast<double>(shown->answer->probabilities[i]) ==
                  Approx(static_cast<double>(expected[i])).margin(1e-5));
    }
    // A model of another shape does not fit into its place.
    const Shown other = open(session, "vit");
    REQUIRE(other->answer);
    CHECK(other->model != first);
    CHECK(other->model->labels.front() == "thing 0");
}

TEST_CASE("pictures: the bundled models know most of the pictures they bring along", "[session][vision][gpu]") {
    Session session(kTestDevice);
    for (const char* model : {"builtin:vit-shapes", "builtin:vit-fashion"}) {
        CAPTURE(std::string(model));
        CHECK(axisOfModel(model) == AxisKind::Patches);
        const auto examples = examplePictures(model);
        REQUIRE(examples.size() == 6);
        session.post(OpenModelCommand{.path = model});
        int right = 0;
        for (const std::filesystem::path& path : examples) {
            const Shown shown =
                after(session, SetPictureCommand{{.image = std::make_shared<const Image>(decodeImage(path))}});
            REQUIRE(shown->answer);
            const auto& probabilities = shown->answer->probabilities;
            std::string label = shown->model->labelOf(
                static_cast<int>(std::ranges::max_element(probabilities) - probabilities.begin()));
            std::ranges::replace(label, '/', '-'); // as files are named: "1 T-shirt-top"
            right += path.stem().string().substr(2) == label ? 1 : 0;
        }
        CHECK(right >= 5);
    }
}

TEST_CASE("pictures: another picture and Stop end an analysis, and the next one still runs", "[session][vision][gpu]") {
    struct Nothing : AnalysisResult {
        void count(FiniteCount&) const override {}
    };
    struct Waits : Analysis {
        explicit Waits(std::string name) : name_(std::move(name)) {}
        std::string key() const override { return name_; }
        std::shared_ptr<AnalysisResult> run(RunningModel&, const AnalysisContext& context) const override {
            const bool isEndless = name_ == "endless"; // report() throws when it is stopped
            for (int i = 0; i < 100 || isEndless; ++i) context.report(static_cast<float>(i % 100) / 100, "waits");
            return std::make_shared<Nothing>();
        }
        std::string name_;
    };
    Session session(kTestDevice);
    open(session, "vit");
    session.post(RunAnalysisCommand{std::make_shared<Waits>("endless")});
    GivenPicture picture = pictureOf("vit");
    picture.hidden = {3};
    Shown shown = after(session, SetPictureCommand{picture});
    CHECK_FALSE(shown->analyses.contains("endless"));
    CHECK(shown->picture->hidden == std::vector{3});
    session.post(RunAnalysisCommand{std::make_shared<Waits>("endless")});
    shown = after(session, StopCommand{});
    CHECK_FALSE(shown->failure);
    CHECK_FALSE(shown->analyses.contains("endless"));
    shown = after(session, RunAnalysisCommand{std::make_shared<Waits>("second")});
    CHECK(shown->analyses.contains("second"));
    CHECK(shown->status.activity == Activity::Idle);
    shown = after(session, RunAnalysisCommand{std::make_shared<PatchEmbeddingAnalysis>()});
    CHECK(static_cast<const PatchEmbeddingMaps&>(*shown->analyses.at("patch_embedding")).similarity.size() == 256);
}

TEST_CASE("vision: patterns of windows that are set by hand stay within them, and z is what they mix",
          "[session][vision][gpu]") {
    const char* name = GENERATE("swin", "swin_padded");
    INFO(name);
    VisionModel model(openModelSource((kGoldenRoot / name).string()),
                      {.device = {.softwareThreads = 0, .validation = true}});
    const std::vector<float> patches = model.patchesOf(Golden(name).image());
    const std::vector<float> logits = model.predict(patches);
    for (const int layer : {0, 1}) { // the second one is shifted
        INFO("layer " << layer);
        const std::string attention = "blocks." + std::to_string(layer) + ".attn.";
        const auto captured = [&](const char* hook) { return model.capture(patches, attention + hook).front(); };
        const SitePattern own = model.patternsAndLogits(patches, layer).patterns[static_cast<size_t>(layer)];
        REQUIRE(own.layout.windows);
        const auto places = static_cast<size_t>(own.layout.windows->length()), heads = static_cast<size_t>(own.heads);
        const PatternChange pin{.site = layer, .head = 1, .kind = PatternChange::Kind::Pin, .key = 5};
        model.applyChanges({{}, {pin}}, patches, {});
        const SitePattern changed = model.patternsAndLogits(patches, layer).patterns[static_cast<size_t>(layer)];
        int set = 0;
        own.layout.forRows([&](int64_t query, int64_t first, std::span<const int32_t> keys) {
            INFO("query " << query);
            size_t at = 0;
            while (at < keys.size() && keys[at] != pin.key) ++at;
            // What is hidden in a window has no weight of its own.
            const bool sees = at < keys.size() && own.values[own.at(1, first + static_cast<int64_t>(at))] > 0;
            set += sees;
            for (size_t key = 0; key < keys.size(); ++key) {
                const int64_t cell = first + static_cast<int64_t>(key);
                const float expected = sees ? (key == at ? 1.0f : 0.0f) : own.values[own.at(1, cell)];
                CHECK(changed.values[changed.at(1, cell)] == expected);
                CHECK(changed.values[changed.at(0, cell)] == own.values[own.at(0, cell)]);
            }
        });
        CHECK(set > 1);
        CHECK(set <= static_cast<int>(places));
        const auto v = captured("hook_v"), z = captured("hook_z"), pattern = captured("hook_pattern");
        const auto width = static_cast<size_t>(v.shape[2]), rows = static_cast<size_t>(v.shape[0]);
        for (size_t row = 0; row < rows; ++row)
            for (size_t head = 0; head < heads; ++head)
                for (size_t d = 0; d < width; ++d) {
                    double sum = 0;
                    for (size_t key = 0; key < places; ++key)
                        sum +=
                            static_cast<double>(
                                pattern
                                    .values[((row / places * heads + head) * places + row % places) * places + key]) *
                            static_cast<double>(v.values[((row / places * places + key) * heads + head) * width + d]);
                    REQUIRE(z.values[(row * heads + head) * width + d] == Approx(sum).margin(1e-4));
                }
        CHECK(model.predict(patches) != logits);
        // A token is found in its window.
        model.applyChanges({{{.hook = attention + "hook_z", .head = 0, .position = 7}}, {}}, patches, {});
        const auto removed = captured("hook_z");
        const auto place = static_cast<size_t>(own.layout.windows->places[7]);
        for (size_t row = 0; row < rows; ++row) CHECK((removed.values[row * heads * width] == 0) == (row == place));
        model.applyChanges({}, {}, {});
        CHECK(model.predict(patches) == logits);
    }
}
