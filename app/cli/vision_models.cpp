#include "app/cli/command.h"
#include "app/cli/vision_options.h"

#include "engine/core/quoting.h"
#include "engine/inference/vision_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace attn::cli {
namespace {

void printJson(const VisionModel& model) {
    const VisionInfo& info = model.info();
    nlohmann::json tensors = nlohmann::json::array();
    for (const ParameterInfo& p : info.parameters)
        tensors.push_back({{"name", p.name}, {"source", p.sourceName}, {"shape", p.shape}});
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
                         {"tensors", tensors},
                         {"warnings", info.warnings}});
}

} // namespace

void describeVision(const ModelOptions& options, const VisionListing& listing) {
    const auto model = openVision(options, {});
    if (listing.json) return printJson(*model);
    const VisionInfo& info = model->info();
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
               static_cast<double>(model->deviceBytes()) / (1 << 20));
    if (listing.tensors)
        for (const ParameterInfo& p : info.parameters)
            fmt::print("  {:<28} {:<16} {}\n", p.name, Shape(p.shape).text(), printable(p.sourceName));
    if (listing.hooks)
        for (const std::string& hook : info.hooks) fmt::print("{}\n", hook);
}

} // namespace attn::cli
