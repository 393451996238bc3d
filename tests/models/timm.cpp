#include "engine/inference/vision_model.h"
#include "engine/io/tensor_writer.h"
#include "engine/models/timm_architectures.h"
#include "tests/models/vision_folder.h"
#include "tests/support/farthest.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>
#include <numeric>
#include <random>

// Folders of timm: what names stand for, and small models against a plain computation in double precision.

using namespace attn;
using namespace attn::test;
using nlohmann::json;

namespace {

struct Made {
    std::vector<int64_t> shape;
    std::vector<float> values;
};

/// The parts of a small vision transformer of timm.
struct Small {
    int64_t width = 64, layers = 2, patch = 4, side = 4, hidden = 96, classes = 5; ///< side: patches of a row
    bool hasClass = true, hasPrefixPositions = true, normAfterPooling = false, hasFinalNorm = true, isRms = false,
         isGated = false;
    int64_t registers = 0;
    std::map<std::string, Made> tensors{};

    int64_t prefix() const { return (hasClass ? 1 : 0) + registers; }

    void fill() {
        std::mt19937 random(7);
        std::normal_distribution<double> normal;
        const auto put = [&](const std::string& name, std::vector<int64_t> shape, double mean, double deviation) {
            Made& made = tensors[name];
            made.shape = std::move(shape);
            made.values.resize(static_cast<size_t>(Shape(made.shape).elements()));
            for (float& value : made.values) value = static_cast<float>(mean + deviation * normal(random));
        };
        const auto norm = [&](const std::string& name) {
            put(name + ".weight", {width}, 1, 0.3);
            if (!isRms) put(name + ".bias", {width}, 0, 0.3);
        };
        const auto linear = [&](const std::string& name, int64_t to, int64_t from) {
            put(name + ".weight", {to, from}, 0, 1.2 / std::sqrt(static_cast<double>(from)));
            put(name + ".bias", {to}, 0, 0.2);
        };
        put("patch_embed.proj.weight", {width, 3, patch, patch}, 0, 0.2);
        put("patch_embed.proj.bias", {width}, 0, 0.2);
        if (hasClass) put("cls_token", {1, 1, width}, 0, 0.5);
        if (registers > 0) put("reg_token", {1, registers, width}, 0, 0.5);
        put("pos_embed", {1, side * side + (hasPrefixPositions ? prefix() : 0), width}, 0, 0.5);
        for (int64_t layer = 0; layer < layers; ++layer) {
            const std::string at = fmt::format("blocks.{}.", layer);
            norm(at + "norm1");
            norm(at + "norm2");
            linear(at + "attn.qkv", 3 * width, width);
            linear(at + "attn.proj", width, width);
            linear(at + "mlp.fc1", (isGated ? 2 : 1) * hidden, width);
            linear(at + "mlp.fc2", width, hidden);
        }
        if (hasFinalNorm) norm(normAfterPooling ? "fc_norm" : "norm");
        linear("head", classes, width);
    }
};

using Rows = std::vector<std::vector<double>>;

class Reference {
public:
    Reference(const Small& model, int64_t heads, double (*activation)(double))
        : model_(model), heads_(heads), activation_(activation) {}

    /// @param pixels [3, side, side]  @param poolsMean of the patches; else the first token
    std::vector<double> logits(const std::vector<double>& pixels, bool poolsMean) const {
        Rows x = embedded(pixels);
        for (int64_t layer = 0; layer < model_.layers; ++layer) {
            const std::string at = fmt::format("blocks.{}.", layer);
            add(x, linear(attention(normed(x, at + "norm1"), at), at + "attn.proj"));
            add(x, linear(active(linear(normed(x, at + "norm2"), at + "mlp.fc1")), at + "mlp.fc2"));
        }
        if (model_.hasFinalNorm && !model_.normAfterPooling) x = normed(x, "norm");
        Rows pooled{x.front()};
        if (poolsMean) {
            const auto first = static_cast<size_t>(model_.prefix());
            std::ranges::fill(pooled.front(), 0.0);
            for (size_t row = first; row < x.size(); ++row)
                for (size_t c = 0; c < x[row].size(); ++c)
                    pooled.front()[c] += x[row][c] / static_cast<double>(x.size() - first);
        }
        if (model_.normAfterPooling) pooled = normed(pooled, "fc_norm");
        return linear(pooled, "head").front();
    }

private:
    const std::vector<float>& of(const std::string& name) const { return model_.tensors.at(name).values; }
    double at(const std::string& name, size_t i) const { return static_cast<double>(of(name)[i]); }

