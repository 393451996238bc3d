#include "engine/models/folder_writer.h"

#include "engine/core/error.h"
#include "engine/io/decode_image.h"
#include "engine/io/tensor_writer.h"
#include "engine/models/config_reader.h"
#include "engine/models/families.h"
#include "engine/models/family.h"
#include "engine/models/model_builder.h"
#include "engine/models/vision_family.h"
#include "engine/models/written_configs.h"
#include "engine/system/atomic_file.h"
#include "engine/system/folder.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace attn {
namespace {

/// A tensor of the file, made of one or several parameters.
struct Gathered {
    int64_t rows = 0, columns = 0; ///< as the engine sees it: [out, in]; vectors have one column
    bool isVector = false, transposed = false, isFlattened = false;
    std::vector<int64_t> extents{}; ///< see WeightRecipe::extents
    struct Part {
        int64_t firstRow;
        std::vector<float> values;
    };
    std::vector<Part> parts;

    std::vector<float> values() const {
        std::vector<float> result(static_cast<size_t>(rows * columns), 0.0f);
        for (const Part& part : parts)
            for (size_t i = 0; i < part.values.size(); ++i) {
                const int64_t row = part.firstRow + static_cast<int64_t>(i) / columns,
                              column = static_cast<int64_t>(i) % columns;
                result[static_cast<size_t>(transposed ? column * rows + row : row * columns + column)] = part.values[i];
            }
        return result;
    }
};

/// The family that writes a model. @return null if it can only be read
const ModelFamily* writerOf(const ModelSpec& config) {
    const ModelFamily* family = familyNamed(config.family);
    return family && family->describe ? family : nullptr;
}

nlohmann::json describe(const ImagePreprocessing& preprocessing, const ImageSize& size) {
    const auto sides = [](const ImageSize& of) { return nlohmann::json{{"height", of.height}, {"width", of.width}}; };
    const bool hasEdge = preprocessing.shortestEdge.has_value(), isCropped = preprocessing.crop.has_value();
    nlohmann::json json{{"image_processor_type", hasEdge     ? "CLIPImageProcessor" // each takes these fields
                                                 : isCropped ? "DeiTImageProcessor"
                                                             : "ViTImageProcessor"},
                        {"do_resize", hasEdge || preprocessing.resize},
                        {"size", sides(preprocessing.resize.value_or(size))},
                        {"resample", static_cast<int>(preprocessing.filter)},
                        {"do_rescale", true},
                        {"rescale_factor", preprocessing.factor},
                        {"do_normalize", !preprocessing.mean.empty()}};
    if (hasEdge) json["size"] = {{"shortest_edge", *preprocessing.shortestEdge}};
    if (isCropped) {
        json["do_center_crop"] = true;
        json["crop_size"] = sides(*preprocessing.crop);
    }
    if (!preprocessing.mean.empty()) {
        json["image_mean"] = preprocessing.mean;
        json["image_std"] = preprocessing.deviation;
    }
    return json;
}

/// Takes the fields that decide how a model writes text from the config.json of the model before. A field that is
/// missing there goes, as the class of transformers may have its own value.
void keepGeneration(const std::string& configBefore, nlohmann::json& json) {
    static constexpr std::array kFields{"bos_token_id",
                                        "forced_bos_token_id",
                                        "force_bos_token_to_be_generated",
                                        "forced_eos_token_id",
                                        "bad_words_ids",
                                        "suppress_tokens",
                                        "begin_suppress_tokens",
                                        "min_length",
                                        "min_new_tokens",
                                        "no_repeat_ngram_size",
                                        "max_length",
                                        "max_new_tokens",
                                        "do_sample",
                                        "temperature",
                                        "top_k",
                                        "top_p",
                                        "min_p",
                                        "num_beams",
                                        "repetition_penalty",
                                        "length_penalty",
                                        "early_stopping"};
    const nlohmann::json before = nlohmann::json::parse(configBefore);
    for (const char* field : kFields)
        if (before.contains(field))
            json[field] = before.at(field);
        else
            json.erase(field);
}

/// A small file of the model before. The first token of what a decoder writes is that of the training.
std::string smallFile(const std::string& name, const std::string& text, const ModelSpec& config) {
    if (name != "generation_config.json" || !config.encoder) return text;
    nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
    constexpr const char* kStart = "decoder_start_token_id";
    if (!json.is_object() || !json.contains(kStart) || json.at(kStart) == config.startToken) return text;
    json[kStart] = config.startToken;
    return json.dump(2) + "\n";
}

/// As requireWritable(), for a model of pictures.
void requireWritablePictures(const ModelSpec& config, const std::string& where) {
    if (config.classReadout().classes == 0)
        throw Error({.what = "has no classifier, which training on labelled pictures needs",
                     .where = where,
                     .hint = "choose a model that classifies pictures"});
    if (config.family != writtenFamily(config).id)
        throw Error(
            {.what = fmt::format("the program cannot write models of the family \"{}\"", config.family),
             .where = where,
             .hint = "choose a plain vision transformer (ViT), or a model that was trained with Attention Lab"});
}

std::string nameInFile(const ModelFamily& family, const WeightRecipe& recipe) {
    const bool isOfHead = std::ranges::any_of(family.unprefixed,
                                              [&](std::string_view begin) { return recipe.source.starts_with(begin); });
    return isOfHead ? recipe.source : std::string(family.prefix) + recipe.source;
}

/// A tokenizer_config.json that leaves everything to a tokenizer.json. Without it, the family's class would replace the
/// tokens around a text and the blank before it.
std::string tokenizerConfigFor(const std::string& tokenizerJson) {
    const nlohmann::json document = nlohmann::json::parse(tokenizerJson, nullptr, false);
    const nlohmann::json pre = document.is_object() ? document.value("pre_tokenizer", nlohmann::json()) : document;
    const bool beginsWithSpace = pre.is_object() && pre.value("add_prefix_space", false);
    const nlohmann::json config{{"tokenizer_class", "PreTrainedTokenizerFast"}, {"add_prefix_space", beginsWithSpace}};
    return config.dump(2) + "\n";
}

} // namespace

