#include "engine/models/model_source.h"
#include "engine/models/preprocessor_config.h"
#include "engine/models/vision_source.h"
#include "tests/models/vision_folder_copy.h"

// Each case breaks one thing of a good folder; the sentence must name the file, the thing and the remedy.

using namespace attn;
using namespace attn::test;
using nlohmann::json;

namespace {

template <class Change>
std::string afterVisionChange(const std::string& model, const Change& change, std::optional<ImageSize> size = {}) {
    VisionFolderCopy folder(model);
    change(folder);
    return sentenceOf([&] { openVisionSource(folder.path().string(), size); });
}

std::string withVisionField(const std::string& model, const char* field, const json& value) {
    return afterVisionChange(
        model, [&](auto& folder) { folder.edit("config.json", [&](json& config) { config[field] = value; }); });
}

std::string withPreprocessor(const char* field, const json& value) {
    return afterVisionChange("vit", [&](auto& folder) {
        folder.edit("preprocessor_config.json", [&](json& config) { config[field] = value; });
    });
}

std::vector<std::string> warningsOf(const VisionFolderCopy& folder) {
    return openVisionSource(folder.path().string())->warnings();
}

} // namespace

TEST_CASE("bad vision folders: fields of config.json", "[models][vision]") {
    CHECK_THAT(withVisionField("vit", "num_channels", 4),
               CONTAINS("config.json: \"num_channels\" is 4 but pictures have 3 channels (colour) or 1 (grey)"));
    CHECK_THAT(
        withVisionField("vit", "num_channels", 1),
        CONTAINS("tensor \"vit.embeddings.patch_embeddings.projection.weight\" is [24, 3, 4, 4] but the config asks "
                 "for [24, 16]"));
    CHECK_THAT(withVisionField("vit", "image_size", 18),
               CONTAINS("\"image_size\" is 18 x 18, which patches of 4 x 4 do not divide"));
    CHECK_THAT(
        withVisionField("vit", "image_size", 20),
        CONTAINS("tensor \"vit.embeddings.position_embeddings\" is [1, 17, 24] but the config asks for [26, 24]"));
    CHECK_THAT(withVisionField("vit", "image_size", json::array({16, 16, 3})),
               CONTAINS("must be a list of a height and a width"));
    CHECK_THAT(withVisionField("vit", "patch_size", json::array({4, 2})),
               CONTAINS("only square patches are supported"));
    CHECK_THAT(withVisionField("vit", "num_attention_heads", 5),
               CONTAINS("\"num_attention_heads\" is 5, which does not divide"));
    CHECK_THAT(withVisionField("vit", "hidden_act", "selu"), CONTAINS("the unknown activation \"selu\""));
    CHECK_THAT(withVisionField("dinov2_swiglu", "mlp_ratio", 0), CONTAINS("\"mlp_ratio\" leaves no room"));
    CHECK_THAT(
        withVisionField("vit", "model_type", "resnet"),
        CONTAINS("not a supported vision model; supported: vit, deit, dinov2, dinov2_with_registers, swin, timm_vit"));
    CHECK_THAT(withVisionField("timm_vit", "global_pool", "map"),
               CONTAINS("\"global_pool\" is \"map\"; supported: token, avg"));
    CHECK(withVisionField("vit", "image_size", json::array({16, 16})) == "accepted");
}

