#include "app/cli/command.h"

#include "engine/core/quoting.h"
#include "engine/inference/language_model.h"
#include "engine/inference/vision_model.h"
#include "engine/models/model_source.h"
#include "engine/training/training_summary.h"

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

nlohmann::json streamsOf(const ModelStructure& structure) {
    nlohmann::json streams = nlohmann::json::array();
    for (const Stream& stream : structure.streams) {
        const Axis& axis = structure.axes[static_cast<size_t>(stream.axis)];
        streams.push_back(
            {{"name", stream.name}, {"axis", nameOf(axis.kind)}, {"length", axis.length}, {"width", stream.width}});
    }
    return streams;
}

nlohmann::json sitesOf(const ModelStructure& structure) {
    const auto nameOf = [&](int stream) { return structure.streams[static_cast<size_t>(stream)].name; };
    nlohmann::json sites = nlohmann::json::array();
    for (const Site& site : structure.sites)
        sites.push_back({{"name", site.name},
                         {"queries", nameOf(site.queryStream)},
                         {"keys", nameOf(site.keyStream)},
                         {"heads", site.heads},
                         {"keyValueHeads", site.keyValueHeads},
                         {"headWidth", site.headWidth}});
    return sites;
}

nlohmann::json settingsOf(const ModelInfo& info) {
    nlohmann::json settings = nlohmann::json::array();
    for (const ModelSetting& setting : info.settings)
        settings.push_back({{"name", setting.name}, {"asked", setting.asked}, {"inForce", setting.inForce}});
    return settings;
}

nlohmann::json fieldsOf(const LeftOut& leftOut) {
    nlohmann::json fields = nlohmann::json::object();
    for (const LeftOut::Field& field : leftOut.fields) fields[field.path] = field.value;
    return fields;
}

nlohmann::json repeatsOf(const LeftOut& leftOut) {
    nlohmann::json repeats = nlohmann::json::array();
    for (const WeightSource::Repeat& each : leftOut.repeats)
        repeats.push_back({{"name", each.tensor}, {"file", each.file}, {"used", each.used}});
    return repeats;
}

void printJson(const ModelInfo& info, int64_t deviceBytes, const std::string& path, const std::string& example) {
    const Site& first = info.structure.sites.front();
    nlohmann::json json{{"name", info.name},
                        {"family", info.family},
                        {"layers", info.layers},
                        {"heads", info.heads},
                        {"keyValueHeads", first.keyValueHeads},
                        {"headWidth", first.headWidth},
                        {"modelWidth", info.modelWidth},
                        {"feedForwardWidth", info.feedForwardWidth},
                        {"streams", streamsOf(info.structure)},
                        {"sites", sitesOf(info.structure)},
                        {"parameters", info.parameterCount},
                        {"dtype", info.dtype},
                        {"parameterBytes", info.parameterBytes},
                        {"deviceBytes", deviceBytes},
                        {"positions", info.positions},
                        {"training", trainingSummary(path)},
                        {"trainingParameters", trainedParameters(path)},
                        {"example", example},
                        {"hooks", info.hooks},
                        {"tensors", tensorsOf(info.parameters)},
                        {"settings", settingsOf(info)},
                        {"unusedFields", fieldsOf(info.leftOut)},
                        {"unusedTensors", info.leftOut.tensors},
                        {"repeatedTensors", repeatsOf(info.leftOut)},
                        {"unusedFiles", info.leftOut.files}};
    if (info.grid.area() > 0)
        json.update({{"imageHeight", info.image.height},
                     {"imageWidth", info.image.width},
                     {"patch", info.patch},
                     {"channels", info.channels},
                     {"prefix", info.prefix},
                     {"tokens", info.tokens()},
                     {"pooling", info.pooling},
                     {"classes", info.classes}});
    else
        json.update({{"vocabulary", info.vocabulary},
                     {"contextLength", info.contextLength},
                     {"cacheTokenBytes", info.cacheTokenBytes},
                     {"tokenizer", info.hasTokenizer ? nlohmann::json(info.tokenizerSummary) : nlohmann::json()},
                     {"tokenizerProblem", info.tokenizerProblem}});
    print(std::move(json), info);
}

