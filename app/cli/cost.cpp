#include "app/arguments/run_program.h"
#include "app/cli/command.h"
#include "app/cli/cost_parts.h"
#include "app/cli/progress_line.h"

#include "app/figures/plot_figure.h"
#include "engine/attention/attention_spec.h"
#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/playground/attention_cost.h"
#include "engine/runtime/device.h"
#include "engine/system/atomic_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>
#include <utility>

namespace attn::cli {
namespace {

struct CostOptions {
    std::vector<std::string> specs;
    int64_t from = 64, to = 16384, width = 32;
    bool measures = false, parts = false;
    std::string out;
    DeviceChoice device;
};

/// The attentions that are compared when none is named.
const std::vector<std::string> kSpecs{"mask=causal", "mask=causal & window(256)", "mask=causal, normaliser=linear"};

int cost(const Command& command, const CostOptions& options) {
    if (options.parts)
        refuseIdle(command, {"SPEC", "--from", "--to", "--measure"}, "--parts, which measures every part",
                   "costs without it");
    else if (!options.measures)
        refuseIdle(command, {"--device", "--kernels"}, "costs that are counted", "--measure and --parts");
    std::vector<std::pair<std::string, AttentionSpec>> specs; // all read before anything is printed
    for (const std::string& text : options.specs.empty() ? kSpecs : options.specs)
        specs.emplace_back(text, AttentionSpec::parse(text));
    if (options.from > options.to)
        throw Error({.what = fmt::format("the lengths from {} to {} are none", options.from, options.to),
                     .where = "--from",
                     .hint = "give a number that is at most --to"});
    std::optional<Device> device;
    if (options.measures || options.parts) device.emplace(options.device);
    if (options.parts) return costOfParts(*device, options.width, options.out);
    PlotFigure figure;
    figure.title = "Cost of one attention";
    figure.valueTitle = options.measures ? "milliseconds" : "floating-point operations";
    figure.placeTitle = "tokens";
    figure.isLogarithmic = true;
    for (const int64_t tokens : doublingUpTo(options.from, options.to))
        figure.lengths.push_back(static_cast<int>(tokens));
    nlohmann::json report = nlohmann::json::array();
    const size_t all = specs.size() * figure.lengths.size();
    size_t done = 0;
    ProgressLine shown(false);
    for (const auto& [text, spec] : specs) {
        PlotFigure::Line line{.label = QString::fromStdString(text)};
        fmt::print("{}\n{:>8} {:>12} {:>12} {:>11} {:>11} {:>11} {:>11}\n", spec.text(), "tokens", "pairs", "MFLOP",
                   "MiB", "learned MiB", "ms", "us/token");
        for (int length : figure.lengths) {
            const AttentionSizes sizes{.queries = length, .keys = length, .width = options.width};
            AttentionCost found;
            try {
                if (options.measures)
                    shown.show({.fraction = static_cast<double>(done) / static_cast<double>(all),
                                .sentence = fmt::format("{} tokens", groupDigits(static_cast<size_t>(length)))});
                ++done;
                found = options.measures ? *measureAttention(*device, spec, sizes, [] { return false; })
                                         : attentionCost(spec, sizes);
                shown.clear();
            } catch (const Error& error) {
                shown.clear();
                fmt::print("{:8} {}\n", length, error.what());
                break;
            }
            fmt::print("{:8} {:12.0f} {:12.2f} {:11.2f} {:11.2f}", found.tokens, found.pairs, found.operations / 1e6,
                       found.bytes / 1048576, found.learnedBytes / 1048576);
            if (found.milliseconds)
                fmt::print(" {:11.2f} {:11.2f}", *found.milliseconds,
                           *found.milliseconds * 1e3 / static_cast<double>(length));
            fmt::print("\n");
            flushOutput();
            line.points.emplace_back(length, found.milliseconds.value_or(found.operations));
            nlohmann::json entry{{"attention", spec.text()}, {"tokens", found.tokens},
                                 {"pairs", found.pairs},     {"operations", found.operations},
                                 {"bytes", found.bytes},     {"learnedBytes", found.learnedBytes}};
            if (found.milliseconds) entry["milliseconds"] = *found.milliseconds;
            report.push_back(std::move(entry));
        }
        if (!line.points.empty()) figure.lines.push_back(std::move(line));
    }
    if (options.out.empty()) return kDone;
    if (std::filesystem::path(options.out).extension() == ".json") {
        const std::string text = report.dump(2) + "\n";
        writeAtomically(options.out, text);
        return kDone;
    }
    figure.fitRange();
    writeFigure(figure, {760, 420}, options.out);
    return kDone;
}

} // namespace

void addCost(Command& command) {
    const auto options = std::make_shared<CostOptions>();
    command.about(
        "For each attention and length: pairs of query and key, millions of floating-point operations, MiB "
        "of memory, MiB of numbers that the attention learns (a table of all pairs, say) and, with --measure, "
        "milliseconds on the device.");
    command.argument("SPEC ...", options->specs, "compositions to compare, for example 'position=alibi, mask=causal'")
        .defaultText("causal, causal window and linear attention");
    command.option("--from N", options->from, "shortest length, in tokens").range(1, 1 << 20);
    command.option("--to N", options->to, "longest length, in tokens; up to it, lengths double from --from on")
        .range(1, 1 << 20);
    command.option("--width N", options->width, "width of a head").range(1, 1024);
    command.flag("--measure", options->measures, "also run each attention on the device and time it");
    command.flag("--parts", options->parts,
                 "measure each part of the catalogue by itself from 512 to 4,096 tokens, and print how its time grows");
    addDevice(command, options->device);
    command.option("--out FILE", options->out,
                   "figure (.png, .svg, .pdf) or .json file to write; with --parts, a table with tabs");
    command.example("attention-cli cost 'mask=causal' 'mask=causal & window(256)' --measure --out cost.svg");
    command.action([=, &command] { return cost(command, *options); });
}

} // namespace attn::cli
