#include "app/cli/command.h"
#include "app/cli/vision_options.h"

#include "engine/core/quoting.h"
#include "engine/inference/language_model.h"
#include "engine/models/vision_source.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace attn::cli {

void addModels(Command& command) {
    struct Options {
        ModelOptions model;
        bool json = false, hooks = false, tensors = false;
    };
    const auto options = std::make_shared<Options>();
    options->model.addTo(command);
    command.flag("--hooks", options->hooks, "also list every hook that attention-cli capture can write");
    command.flag("--tensors", options->tensors, "also list every parameter with its shape");
    addJson(command, options->json);
    command.example("attention-cli models builtin:stories --hooks");
    command.action([=] {
        if (isVisionModel(options->model.path)) {
            describeVision(options->model, {options->json, options->hooks, options->tensors});
            return kDone;
        }
        const auto model = options->model.open(false);
        const ModelInfo& info = model->info();
        if (options->json) {
            nlohmann::json tensors = nlohmann::json::array();
            for (const ParameterInfo& p : info.parameters)
                tensors.push_back({{"name", p.name}, {"source", p.sourceName}, {"shape", p.shape}});
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
                                 {"deviceBytes", model->deviceBytes()},
                                 {"positions", info.positionScheme},
                                 {"hooks", info.hooks},
                                 {"tensors", tensors},
                                 {"warnings", info.warnings}});
            return kDone;
        }
        fmt::print("{}: {}\n", printable(info.name), info.familyTitle);
        fmt::print("  {} layers of {} heads", info.layers, info.heads);
        if (info.keyValueHeads != info.heads) fmt::print(" sharing {} key/value heads", info.keyValueHeads);
        fmt::print(", head width {}, model width {}, feed-forward width {}\n", info.headWidth, info.modelWidth,
                   info.feedForwardWidth);
        fmt::print("  vocabulary {}, context {}, positions {}\n", info.vocabulary, info.contextLength,
                   info.positionScheme);
        fmt::print("  {} parameters stored as {}; on the device {:.1f} MiB of weights, {:.1f} MiB in all\n",
                   info.parameterCount, info.dtype, static_cast<double>(info.parameterBytes) / (1 << 20),
                   static_cast<double>(model->deviceBytes()) / (1 << 20));
        fmt::print("  tokenizer: {}\n",
                   info.hasTokenizer ? info.tokenizerSummary : "none; give --tokens instead of --prompt");
        if (options->tensors)
            for (const ParameterInfo& p : info.parameters)
                fmt::print("  {:<28} {:<16} {}\n", p.name, Shape(p.shape).text(), printable(p.sourceName));
        if (options->hooks)
            for (const std::string& hook : info.hooks) fmt::print("{}\n", hook);
        return kDone;
    });
}

} // namespace attn::cli