TEST_CASE("bad vision folders: stages and windows of a Swin Transformer", "[models][vision]") {
    CHECK_THAT(withVisionField("swin", "depths", 2), CONTAINS("\"depths\" is not a list of 1 to 8 whole numbers"));
    CHECK_THAT(withVisionField("swin", "depths", json::array({2, 0})), CONTAINS("values other than whole numbers"));
    CHECK_THAT(withVisionField("swin", "num_heads", json::array({2})), CONTAINS("has 1 stages, but depths has 2"));
    CHECK_THAT(withVisionField("swin", "num_heads", json::array({3, 4})), CONTAINS("does not divide the width 16"));
    CHECK_THAT(withVisionField("swin", "mlp_ratio", 0), CONTAINS("\"mlp_ratio\" leaves no room"));
    CHECK_THAT(withVisionField("swin", "mlp_ratio", 1e30), CONTAINS("\"mlp_ratio\""));
    CHECK_THAT(withVisionField("swin", "depths", json::array({2, 3})), CONTAINS("encoder.layers.1.blocks.2"));
    const std::string table = "swin.encoder.layers.0.blocks.1.attention.self.relative_position_bias_table";
    CHECK_THAT(
        afterVisionChange("swin",
                          [&](auto& folder) {
                              folder.editHeader([&](json& header) { header[table]["shape"] = json::array({14, 7}); });
                          }),
        CONTAINS("has 14 rows, which is not the square of an odd number"));
    CHECK_THAT(
        afterVisionChange("swin", [&](auto& folder) { folder.editHeader([&](json& header) { header.erase(table); }); }),
        CONTAINS("tensor \"" + table.substr(5) + "\" is missing"));
    CHECK(withVisionField("swin", "image_size", 14) == "accepted"); // its preprocessing makes 16 of all pictures
}

TEST_CASE("bad vision folders: tensors that are missing or of a variant that is not supported", "[models][vision]") {
    CHECK_THAT(afterVisionChange("deit",
                                 [](auto& folder) {
                                     folder.editHeader(
                                         [](json& header) { header.erase("deit.embeddings.distillation_token"); });
                                 }),
               CONTAINS("tensor \"embeddings.distillation_token\" is missing"));
    CHECK_THAT(afterVisionChange("vit",
                                 [](auto& folder) {
                                     folder.editHeader([](json& header) {
                                         header.erase("vit.encoder.layer.1.attention.attention.key.bias");
                                     });
                                 }),
               CONTAINS("encoder.layer.1.attention.attention.key.bias\" is missing"));
    CHECK_THAT(afterVisionChange("timm_vit",
                                 [](auto& folder) {
                                     folder.editHeader([](json& header) {
                                         header["blocks.0.attn.q_norm.weight"] = header["norm.weight"];
                                         header.erase("norm.weight");
                                     });
                                 }),
               CONTAINS("\"blocks.0.attn.q_norm.weight\" belongs to a variant that is not supported"));
}

TEST_CASE("bad vision folders: a size that patches do not divide", "[models][vision]") {
    const auto nothing = [](auto&) {};
    CHECK_THAT(
        afterVisionChange("vit", nothing, ImageSize{30, 32}),
        CONTAINS(
            "a picture of 32 x 30 pixels cannot be cut into patches of 4 x 4; choose sides that are multiples of 4"));
    CHECK_THAT(withPreprocessor("size", 18),
               CONTAINS("a picture of 18 x 18 pixels cannot be cut into patches of 4 x 4"));
}

TEST_CASE("bad vision folders: preprocessor_config.json", "[models][vision]") {
    VisionFolderCopy folder("vit");
    fs::remove(folder / "preprocessor_config.json");
    CHECK_THAT(
        warningsOf(folder).front(),
        CONTAINS("preprocessor_config.json is missing: pictures are resized to 16 x 16 bilinearly and each channel "
                 "is scaled to -1..1"));
    CHECK(warningsOf(VisionFolderCopy("timm_vit")).empty()); // timm's config says it
    CHECK_THAT(withPreprocessor("image_mean", json::array({0.5, 0.5})),
               CONTAINS("preprocessor_config.json: \"image_mean\" has 2 numbers but the model reads 3 channels"));
    CHECK_THAT(withPreprocessor("image_std", json::array({0.5, 0, 0.5})),
               CONTAINS("\"image_std\" contains 0, which is not a valid number"));
    CHECK_THAT(withPreprocessor("resample", 5), CONTAINS("\"resample\" is 5; supported: 0 nearest, 1 Lanczos"));
    const auto withCropShare = [](double share) {
        return afterVisionChange("timm_vit", [&](auto& changed) {
            changed.edit("config.json", [&](json& config) { config["pretrained_cfg"]["crop_pct"] = share; });
        });
    };
    CHECK_THAT(withCropShare(0), CONTAINS("\"crop_pct\" is 0 but must be above 0 and at most 1"));
    CHECK_THAT(withCropShare(1e-300), CONTAINS("which makes pictures larger than 8192 pixels"));
    CHECK_THAT(withPreprocessor("resample", 2.5), CONTAINS("\"resample\" is 2.5; supported"));
    CHECK_THAT(withPreprocessor("resample", -1e300), CONTAINS("\"resample\" is -1e+300; supported"));
    CHECK_THAT(withPreprocessor("size", json{{"longest_edge", 16}}),
               CONTAINS("\"size\" is {\"longest_edge\":16}; supported:"));
    CHECK_THAT(withPreprocessor("size", 0), CONTAINS("\"size\" is 0 but must be a whole number"));
    CHECK_THAT(afterVisionChange("vit", [](auto& broken) { writeFile(broken / "preprocessor_config.json", "{"); }),
               CONTAINS("preprocessor_config.json: the file is not valid JSON"));
}