std::optional<WeightRecipe> placeInFile(const ModelSpec& config, const std::string& parameter) {
    const ModelFamily* family = writerOf(config);
    if (family == nullptr || family->id == kComposed.id || family->id == kComposedVit.id) return {};
    WeightRecipe recipe = family->recipe(config, parameter, TensorNames({}));
    recipe.source = nameInFile(*family, recipe);
    return recipe;
}

void requireWritable(const ModelSpec& config, const std::string& where) {
    if (config.axis == AxisKind::Patches) return requireWritablePictures(config, where);
    const ModelFamily* family = writerOf(config);
    if (family == nullptr)
        throw Error({.what = fmt::format("the program cannot write models of the family \"{}\"", config.family),
                     .where = where,
                     .hint = "choose a model of the family gpt2, llama, bert, xlnet, t5, bart or marian"});
    std::vector<std::string> names;
    const ModelGraph decoder = buildForListing(config);
    for (const Node* node : storedParameters(*decoder.graph))
        names.push_back(nameInFile(*family, family->recipe(config, node->name, TensorNames({}))));
    const nlohmann::json described = describeIn(*family, config);
    ModelSpec read = configIn(*family, ConfigReader(described, "config.json"), TensorNames(std::move(names)));
    read.name = config.name;
    if (read != config)
        throw Error({.what = fmt::format("the program writes models of the family \"{}\" only with the settings that "
                                         "it trains, and this one has others",
                                         config.family),
                     .where = where,
                     .hint = "choose a model that was trained with Attention Lab, or GPT-2"});
}

void writeModelFolder(const std::filesystem::path& folder, const ModelSpec& config, const FolderText& text,
                      const std::function<std::vector<float>(const std::string&)>& read) {
    const ModelFamily* family = writerOf(config);
    if (family == nullptr) requireWritable(config, folder.string());

    std::map<std::string, Gathered> tensors;
    const TensorNames none({});
    const ModelGraph decoder = buildForListing(config);
    for (const Node* node : storedParameters(*decoder.graph)) {
        const WeightRecipe recipe = family->recipe(config, node->name, none);
        const Shape& shape = node->outputs[0].shape;
        Gathered& tensor = tensors[nameInFile(*family, recipe)];
        tensor.isVector = shape.rank() == 1;
        tensor.transposed = recipe.transposed;
        tensor.isFlattened = recipe.flattened;
        tensor.extents = recipe.extents;
        tensor.columns = tensor.isVector ? 1 : shape.columns();
        tensor.rows = std::max(tensor.rows, recipe.offset + (tensor.isVector ? shape[0] : shape.rows()));
        tensor.parts.push_back({recipe.offset, read(node->name)});
    }
    std::vector<std::vector<float>> values;
    std::vector<WrittenTensor> written;
    for (const auto& [name, tensor] : tensors) {
        values.push_back(tensor.values());
        std::vector<int64_t> shape{tensor.rows};
        if (!tensor.isVector)
            shape =
                tensor.transposed ? std::vector{tensor.columns, tensor.rows} : std::vector{tensor.rows, tensor.columns};
        if (!tensor.isVector && tensor.isFlattened) shape.insert(shape.begin(), 1);
        written.push_back({.name = name, .shape = tensor.extents.empty() ? shape : tensor.extents});
    }
    for (size_t i = 0; i < written.size(); ++i) written[i].values = values[i];

    createFolder(folder);
    writeSafetensors(folder / "model.safetensors", written, {{"format", "pt"}});
    nlohmann::json json = describeIn(*family, config);
    if (config.axis == AxisKind::Patches) {
        writeAtomically(folder / "preprocessor_config.json",
                        describe(text.preprocessing, config.patches.image).dump(2) + "\n");
        if (!text.examples.empty()) createFolder(folder / "examples");
        for (const auto& [name, image] : text.examples) writePpm(folder / "examples" / (name + ".ppm"), image);
    } else {
        if (!text.configBefore.empty()) keepGeneration(text.configBefore, json);
        // Null: else the class of transformers has one.
        json["eos_token_id"] = text.stopTokens.empty()       ? nlohmann::json()
                               : text.stopTokens.size() == 1 ? nlohmann::json(text.stopTokens.front())
                                                             : nlohmann::json(text.stopTokens);
        if (!text.examplePrompt.empty()) json["example_prompt"] = text.examplePrompt;
        writeAtomically(folder / "tokenizer.json", text.tokenizerJson);
        for (const auto& [name, contents] : text.smallFiles)
            writeAtomically(folder / name, smallFile(name, contents, config));
        if (!text.smallFiles.contains("tokenizer_config.json"))
            writeAtomically(folder / "tokenizer_config.json", tokenizerConfigFor(text.tokenizerJson));
    }
    writeAtomically(folder / "config.json", json.dump(2) + "\n");
}

std::string writtenConfig(const ModelSpec& config) { return describeIn(*writerOf(config), config).dump(2); }

} // namespace attn
