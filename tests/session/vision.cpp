#include "engine/inference/vision_model.h"
#include "engine/io/decode_image.h"
#include "engine/models/vision_source.h"
#include "engine/session/vision_session.h"
#include "engine/training/trainer.h"
#include "tests/models/vision_folder.h"
#include "tests/support/catch.h"

#include <algorithm>
#include <cmath>

using namespace attn;
using test::Golden;
using test::kGoldenRoot;

namespace {

std::shared_ptr<const VisionSnapshot> answer(VisionSession& session, const VisionQuery& query) {
    session.show(query);
    REQUIRE(session.waitIdle());
    return session.latest();
}

VisionQuery queryOf(const std::string& model) {
    return {.model = (kGoldenRoot / model).string(), .picture = std::make_shared<const Image>(Golden(model).image())};
}

} // namespace

TEST_CASE("vision session: logits and patterns of a picture are PyTorch's", "[session][vision][gpu]") {
    VisionSession session({.device = {}, .softwareThreads = 0, .validation = true});
    const auto shown = answer(session, queryOf("deit"));
    REQUIRE_FALSE(shown->failure);
    REQUIRE(shown->answer);
    const Golden golden("deit");
    const auto near = [](const std::vector<float>& found, const std::vector<float>& expected) {
        REQUIRE(found.size() == expected.size());
        for (size_t i = 0; i < found.size(); ++i)
            REQUIRE(std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i])) < 1e-4);
    };
    near(shown->answer->logits, golden.values("logits"));
    REQUIRE(static_cast<int>(shown->answer->patterns.size()) == shown->model->layers);
    for (int layer = 0; layer < shown->model->layers; ++layer)
        near(shown->answer->patterns[static_cast<size_t>(layer)].values,
             golden.values("blocks." + std::to_string(layer) + ".attn.hook_pattern"));
    double sum = 0;
    for (const float probability : shown->answer->probabilities) sum += static_cast<double>(probability);
    CHECK(sum == Approx(1).margin(1e-5));
    REQUIRE(shown->rollout);
    CHECK(shown->rollout->values.size() == static_cast<size_t>(shown->model->tokens() * shown->model->tokens()));
}

TEST_CASE("vision session: hidden patches change the answer, and showing them again brings it back",
          "[session][vision][gpu]") {
    VisionSession session({.device = {}, .softwareThreads = 0, .validation = true});
    VisionQuery query = queryOf("vit");
    const auto plain = answer(session, query);
    REQUIRE(plain->answer);
    query.hidden = {0, 1, 2};
    const auto hidden = answer(session, query);
    REQUIRE(hidden->answer);
    CHECK(hidden->answer->logits != plain->answer->logits);
    CHECK(hidden->model == plain->model); // the same, not loaded again
    query.hidden.clear();
    CHECK(answer(session, query)->answer->logits == plain->answer->logits);
    // Only rolled out again.
    query.rollout.fusion = HeadFusion::Maximum;
    const auto fused = answer(session, query);
    CHECK(fused->answer == session.latest()->answer);
    CHECK(fused->rollout->values != plain->rollout->values);
}

TEST_CASE("vision session: what cannot be opened is a sentence, and the next model opens", "[session][vision][gpu]") {
    VisionSession session({.device = {}, .softwareThreads = 0, .validation = true});
    VisionQuery query = queryOf("vit");
    query.model = "/no/such/folder";
    const auto refused = answer(session, query);
    REQUIRE(refused->failure);
    CHECK_FALSE(refused->model);
    CHECK_FALSE(refused->answer);
    CHECK(answer(session, queryOf("dinov2_swiglu"))->answer);
    CHECK_FALSE(session.latest()->failure);
}

