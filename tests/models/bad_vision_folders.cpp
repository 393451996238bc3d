#include "engine/inference/language_model.h"
#include "engine/inference/vision_model.h"
#include "engine/models/model_source.h"
#include "engine/models/preprocessor_config.h"
#include "tests/models/model_folder.h"
#include "tests/models/vision_folder.h"
#include "tests/support/answers.h"

// Each case breaks one thing of a good folder; the sentence must name the file, the thing and the remedy.

using namespace attn;
using namespace attn::test;
using nlohmann::json;

namespace {

std::vector<std::string> warningsOf(const ModelFolder& folder) {
    return openModelSource(folder.path().string())->warnings();
}

} // namespace

TEST_CASE("bad vision folders: every case of bad_vision_folders.json", "[models][vision]") {
    checkAnswers("models/bad_vision_folders.json", "", [](const std::string& given) {
        const json named = json::parse(given);
        ModelFolder folder(named.at("model"));
        folder.change(named);
        std::optional<ImageSize> size;
        if (named.contains("size")) size = {named["size"][0], named["size"][1]};
        return sentenceOf([&] { openModelSource(folder.path().string(), size); });
    });
}

TEST_CASE("bad vision folders: what preprocessor_config.json does not say is told", "[models][vision]") {
    ModelFolder folder("vit");
    fs::remove(folder / "preprocessor_config.json");
    CHECK_THAT(
        warningsOf(folder).front(),
        CONTAINS("preprocessor_config.json is missing: pictures are resized to 16 x 16 bilinearly and each channel "
                 "is scaled to -1..1"));
    CHECK(warningsOf(ModelFolder("timm_vit")).empty()); // timm's config says it
}

TEST_CASE("vision folders: fields of preprocessor_config.json that are not obeyed are named", "[models][vision]") {
    const auto warningsWith = [](const json& fields) {
        ModelFolder folder("vit");
        folder.edit("preprocessor_config.json", [&](json& file) { file.update(fields); });
        return warningsOf(folder);
    };
    CHECK(warningsWith({{"do_convert_rgb", true}, {"do_pad", false}, {"data_format", "channels_first"}}).empty());
    CHECK_THAT(warningsWith({{"do_flip_channel_order", true}}).front(),
               CONTAINS("\"do_flip_channel_order\" is true, which this program does not obey"));
    CHECK_THAT(warningsWith({{"crop_pct", 0.9}}).front(), CONTAINS("\"crop_pct\" is 0.9"));
    CHECK_THAT(warningsWith({{"image_processor_type", "LevitImageProcessor"}}).front(),
               CONTAINS("\"LevitImageProcessor\" is not known here"));
    ModelFolder timm("timm_vit");
    writeFile(timm / "preprocessor_config.json", "{}");
    CHECK_THAT(warningsOf(timm).front(), CONTAINS("preprocessor_config.json is not read"));
}

TEST_CASE("vision folders: an image processor's own defaults hold where its file says nothing", "[models][vision]") {
    const auto read = [](const json& fields) {
        ModelFolder folder("vit");
        writeFile(folder / "preprocessor_config.json", fields.dump());
        ModelSpec model = pictureSpec();
        model.patches.image = {16, 16};
        model.patches.patch = 4;
        return readPreprocessing(folder.path(), json::object(), model).preprocessing;
    };
    const ImagePreprocessing bit = read({{"image_processor_type", "BitImageProcessor"}});
    CHECK(bit.shortestEdge == 224);
    CHECK(bit.crop == ImageSize{224, 224});
    CHECK(bit.filter == ResampleFilter::Bicubic);
    CHECK(bit.mean.front() == 0.48145466);
    const ImagePreprocessing deit = read({{"image_processor_type", "DeiTImageProcessorFast"}});
    CHECK(deit.resize == ImageSize{256, 256});
    CHECK(deit.crop == ImageSize{224, 224});
    const ImagePreprocessing vit = read({{"image_processor_type", "ViTImageProcessor"}, {"crop_size", 12}});
    CHECK(vit.resize == ImageSize{224, 224}); // not the model's own
    CHECK_FALSE(vit.crop);                    // it does not crop unless it is told to
    CHECK(read({{"image_processor_type", "ViTImageProcessor"}, {"crop_size", 12}, {"do_center_crop", true}}).crop ==
          ImageSize{12, 12});
}

