#include "engine/models/timm_architectures.h"

#include "engine/models/vision_family.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <vector>

namespace attn {
namespace {

struct Size {
    std::string_view name;
    int64_t width, heads;
};
constexpr std::array kSizes{Size{"tiny", 192, 3},         Size{"wee", 256, 4},        Size{"xsmall", 256, 4},
                            Size{"little", 320, 5},       Size{"small", 384, 6},      Size{"medium", 512, 8},
                            Size{"mediumd", 512, 8},      Size{"betwixt", 640, 10},   Size{"base", 768, 12},
                            Size{"so150m2", 832, 13},     Size{"so150m", 896, 14},    Size{"large", 1024, 16},
                            Size{"intern300m", 1024, 16}, Size{"so400m", 1152, 16},   Size{"huge", 1280, 16},
                            Size{"giant", 1408, 16},      Size{"giantopt", 1536, 16}, Size{"gigantic", 1664, 16}};

/// Words of names whose computation differs from a plain block, and why it cannot be computed.
constexpr std::array kObstacles{std::pair{"rpn", "its norms lie behind the sublayers (ResPostBlock)"},
                                std::pair{"xp", "its attention and MLP run side by side (ParallelScalingBlock)"},
                                std::pair{"18x2", "its layers hold two attentions side by side (ParallelThingsBlock)"},
                                std::pair{"clip", "it normalises the embedding before the first block (pre_norm)"},
                                std::pair{"quickgelu", "its activation is QuickGELU"},
                                std::pair{"rope", "it rotates queries and keys"},
                                std::pair{"relpos", "it adds relative positions to scores"}};

/// Words that say where weights come from, or a shape that tensors show.
constexpr std::array<std::string_view, 10> kPlainWords{"in21k", "in22k", "in1k", "dino",      "sam",
                                                       "mae",   "miil",  "36x1", "distilled", "plus"};

std::vector<std::string_view> wordsOf(std::string_view name) {
    std::vector<std::string_view> words;
    for (size_t at = 0; at <= name.size();) {
        const size_t end = std::min(name.find('_', at), name.size());
        words.push_back(name.substr(at, end - at));
        at = end + 1;
    }
    return words;
}

bool isNumber(std::string_view text) {
    return !text.empty() &&
           std::ranges::all_of(text, [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
}
bool isNumbered(std::string_view word, std::string_view what) {
    return word.starts_with(what) && isNumber(word.substr(what.size()));
}

/// The activation of SigLIP's image towers. @return none: timm has no such tower
std::optional<Activation> siglipActivation(std::string_view size, std::string_view patch, std::string_view image) {
    const bool isTanh = (size == "base" && patch == "patch32") || (size == "large" && image == "512") ||
                        (size == "so400m" && patch == "patch16") || size == "giantopt";
    const bool isErf = (size == "base" && patch == "patch16") ||
                       (size == "large" && (image == "256" || image == "384")) ||
                       (size == "so400m" && patch == "patch14");
    if (!isTanh && !isErf) return std::nullopt;
    return isTanh ? Activation::GeluTanh : Activation::GeluErf;
}

const Size* sizeOf(std::string_view name) {
    const auto found = std::ranges::find(kSizes, name, &Size::name);
    return found == kSizes.end() ? nullptr : &*found;
}

/// vit_SIZE_..., where the words behind the size may stand in any order.
std::optional<TimmArchitecture> ofVit(std::string_view size, std::span<const std::string_view> words) {
    const Size* known = sizeOf(size);
    if (known == nullptr) return std::nullopt;
    TimmArchitecture result{.width = known->width, .heads = known->heads};
    const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
    bool hasRegisters = false;
    for (const std::string_view word : words) {
        const auto obstacle =
            std::ranges::find(kObstacles, word, [](const auto& of) { return std::string_view(of.first); });
        if (obstacle != kObstacles.end()) result.obstacle = obstacle->second;
        hasRegisters = hasRegisters || isNumbered(word, "reg");
        constexpr std::array<std::string_view, 5> kForms{"gap", "map", "dinov2", "tipsv2", "siglip"};
        if (obstacle == kObstacles.end() && !isNumbered(word, "reg") && !isNumbered(word, "patch") && !isNumber(word) &&
            std::ranges::find(kPlainWords, word) == kPlainWords.end() &&
            std::ranges::find(kForms, word) == kForms.end())
            return std::nullopt;
    }
    const bool isPooled = has("gap"), isDino = has("dinov2") || has("tipsv2");
    result.pool = isPooled || has("rpn") ? "avg" : has("map") || has("siglip") ? "map" : "token";
    result.hasPrefixPositions = !hasRegisters || size == "so150m" || size == "so150m2";
    // The larger heads of vit_base_patch16_gap_224, the smaller ones of DINOv2's giant, the wider ones of "plus".
    if (size == "base" && isPooled && !hasRegisters && !has("siglip")) result.heads = 16;
    if (size == "base" && has("plus")) result.width = 896, result.heads = 14;
    if (size == "giant" && isDino) {
        result.width = 1536;
        result.heads = 24;
        result.activation = Activation::Silu;
    }
    if (has("siglip")) {
        const auto patch = std::ranges::find_if(words, [](std::string_view word) { return isNumbered(word, "patch"); });
        const auto activation = siglipActivation(size, patch == words.end() ? "" : *patch, words.back());
        if (!activation) return std::nullopt;
        result.activation = *activation;
    }
    return result;
}

/// The models of timm's own tests.
std::optional<TimmArchitecture> ofTest(std::string_view name) {
    if (name == "test_vit") return TimmArchitecture{.width = 64, .heads = 2};
    if (name == "test_vit2") return TimmArchitecture{.width = 64, .heads = 2, .pool = "avg"};
    if (name == "test_vit3") return TimmArchitecture{.width = 96, .heads = 3, .pool = "map"};
    if (name == "test_vit4") return TimmArchitecture{.width = 96, .heads = 3, .norm = &kRmsNormPart, .pool = "avg"};
    return std::nullopt;
}

} // namespace

std::optional<TimmArchitecture> timmArchitecture(std::string_view name) {
    name = name.substr(0, name.find('.'));
    if (const auto test = ofTest(name)) return test;
    const std::vector<std::string_view> words = wordsOf(name);
    if (words.size() < 2) return std::nullopt;
    const std::span rest = std::span(words).subspan(2);
    const auto isPlain = [&] { // of DeiT and FlexiViT: only a patch, a size of pictures and "distilled"
        return std::ranges::all_of(rest, [](std::string_view word) {
            return isNumber(word) || isNumbered(word, "patch") || word == "distilled";
        });
    };
    const Size* size = sizeOf(words[1]);
    if (words[0] == "vit") return ofVit(words[1], rest);
    if (size == nullptr || !isPlain()) return std::nullopt;
    TimmArchitecture result{.width = size->width, .heads = size->heads};
    if (words[0] == "deit") return result;
    result.hasPrefixPositions = words[0] == "eva";
    if (words[0] == "deit3" || words[0] == "flexivit") return result;
    result.pool = "avg";
    if (words[0] == "eva" && words[1] == "large") return result;
    return std::nullopt;
}

std::optional<ConfigReader> timmPictures(const ConfigReader& config) {
    if (config.has("pretrained_cfg")) return config.object("pretrained_cfg");
    const auto says = [&](const char* field) { return config.has(field); };
    constexpr std::array kFields{"input_size", "crop_pct", "interpolation", "mean", "std"};
    if (config.has("model_type") || std::ranges::none_of(kFields, says)) return std::nullopt;
    return config;
}

std::optional<ImageSize> timmImageSize(const ConfigReader& config) {
    if (config.hasObject("model_args") && config.object("model_args").has("img_size"))
        return sizeField(config.object("model_args"), "img_size", 0);
    const auto pictures = timmPictures(config);
    if (!pictures || !pictures->has("input_size")) return std::nullopt;
    const auto size = pictures->wholeNumbers("input_size");
    if (!size || size->size() != 3 || (*size)[1] < 1 || (*size)[2] < 1 || std::max((*size)[1], (*size)[2]) > 8192)
        pictures->fail("input_size", "is not a list of channels, height and width, at most 8192 pixels",
                       "write for example [3, 224, 224]");
    return ImageSize{(*size)[1], (*size)[2]};
}

} // namespace attn