void printPictures(const ModelInfo& info) {
    fmt::print("  pictures of {} x {} pixels in {} channels, {} x {} patches of {}; positions {}\n", info.image.width,
               info.image.height, info.channels, info.grid.width, info.grid.height, info.patch, info.positions);
    fmt::print("  {} tokens{}\n", info.tokens(),
               info.prefix.empty() ? "" : fmt::format("; before the patches {}", fmt::join(info.prefix, ", ")));
    if (info.classes > 0)
        fmt::print("  {} classes read from {}; {}\n", info.classes, info.pooling,
                   info.labels.empty() ? "no labels" : "with labels");
    else
        fmt::print("  no classifier\n");
}

void printText(const ModelInfo& info, int64_t deviceBytes, const std::string& path, const std::string& example) {
    fmt::print("{}: {}\n", printable(info.name), info.familyTitle);
    const Site& first = info.structure.sites.front();
    const int fewest = std::ranges::min(info.structure.sites, {}, &Site::heads).heads;
    fmt::print("  {} layers of {} heads", info.layers,
               fewest == info.heads ? fmt::to_string(info.heads) : fmt::format("{} to {}", fewest, info.heads));
    if (first.keyValueHeads != first.heads) fmt::print(" sharing {} key/value heads", first.keyValueHeads);
    fmt::print(", head width {}, model width {}, feed-forward width {}\n", first.headWidth, info.modelWidth,
               info.feedForwardWidth);
    if (info.grid.area() > 0)
        printPictures(info);
    else
        fmt::print("  vocabulary {}, context {}, positions {}\n", info.vocabulary, info.contextLength, info.positions);
    if (info.cacheTokenBytes > 0)
        fmt::print("  keys and values of each token take {:.1f} KiB on the device\n",
                   static_cast<double>(info.cacheTokenBytes) / 1024);
    fmt::print("  {} parameters stored as {}; on the device {:.1f} MiB of weights, {:.1f} MiB in all\n",
               info.parameterCount, info.dtype, static_cast<double>(info.parameterBytes) / (1 << 20),
               static_cast<double>(deviceBytes) / (1 << 20));
    if (const std::string training = trainingSummary(path); !training.empty()) fmt::print("  trained: {}\n", training);
    if (const std::string parameters = trainedParameters(path); !parameters.empty())
        fmt::print("  learned with: {}\n", parameters);
    if (!example.empty()) fmt::print("  example: {}\n", printable(example));
    if (info.vocabulary > 0)
        fmt::print("  tokenizer: {}\n", info.hasTokenizer               ? info.tokenizerSummary
                                        : info.tokenizerProblem.empty() ? "none; give --tokens instead of --prompt"
                                                                        : printableLines(info.tokenizerProblem) +
                                                                              "; give --tokens instead of --prompt");
    if (const std::string rules = info.rules.text(); !rules.empty())
        fmt::print("  {} chooses how to write: {}\n", info.rules.file, rules);
    fmt::print("  in force, and what the configuration asks for:\n");
    for (const ModelSetting& setting : info.settings) {
        constexpr size_t kMostAsked = 400;
        fmt::print("    {:<17} {}{}\n", setting.name, setting.inForce,
                   setting.asked.empty() ? "" : fmt::format("  ({})", printable(setting.asked, kMostAsked)));
    }
}

void printModel(const ModelInfo& info, int64_t deviceBytes, const ModelsOptions& options,
                const std::string& example = {}) {
    if (options.json) return printJson(info, deviceBytes, options.model.path, example);
    printText(info, deviceBytes, options.model.path, example);
    if (options.tensors)
        for (const ParameterInfo& p : info.parameters)
            fmt::print("  {:<28} {:<16} {}\n", p.name, Shape(p.shape).text(), printable(p.sourceName));
    if (options.hooks)
        for (const std::string& hook : info.hooks) fmt::print("{}\n", hook);
}

} // namespace

void addModels(Command& command) {
    const auto options = std::make_shared<ModelsOptions>();
    options->model.without = "--kernels"; // nothing runs
    options->model.addTo(command);
    command.flag("--hooks", options->hooks, "also list every hook that attention-cli capture can write");
    command.flag("--tensors", options->tensors, "also list every parameter with its shape");
    addJson(command, options->json);
    command.example("attention-cli models builtin:stories --hooks");
    command.action([=] {
        if (axisOfModel(options->model.path) == AxisKind::Patches) {
            const auto model = options->model.openVision({});
            printModel(model->info(), model->deviceBytes(), *options);
        } else {
            const auto model = options->model.open(false);
            printModel(model->info(), model->deviceBytes(), *options, model->source().example());
        }
        return kDone;
    });
}

} // namespace attn::cli
