#include "app/cli/command.h"
#include "app/cli/vision_options.h"

#include "engine/core/quoting.h"
#include "engine/inference/language_model.h"
#include "engine/inference/vision_model.h"
#include "engine/models/vision_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace attn::cli {
namespace {

struct ModelsOptions {
    ModelOptions model;
    bool json = false, hooks = false, tensors = false;
};

nlohmann::json tensorsOf(const std::vector<ParameterInfo>& parameters) {
    nlohmann::json tensors = nlohmann::json::array();
    for (const ParameterInfo& p : parameters)
        tensors.push_back({{"name", p.name}, {"source", p.sourceName}, {"shape", p.shape}});
    return tensors;
}

void printJson(const LanguageModel& model) {
    const ModelInfo& info = model.info();
    print(nlohmann::json{{"name", info.name},
                         {"family", info.family},
                         {"layers", info.layers},
                         {"heads", info.heads},
                         {"keyValueHeads", info.keyValueHeads},
                         {"headWidth", info.headWidth},
                         {"modelWidth", info.modelWidth},
                         {"feedForwardWidth", info.feedForwardWidth},
                         {"vocabulary", info.vocabulary},
                         {"contextLength", info.contextLength},
                         {"parameters", info.parameterCount},
                         {"dtype", info.dtype},
                         {"parameterBytes", info.parameterBytes},
                         {"deviceBytes", model.deviceBytes()},
                         {"positions", info.positionScheme},
                         {"hooks", info.hooks},
                         {"tensors", tensorsOf(info.parameters)},
                         {"warnings", info.warnings}});
}

void printJson(const VisionModel& model) {
    const VisionInfo& info = model.info();
    print(nlohmann::json{{"name", info.name},
                         {"family", info.family},
                         {"layers", info.layers},
                         {"heads", info.heads},
                         {"layerHeads", info.layerHeads},
                         {"headWidth", info.headWidth},
                         {"modelWidth", info.modelWidth},
                         {"feedForwardWidth", info.feedForwardWidth},
                         {"imageHeight", info.image.height},
                         {"imageWidth", info.image.width},
                         {"patch", info.patch},
                         {"channels", info.channels},
                         {"prefix", info.prefix},
                         {"tokens", info.tokens()},
                         {"pooling", info.pooling},
                         {"classes", info.classes},
                         {"parameters", info.parameterCount},
                         {"dtype", info.dtype},
                         {"parameterBytes", info.parameterBytes},
                         {"deviceBytes", model.deviceBytes()},
                         {"positions", info.positions},
                         {"hooks", info.hooks},
                         {"tensors", tensorsOf(info.parameters)},
                         {"warnings", info.warnings}});
}

void printText(const LanguageModel& model) {
    const ModelInfo& info = model.info();
    fmt::print("{}: {}\n", printable(info.name), info.familyTitle);
    fmt::print("  {} layers of {} heads", info.layers, info.heads);
    if (info.keyValueHeads != info.heads) fmt::print(" sharing {} key/value heads", info.keyValueHeads);
    fmt::print(", head width {}, model width {}, feed-forward width {}\n", info.headWidth, info.modelWidth,
               info.feedForwardWidth);
    fmt::print("  vocabulary {}, context {}, positions {}\n", info.vocabulary, info.contextLength, info.positionScheme);
    fmt::print("  {} parameters stored as {}; on the device {:.1f} MiB of weights, {:.1f} MiB in all\n",
               info.parameterCount, info.dtype, static_cast<double>(info.parameterBytes) / (1 << 20),
               static_cast<double>(model.deviceBytes()) / (1 << 20));
    fmt::print("  tokenizer: {}\n",
               info.hasTokenizer ? info.tokenizerSummary : "none; give --tokens instead of --prompt");
}

void printText(const VisionModel& model) {
    const VisionInfo& info = model.info();
    fmt::print("{}: {}\n", printable(info.name), info.familyTitle);
    const int fewest = std::ranges::min(info.layerHeads);
    fmt::print("  {} layers of {} heads, head width {}, model width {}, feed-forward width {}\n", info.layers,
               fewest == info.heads ? fmt::to_string(info.heads) : fmt::format("{} to {}", fewest, info.heads),
               info.headWidth, info.modelWidth, info.feedForwardWidth);
    fmt::print("  pictures of {} x {} pixels in {} channels, {} x {} patches of {}; positions {}\n", info.image.width,
               info.image.height, info.channels, info.grid.width, info.grid.height, info.patch, info.positions);
    fmt::print("  {} tokens{}\n", info.tokens(),
               info.prefix.empty() ? "" : fmt::format("; before the patches {}", fmt::join(info.prefix, ", ")));
    if (info.classes > 0)
        fmt::print("  {} classes read from {}; {}\n", info.classes, info.pooling,
                   info.labels.empty() ? "no labels" : "with labels");
    else
        fmt::print("  no classifier\n");
    fmt::print("  {} parameters stored as {}; on the device {:.1f} MiB of weights, {:.1f} MiB in all\n",
               info.parameterCount, info.dtype, static_cast<double>(info.parameterBytes) / (1 << 20),
               static_cast<double>(model.deviceBytes()) / (1 << 20));
}

/// Describes a LanguageModel or a VisionModel.
template <class Model> void describe(const Model& model, const ModelsOptions& options) {
    if (options.json) return printJson(model);
    printText(model);
    if (options.tensors)
        for (const ParameterInfo& p : model.info().parameters)
            fmt::print("  {:<28} {:<16} {}\n", p.name, Shape(p.shape).text(), printable(p.sourceName));
    if (options.hooks)
        for (const std::string& hook : model.info().hooks) fmt::print("{}\n", hook);
}

} // namespace

void addModels(Command& command) {
    const auto options = std::make_shared<ModelsOptions>();
    options->model.addTo(command);
    command.flag("--hooks", options->hooks, "also list every hook that attention-cli capture can write");
    command.flag("--tensors", options->tensors, "also list every parameter with its shape");
    addJson(command, options->json);
    command.example("attention-cli models builtin:stories --hooks");
    command.action([=] {
        if (isVisionModel(options->model.path))
            describe(*openVision(options->model, {}), *options);
        else
            describe(*options->model.open(false), *options);
        return kDone;
    });
}

} // namespace attn::cli