TEST_CASE("vision folders: sizes of preprocessor_config.json in every way they are written", "[models][vision]") {
    const auto read = [](const json& fields) {
        VisionFolderCopy folder("vit");
        writeFile(folder / "preprocessor_config.json", fields.dump());
        return openVisionSource(folder.path().string())->preprocessing();
    };
    CHECK(read({{"size", 20}}).resize == ImageSize{20, 20});
    CHECK(read({{"size", {{"height", 20}, {"width", 24}}}}).resize == ImageSize{20, 24});
    const ImagePreprocessing edge = read({{"size", {{"shortest_edge", 24}}}, {"crop_size", 16}});
    CHECK(edge.shortestEdge == 24);
    CHECK(edge.crop == ImageSize{16, 16});
    CHECK(read({{"size", 24}, {"crop_size", 16}, {"feature_extractor_type", "CLIPFeatureExtractor"}}).shortestEdge ==
          24);
    CHECK(read({{"size", {{"shortest_edge", 20}}}}).crop == ImageSize{20, 20}); // with a warning
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
        CHECK_THAT(sentenceOf([&, name = model] { openModelSource((kGoldenRoot / name).string()); }),
                   CONTAINS("this is a vision model (" + std::string(title) +
                            "); it reads pictures, not text; give it a picture: 'attention-cli classify'"));
    CHECK(isVisionModel((kGoldenRoot / "timm_vit").string()));
    CHECK_FALSE(isVisionModel((kGoldenRoot / "gpt2").string()));
    CHECK_FALSE(isVisionModel("/nowhere"));
}

TEST_CASE("vision folders: labels come from id2label", "[models][vision]") {
    CHECK(openVisionSource((kGoldenRoot / "vit").string())->labels().at(6) == "thing 6");
    CHECK(openVisionSource((kGoldenRoot / "timm_vit").string())->labels().empty());
    VisionFolderCopy folder("vit");
    folder.edit("config.json", [](json& config) {
        config["id2label"] = {{"2", "cat"}, {"999", "x"}, {"y", "z"}, {"1", 4}};
    });
    const auto labels = openVisionSource(folder.path().string())->labels();
    CHECK(labels == std::vector<std::string>{"", "", "cat", "", "", "", ""});
}

TEST_CASE("bad vision folders: more tokens than anything could run are refused before anything is built",
          "[models][vision]") {
    const auto sized = [](const std::string& model, int64_t image, int64_t patch) {
        return afterVisionChange(model, [&](auto& folder) {
            folder.edit("config.json", [&](json& config) {
                config["image_size"] = image;
                config["patch_size"] = patch;
            });
        });
    };
    CHECK_THAT(sized("vit", 8000, 32), // 250 x 250 patches and CLS
               CONTAINS("config.json: pictures of 8000 x 8000 pixels give 62501 tokens") &&
                   CONTAINS("choose smaller pictures"));
    CHECK_THAT(withVisionField("vit", "num_hidden_layers", 2000), CONTAINS("\"num_hidden_layers\" is 2000"));
    CHECK_THAT(afterVisionChange(
                   "vit", [](auto&) {}, ImageSize{1024, 1024}),
               CONTAINS("pictures of 1024 x 1024 pixels give 65537 tokens"));
    CHECK_THAT(sized("vit", 512, 4), CONTAINS("give 16385 tokens"));
    CHECK_THAT(sized("vit", 504, 4), CONTAINS("but the config asks for")); // it was built, and then compared
}