    Rows embedded(const std::vector<double>& pixels) const {
        const auto C = static_cast<size_t>(model_.width), P = static_cast<size_t>(model_.patch),
                   side = static_cast<size_t>(model_.side), all = side * P;
        Rows patches;
        for (size_t row = 0; row < side; ++row)
            for (size_t column = 0; column < side; ++column) {
                auto& patch = patches.emplace_back();
                for (size_t c = 0; c < C; ++c) {
                    double sum = at("patch_embed.proj.bias", c);
                    for (size_t channel = 0; channel < 3; ++channel)
                        for (size_t y = 0; y < P; ++y)
                            for (size_t z = 0; z < P; ++z)
                                sum += at("patch_embed.proj.weight", ((c * 3 + channel) * P + y) * P + z) *
                                       pixels[(channel * all + row * P + y) * all + column * P + z];
                    patch.push_back(sum);
                }
            }
        Rows tokens;
        const auto begin = [&](const char* name, size_t count) {
            for (size_t i = 0; i < count; ++i) {
                auto& row = tokens.emplace_back();
                for (size_t c = 0; c < C; ++c) row.push_back(at(name, i * C + c));
            }
        };
        if (model_.hasClass) begin("cls_token", 1);
        if (model_.registers > 0) begin("reg_token", static_cast<size_t>(model_.registers));
        tokens.insert(tokens.end(), patches.begin(), patches.end());
        const size_t without = model_.hasPrefixPositions ? 0 : static_cast<size_t>(model_.prefix());
        for (size_t row = without; row < tokens.size(); ++row)
            for (size_t c = 0; c < C; ++c) tokens[row][c] += at("pos_embed", (row - without) * C + c);
        return tokens;
    }

    Rows normed(const Rows& x, const std::string& name) const {
        Rows result;
        for (const std::vector<double>& row : x) {
            const auto count = static_cast<double>(row.size());
            const double mean = model_.isRms ? 0 : std::accumulate(row.begin(), row.end(), 0.0) / count;
            double square = 0;
            for (const double value : row) square += (value - mean) * (value - mean) / count;
            auto& out = result.emplace_back();
            for (size_t c = 0; c < row.size(); ++c)
                out.push_back((row[c] - mean) / std::sqrt(square + 1e-6) * at(name + ".weight", c) +
                              (model_.isRms ? 0 : at(name + ".bias", c)));
        }
        return result;
    }

    Rows linear(const Rows& x, const std::string& name) const {
        const size_t to = of(name + ".bias").size();
        Rows result;
        for (const std::vector<double>& row : x) {
            auto& out = result.emplace_back();
            for (size_t i = 0; i < to; ++i) {
                double sum = at(name + ".bias", i);
                for (size_t c = 0; c < row.size(); ++c) sum += at(name + ".weight", i * row.size() + c) * row[c];
                out.push_back(sum);
            }
        }
        return result;
    }

    Rows active(Rows x) const {
        for (std::vector<double>& row : x) {
            if (model_.isGated) { // the first half goes through the activation and multiplies the second one
                const size_t half = row.size() / 2;
                for (size_t i = 0; i < half; ++i) row[i] = activation_(row[i]) * row[half + i];
                row.resize(half);
            } else {
                for (double& value : row) value = activation_(value);
            }
        }
        return x;
    }