TEST_CASE("vision folders: sizes of preprocessor_config.json in every way they are written", "[models][vision]") {
    const auto read = [](const json& fields) {
        ModelFolder folder("vit");
        writeFile(folder / "preprocessor_config.json", fields.dump());
        return openModelSource(folder.path().string())->preprocessing();
    };
    CHECK(read({{"size", 20}}).resize == ImageSize{20, 20});
    CHECK(read({{"size", {{"height", 20}, {"width", 24}}}}).resize == ImageSize{20, 24});
    const ImagePreprocessing edge = read({{"size", {{"shortest_edge", 24}}}, {"crop_size", 16}});
    CHECK(edge.shortestEdge == 24);
    CHECK(edge.crop == ImageSize{16, 16});
    CHECK(read({{"size", 24}, {"crop_size", 16}, {"feature_extractor_type", "CLIPFeatureExtractor"}}).shortestEdge ==
          24);
    CHECK(read({{"size", {{"shortest_edge", 20}}}}).crop == ImageSize{20, 20}); // with a warning
    const ImagePreprocessing bare = read({{"size", 24}, {"default_to_square", false}, {"crop_size", 16}});
    CHECK(bare.shortestEdge == 24);
    CHECK_FALSE(bare.resize);
    CHECK(read({{"size", 24},
                {"default_to_square", true},
                {"crop_size", 16},
                {"image_processor_type", "CLIPImageProcessor"}})
              .resize == ImageSize{24, 24});
    CHECK_FALSE(read({{"size", 16}, {"crop_size", 12}, {"do_center_crop", false}}).crop);
    CHECK_FALSE(read({{"do_resize", false}}).resize);
    CHECK(read({{"do_rescale", false}}).factor == 1);
    CHECK(read({{"do_normalize", false}}).mean.empty());
    CHECK(read({{"image_mean", 0.25}}).mean == std::vector<double>{0.25, 0.25, 0.25});
    CHECK(read(json::object()).filter == ResampleFilter::Bilinear);
}

TEST_CASE("vision folders: a language command says what to use instead", "[models][vision]") {
    for (const auto& [model, title] :
         {std::pair{"vit", "Vision Transformer"}, {"timm_vit", "Vision Transformer of timm"}})
        CHECK_THAT(sentenceOf([&, name = model] { LanguageModel(openModelSource((kGoldenRoot / name).string()), {}); }),
                   CONTAINS("this is a vision model (" + std::string(title) +
                            "); it reads pictures, not text; give it a picture: 'attention-cli classify'"));
    CHECK_THAT(sentenceOf([&] { VisionModel(openModelSource((kGoldenRoot / "gpt2").string()), {}); }),
               CONTAINS("this model reads text, not pictures; leave out --image"));
    CHECK(axisOfModel((kGoldenRoot / "timm_vit").string()) == AxisKind::Patches);
    CHECK(axisOfModel((kGoldenRoot / "gpt2").string()) == AxisKind::Tokens);
    CHECK_FALSE(axisOfModel("/nowhere"));
}

TEST_CASE("vision folders: labels come from id2label", "[models][vision]") {
    CHECK(openModelSource((kGoldenRoot / "vit").string())->config().classReadout().labels.at(6) == "thing 6");
    CHECK(openModelSource((kGoldenRoot / "timm_vit").string())->config().classReadout().labels.empty());
    const auto refused = [](const json& labels) {
        ModelFolder folder("vit");
        folder.edit("config.json", [&](json& config) { config["id2label"] = labels; });
        return sentenceOf([&] { openModelSource(folder.path().string()); });
    };
    json six = json::object();
    for (int id = 0; id < 6; ++id) six[std::to_string(id)] = "x";
    CHECK_THAT(refused(six), CONTAINS("\"id2label\" names 6 classes, but the classifier has 7"));
    CHECK_THAT(refused({{"2", "cat"}, {"1", 4}}), CONTAINS("\"id2label\" has no text for the class 0"));
    CHECK_THAT(refused({"a", "b", "c"}), CONTAINS("\"id2label\" is [\"a\",\"b\",\"c\"] but must be an object"));
    CHECK(refused(nullptr) == "accepted");
}