TEST_CASE("vision session: rollout by a class is PyTorch's, and every head has a distance", "[session][vision][gpu]") {
    VisionSession session({.device = {}, .softwareThreads = 0, .validation = true});
    VisionQuery query = queryOf("deit");
    const auto plain = answer(session, query);
    REQUIRE(plain->rollout);
    CHECK_FALSE(plain->embedding);
    const Golden golden("deit", "gradients.safetensors");
    query.rolloutClass = static_cast<int>(golden.values("class").front());
    const auto weighted = answer(session, query);
    CHECK(weighted->answer == plain->answer); // not run again
    REQUIRE(weighted->rollout);
    const std::vector<float> expected = golden.values("relevance");
    REQUIRE(weighted->rollout->values.size() == expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
        CHECK(weighted->rollout->values[i] == Approx(expected[i]).margin(1e-4));
    query.rolloutClass.reset();
    CHECK(answer(session, query)->rollout->values == plain->rollout->values);

    const ModelInfo& info = *plain->model;
    REQUIRE(plain->answer->distances.size() == static_cast<size_t>(info.layers));
    for (const auto& layer : plain->answer->distances) {
        REQUIRE(layer.size() == static_cast<size_t>(info.heads));
        for (const float distance : layer)
            CHECK((distance > 0 && distance < 12 * std::sqrt(2.0f))); // 4 x 4 of 4 pixels
    }
}

TEST_CASE("vision session: what a patch is made into is told when asked, once for a model", "[session][vision][gpu]") {
    VisionSession session({.device = {}, .softwareThreads = 0, .validation = true});
    VisionQuery query = queryOf("vit");
    query.embedding = true;
    const auto first = answer(session, query);
    REQUIRE(first->embedding);
    CHECK(first->embedding->similarity.size() == 256);
    query.hidden = {3};
    query.embedding = false;
    CHECK(answer(session, query)->embedding == first->embedding);
    query = queryOf("deit");
    CHECK_FALSE(answer(session, query)->embedding); // another model's
}

TEST_CASE("vision session: another moment of a run takes the place of the one before", "[session][vision][gpu]") {
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
    const auto prediction = [&] { return trainer.predictions(Split::Validation, 0, 1).front(); };
    VisionSession session({.device = {}, .softwareThreads = 0, .validation = true});
    std::shared_ptr<const ModelInfo> first;
    for (int step = 0; step < 3; ++step) {
        trainer.step();
        const VisionQuery query{.model = "runs/shapes",
                                .weights = weightsOf(),
                                .moment = "step " + std::to_string(step + 1),
                                .picture = std::make_shared<const Image>(prediction().example.picture)};
        const auto shown = answer(session, query);
        REQUIRE_FALSE(shown->failure);
        REQUIRE(shown->answer);
        CHECK(shown->query.moment == query.moment);
        CHECK(shown->model->name == "shapes");
        if (!first) first = shown->model;
        CHECK(shown->model == first); // nothing was made anew
        const auto expected = prediction().probabilities;
        REQUIRE(shown->answer->probabilities.size() == expected.size());
        for (size_t i = 0; i < expected.size(); ++i)
            CHECK(static_cast<double>(shown->answer->probabilities[i]) ==
                  Approx(static_cast<double>(expected[i])).margin(1e-5));
    }
    // A model of another shape does not fit into its place.
    const auto other = answer(session, queryOf("vit"));
    REQUIRE(other->answer);
    CHECK(other->model != first);
    CHECK(other->model->labels.front() == "thing 0");
}

TEST_CASE("vision session: the bundled models know most of the pictures they bring along", "[session][vision][gpu]") {
    VisionSession session({.device = {}, .softwareThreads = 0, .validation = true});
    for (const char* model : {"builtin:vit-shapes", "builtin:vit-fashion"}) {
        CAPTURE(std::string(model));
        CHECK(isVisionModel(model));
        const auto examples = examplePictures(model);
        REQUIRE(examples.size() == 6);
        int right = 0;
        for (const std::filesystem::path& path : examples) {
            const auto picture = std::make_shared<const Image>(decodeImage(path));
            const auto shown = answer(session, {.model = model, .picture = picture});
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

TEST_CASE("vision: patterns of windows that are set by hand stay within them, and z is what they mix",
          "[session][vision][gpu]") {
    for (const char* name : {"swin", "swin_padded"}) {
        INFO(name);
        VisionModel model(openVisionSource((kGoldenRoot / name).string()), {.softwareThreads = 0, .validation = true});
        const std::vector<float> patches = model.patchesOf(Golden(name).image());
        const std::vector<float> logits = model.predict(patches);
        for (const int layer : {0, 1}) { // the second one is shifted
            INFO("layer " << layer);
            const std::string attention = "blocks." + std::to_string(layer) + ".attn.";
            const auto captured = [&](const char* hook) { return model.capture(patches, attention + hook).front(); };
            const SitePattern own = model.patternsAndLogits(patches, layer).patterns[static_cast<size_t>(layer)];
            REQUIRE(own.layout.windows);
            const auto places = static_cast<size_t>(own.layout.windows->length()),
                       heads = static_cast<size_t>(own.heads);
            const PatternEdit pin{.site = layer, .head = 1, .kind = PatternEdit::Kind::Pin, .key = 5};
            model.setEdits({{}, {pin}}, patches, {});
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
                            sum += static_cast<double>(
                                       pattern.values[((row / places * heads + head) * places + row % places) * places +
                                                      key]) *
                                   static_cast<double>(
                                       v.values[((row / places * places + key) * heads + head) * width + d]);
                        REQUIRE(z.values[(row * heads + head) * width + d] == Approx(sum).margin(1e-4));
                    }
            CHECK(model.predict(patches) != logits);
            // A token is found in its window.
            model.setEdits({{{.hook = attention + "hook_z", .head = 0, .position = 7}}, {}}, patches, {});
            const auto removed = captured("hook_z");
            const auto place = static_cast<size_t>(own.layout.windows->places[7]);
            for (size_t row = 0; row < rows; ++row) CHECK((removed.values[row * heads * width] == 0) == (row == place));
            model.setEdits({}, {}, {});
            CHECK(model.predict(patches) == logits);
        }
    }
}

TEST_CASE("vision session: stopping ends an analysis that has not begun, and the next one still runs",
          "[session][vision][gpu]") {
    struct Waits : Analysis {
        explicit Waits(std::string name) : name_(std::move(name)) {}
        std::string key() const override { return name_; }
        std::shared_ptr<AnalysisResult> run(RunningModel&, const AnalysisContext& context) const override {
            const bool isEndless = name_ == "first"; // report() throws when it is stopped
            for (int i = 0; i < 100 || isEndless; ++i) context.report(static_cast<float>(i % 100) / 100, "waits");
            return std::make_shared<AnalysisResult>();
        }
        std::string name_;
    };
    VisionSession session({.device = {}, .softwareThreads = 0, .validation = true});
    session.show(queryOf("vit")); // which takes until after what follows
    session.analyse(std::make_shared<Waits>("first"));
    session.stopAnalysis();
    REQUIRE(session.waitIdle());
    CHECK_FALSE(session.latest()->analyses.contains("first"));
    session.analyse(std::make_shared<Waits>("second"));
    REQUIRE(session.waitIdle());
    CHECK(session.latest()->analyses.contains("second"));
    CHECK_FALSE(session.latest()->analysing);
}