    Rows attention(const Rows& x, const std::string& block) const {
        const Rows qkv = linear(x, block + "attn.qkv");
        const auto C = static_cast<size_t>(model_.width), D = C / static_cast<size_t>(heads_);
        Rows result(x.size(), std::vector<double>(C, 0));
        for (size_t head = 0; head < C; head += D)
            for (size_t q = 0; q < x.size(); ++q) {
                std::vector<double> weights;
                for (size_t k = 0; k < x.size(); ++k) {
                    double score = 0;
                    for (size_t d = 0; d < D; ++d) score += qkv[q][head + d] * qkv[k][C + head + d];
                    weights.push_back(std::exp(score / std::sqrt(static_cast<double>(D))));
                }
                const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
                for (size_t k = 0; k < x.size(); ++k)
                    for (size_t d = 0; d < D; ++d) result[q][head + d] += weights[k] / sum * qkv[k][2 * C + head + d];
            }
        return result;
    }

    static void add(Rows& x, const Rows& more) {
        for (size_t row = 0; row < x.size(); ++row)
            for (size_t c = 0; c < x[row].size(); ++c) x[row][c] += more[row][c];
    }

    const Small& model_;
    int64_t heads_;
    double (*activation_)(double);
};

double gelu(double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double geluTanh(double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
}
double silu(double x) { return x / (1 + std::exp(-x)); }

/// Writes the folder. @param config besides the preparation of pictures of the model's own size
void writeFolder(const fs::path& folder, const Small& model, json config) {
    std::vector<WrittenTensor> tensors;
    for (const auto& [name, made] : model.tensors)
        tensors.push_back({.name = name, .shape = made.shape, .values = made.values});
    writeSafetensors(folder / "model.safetensors", tensors, {{"format", "pt"}});
    const int64_t pixels = model.side * model.patch;
    config.emplace("pretrained_cfg", json{{"input_size", {3, pixels, pixels}},
                                          {"interpolation", "bilinear"},
                                          {"crop_pct", 1.0},
                                          {"mean", {0.5, 0.5, 0.5}},
                                          {"std", {0.5, 0.5, 0.5}}});
    writeFile(folder / "config.json", config.dump());
}

/// Checks the logits of a folder for a picture of noise.
void checkLogits(Small small, const json& config, int64_t heads, double (*activation)(double), bool poolsMean) {
    const TemporaryFolder folder;
    small.fill();
    writeFolder(folder.path(), small, config);
    const int64_t side = small.side * small.patch;
    Image image{.height = side, .width = side};
    std::mt19937 random(3);
    for (int64_t i = 0; i < side * side * 3; ++i) image.rgb.push_back(static_cast<uint8_t>(random() % 256));
    std::vector<double> pixels;
    for (int64_t channel = 0; channel < 3; ++channel)
        for (int64_t at = 0; at < side * side; ++at)
            pixels.push_back(static_cast<double>(image.rgb[static_cast<size_t>(at * 3 + channel)]) / 127.5 - 1);
    VisionModel model(openModelSource(folder.path().string()), {.device = {.validation = true}});
    CHECK(model.info().heads == heads);
    const std::vector<double> expected = Reference(small, heads, activation).logits(pixels, poolsMean);
    CHECK(farthest(model.predict(model.patchesOf(image)), std::vector<float>(expected.begin(), expected.end())) < 1e-4);
}

std::string refusalOf(const json& config, Small small = {}) {
    const TemporaryFolder folder;
    small.fill();
    writeFolder(folder.path(), small, config);
    return sentenceOf([&] { openModelSource(folder.path().string()); });
}

std::vector<std::string> warningsOf(const json& config, Small small = {}) {
    const TemporaryFolder folder;
    small.fill();
    writeFolder(folder.path(), small, config);
    return openModelSource(folder.path().string())->warnings();
}

} // namespace

TEST_CASE("timm: names stand for heads, activations and pooling", "[models][vision]") {
    struct Known {
        const char* name;
        int64_t width, heads;
        const char* pool;
        bool hasPrefixPositions;
        Activation activation = Activation::GeluErf;
    };
    // Read from timm's vision_transformer.py and deit.py.
    for (const Known& known : {Known{"vit_tiny_patch16_224.augreg_in21k", 192, 3, "token", true},
                               {"vit_small_patch16_36x1_224", 384, 6, "token", true},
                               {"vit_base_patch16_224_miil", 768, 12, "token", true},
                               {"vit_base_patch16_gap_224", 768, 16, "avg", true},
                               {"vit_base_patch16_reg4_gap_256", 768, 12, "avg", false},
                               {"vit_base_patch16_plus_240", 896, 14, "token", true},
                               {"vit_base_patch16_siglip_gap_224.v2_webli", 768, 12, "avg", true},
                               {"vit_base_patch32_siglip_gap_256", 768, 12, "avg", true, Activation::GeluTanh},
                               {"vit_large_patch16_siglip_gap_512", 1024, 16, "avg", true, Activation::GeluTanh},
                               {"vit_so400m_patch14_siglip_gap_384", 1152, 16, "avg", true},
                               {"vit_so400m_patch16_siglip_gap_384", 1152, 16, "avg", true, Activation::GeluTanh},
                               {"vit_so150m2_patch16_reg1_gap_256", 832, 13, "avg", true},
                               {"vit_betwixt_patch16_reg4_gap_384", 640, 10, "avg", false},
                               {"vit_huge_patch14_gap_224", 1280, 16, "avg", true},
                               {"vit_giant_patch14_dinov2", 1536, 24, "token", true, Activation::Silu},
                               {"vit_giant_patch14_reg4_dinov2", 1536, 24, "token", false, Activation::Silu},
                               {"vit_gigantic_patch14_224", 1664, 16, "token", true},
                               {"deit_small_distilled_patch16_224", 384, 6, "token", true},
                               {"deit3_medium_patch16_224", 512, 8, "token", false},
                               {"flexivit_base", 768, 12, "token", false},
                               {"eva_large_patch14_336", 1024, 16, "avg", true},
                               {"test_vit2", 64, 2, "avg", true}}) {
        INFO(known.name);
        const auto found = timmArchitecture(known.name);
        REQUIRE(found);
        CHECK(found->obstacle.empty());
        CHECK(found->width == known.width);
        CHECK(found->heads == known.heads);
        CHECK(found->pool == known.pool);
        CHECK(found->hasPrefixPositions == known.hasPrefixPositions);
        CHECK(found->activation == known.activation);
    }
    for (const char* name : {"vit_base_patch16_rpn_224", "vit_base_patch16_xp_224", "vit_small_patch16_18x2_224",
                             "vit_base_patch16_clip_224", "vit_large_patch14_clip_quickgelu_336"}) {
        INFO(name);
        const auto found = timmArchitecture(name);
        REQUIRE(found);
        CHECK_FALSE(found->obstacle.empty());
    }
    for (const char* name :
         {"", "vit", "vit_mini_patch16_224", "vit_dwee_patch16_reg1_gap_256", "beit_base_patch16_224",
          "eva_giant_patch14_224", "vit_base_patch16_dinov3", "resnet50", "deit_base_gap_224"}) {
        INFO(name);
        CHECK_FALSE(timmArchitecture(name));
    }
}

TEST_CASE("timm: models of many kinds give the logits of a plain computation", "[models][vision][gpu]") {
    checkLogits({}, {{"architecture", "test_vit"}}, 2, gelu, false);
    checkLogits({.hasClass = false, .normAfterPooling = true, .registers = 1},
                {{"architecture", "test_vit2"}, {"global_pool", "avg"}}, 2, gelu, true);
    checkLogits({.width = 96, .hasClass = false, .normAfterPooling = true, .isRms = true, .registers = 1},
                {{"architecture", "test_vit4"}}, 3, gelu, true);
    checkLogits({.width = 192, .hasPrefixPositions = false}, {{"architecture", "deit3_tiny_patch16_224"}}, 3, gelu,
                false);
    checkLogits({.width = 24, .isGated = true},
                {{"architecture", "mine"}, {"model_args", {{"num_heads", 4}, {"act_layer", "silu"}}}}, 4, silu, false);
    checkLogits({.width = 24, .hasFinalNorm = false},
                {{"architecture", "mine"},
                 {"model_args", {{"num_heads", 3}, {"act_layer", "gelu_tanh"}, {"final_norm", false}}}},
                3, geluTanh, false);
    checkLogits({.width = 24, .hasPrefixPositions = false, .registers = 2},
                {{"architecture", "test_vit"},
                 {"model_args", {{"num_heads", 6}, {"no_embed_class", true}, {"global_pool", "avg"}}}},
                6, gelu, true);
}

TEST_CASE("timm: nothing is guessed, and what cannot be computed is named", "[models][vision]") {
    CHECK_THAT(refusalOf({{"architecture", "vit_mine"}}),
               CONTAINS("\"vit_mine\", which is in no table of this program") &&
                   CONTAINS("say num_heads in model_args"));
    CHECK_THAT(refusalOf(json::object()), CONTAINS("say num_heads in model_args"));
    CHECK_THAT(refusalOf({{"architecture", "vit_base_patch16_224"}}),
               CONTAINS("of width 768, but the tensors have width 64") && CONTAINS("say num_heads"));
    CHECK_THAT(refusalOf({{"architecture", "vit_base_patch16_rpn_224"}, {"model_args", {{"num_heads", 2}}}}),
               CONTAINS("ResPostBlock"));
    const auto refused = [](json args) {
        args.emplace("num_heads", 2);
        return refusalOf({{"architecture", "mine"}, {"model_args", args}});
    };
    CHECK_THAT(refused({{"act_layer", "quick_gelu"}}), CONTAINS("\"act_layer\" names the unknown activation"));
    CHECK_THAT(refused({{"norm_layer", "batchnorm2d"}}), CONTAINS("\"norm_layer\" is \"batchnorm2d\""));
    CHECK_THAT(refused({{"pre_norm", true}}), CONTAINS("\"pre_norm\" is true, which this program cannot compute"));
    CHECK_THAT(refused({{"qk_norm", true}}), CONTAINS("\"qk_norm\""));
    CHECK_THAT(refused({{"attn_layer", "diff"}}), CONTAINS("\"attn_layer\" is \"diff\""));
    CHECK_THAT(refused({{"block_fn", "ResPostBlock"}}), CONTAINS("\"block_fn\" is \"ResPostBlock\""));
    CHECK_THAT(refused({{"pool_include_prefix", true}}), CONTAINS("\"pool_include_prefix\""));
    CHECK_THAT(refused({{"global_pool", "map"}}), CONTAINS("\"global_pool\" is \"map\"; supported: token, avg"));
    CHECK_THAT(refused({{"depth", 12}}), CONTAINS("\"depth\" is 12, but the tensors say 2"));
    CHECK_THAT(refused({{"embed_dim", 128}}), CONTAINS("\"embed_dim\" is 128, but the tensors say 64"));
    CHECK_THAT(refused({{"class_token", false}}), CONTAINS("\"class_token\" is false, but the tensors say true"));
    CHECK_THAT(refused({{"mlp_ratio", 4}}), CONTAINS("\"mlp_ratio\" is 256, but the tensors say 96"));
    CHECK_THAT(refused({{"init_values", 1e-5}}), CONTAINS("\"init_values\""));
    CHECK_THAT(refusalOf({{"architecture", "test_vit2"}, {"pretrained_cfg", json::object()}},
                         {.side = 4, .hasClass = false, .hasPrefixPositions = true, .registers = 3}),
               CONTAINS("accepted")); // 19 positions: 16 patches and three registers
    CHECK_THAT(warningsOf({{"architecture", "mine"}, {"model_args", {{"num_heads", 2}}}}).front(),
               CONTAINS("\"mine\" is in no table of this program: it is computed as timm's plain vision transformer"));
    CHECK_THAT(warningsOf({{"architecture", "test_vit"}, {"model_args", {{"swizzle", 3}}}}).front(),
               CONTAINS("\"model_args\" has \"swizzle\", which this program does not obey"));
    CHECK(warningsOf({{"architecture", "test_vit"}, {"model_args", {{"dynamic_img_size", true}, {"drop_rate", 0.1}}}})
              .empty());
}

TEST_CASE("timm: pictures are prepared as pretrained_cfg says", "[models][vision]") {
    const auto read = [](json pictures, const json& args = json::object()) {
        const TemporaryFolder folder;
        Small small;
        small.fill();
        writeFolder(folder.path(), small,
                    {{"architecture", "test_vit"}, {"model_args", args}, {"pretrained_cfg", std::move(pictures)}});
        return openModelSource(folder.path().string())->preprocessing();
    };
    const ImagePreprocessing usual = read({{"input_size", {3, 16, 16}}}); // timm's own defaults
    CHECK(usual.shortestEdge == 18);                                      // floor(16 / 0.875)
    CHECK(usual.filter == ResampleFilter::Bicubic);
    CHECK(usual.mean == std::vector<double>{0.485, 0.456, 0.406});
    CHECK(usual.cropRule == CropRule::Torchvision);
    const ImagePreprocessing squash = read({{"input_size", {3, 16, 16}}, {"crop_mode", "squash"}, {"crop_pct", 0.8}});
    CHECK(squash.resize == ImageSize{20, 20});
    CHECK(squash.crop == ImageSize{16, 16});
    const ImagePreprocessing border = read({{"crop_mode", "border"}, {"crop_pct", 1.0}, {"mean", {0.5, 0.1, 0.9}}});
    CHECK(border.inside == ImageSize{16, 16});
    CHECK(border.border == std::array<uint8_t, 3>{128, 26, 230}); // 127.5, 25.5 and 229.5, halves to even
    const ImagePreprocessing wide =
        read({{"input_size", {3, 16, 32}}, {"interpolation", "bicubic"}, {"crop_pct", 1.0}});
    CHECK(wide.cover == ImageSize{16, 32});
    CHECK(wide.filter == ResampleFilter::Bilinear); // as timm's ResizeKeepRatio without an interpolation
    const ImagePreprocessing uneven = read({{"input_size", {3, 18, 18}}, {"crop_pct", 1.0}});
    CHECK(uneven.crop == ImageSize{18, 18});
    CHECK(uneven.kept == ImageSize{16, 16}); // patches of 4 leave out the last two rows and columns
    CHECK(read({{"mean", {0.25}}}).mean == std::vector<double>{0.25, 0.25, 0.25});
    CHECK(read({{"interpolation", "hamming"}}).filter == ResampleFilter::Hamming);
    CHECK_THAT(sentenceOf([&] { read({{"crop_mode", "random"}}); }), CONTAINS("\"crop_mode\" is \"random\""));
    CHECK_THAT(sentenceOf([&] { read({{"std", {0.5, 1e-9, 0.5}}}); }), CONTAINS("\"std\" contains 1e-09"));
    CHECK_THAT(sentenceOf([&] { read({{"input_size", {3, 2, 16}}}); }), CONTAINS("smaller than a patch"));
    CHECK_THAT(sentenceOf([&] { read({{"input_size", {16, 16}}}); }), CONTAINS("\"input_size\" is not a list"));
}
