#include "app/cli/command.h"
#include "app/cli/progress_line.h"

#include "app/figures/plot_figure.h"
#include "engine/core/error.h"
#include "engine/inference/finite_count.h"
#include "engine/playground/feature_error.h"
#include "engine/runtime/device.h"

#include <fmt/format.h>

#include <array>

namespace attn::cli {
namespace {

struct FeaturesOptions {
    std::vector<std::string> specs;
    int64_t tokens = 64, width = 16, most = 512;
    int draws = 24;
    double deviation = 0.5;
    std::string out;
    DeviceChoice device;
};

/// The attentions that are compared when none is named.
const std::vector<std::string> kApproximations{"normaliser=favor", "normaliser=favor(orthogonal = 0)", "normaliser=rfa",
                                               "normaliser=rfa(orthogonal = 1)"};

int features(const FeaturesOptions& options) {
    if (options.most % 2 != 0)
        throw Error(
            {.what = fmt::format("{} is odd, and random features are pairs of a sine and a cosine", options.most),
             .where = "--most",
             .hint = fmt::format("give an even number, such as {}", options.most - 1)});
    std::vector<AttentionSpec> specs; // all read before anything is printed
    for (const std::string& text : options.specs.empty() ? kApproximations : options.specs)
        specs.push_back(AttentionSpec::parse(text));
    Device device(options.device);
    PlotFigure figure;
    figure.title = "Error of random features";
    figure.valueTitle = "root mean square error of the output";
    figure.placeTitle = "features";
    figure.isLogarithmic = true;
    const std::vector<int64_t> counts = doublingUpTo(8, options.most);
    figure.lengths.assign(counts.begin(), counts.end());
    const auto draws = static_cast<int64_t>(specs.size() * counts.size()) * options.draws;
    int64_t done = 0;
    for (const AttentionSpec& spec : specs) {
        PlotFigure::Line line{.label = QString::fromStdString(spec.text())};
        const AttentionSizes sizes{.queries = options.tokens, .keys = options.tokens, .width = options.width};
        std::vector<FeatureError> errors;
        {
            ProgressLine shown;
            errors = featureErrors(device, spec, sizes, options.deviation, counts, options.draws,
                                   [&] { shown.show(ofSteps(++done, draws)); });
        }
        fmt::print("{}\n{:>10} {:>10}\n", spec.text(), "features", "error");
        for (const FeatureError& each : errors) {
            requireFinite(std::array{each.error}, "errors", spec.text());
            fmt::print("{:10} {:10.4f}\n", each.features, each.error);
            line.points.emplace_back(static_cast<double>(each.features), each.error);
        }
        figure.lines.push_back(std::move(line));
    }
    if (options.out.empty()) return kDone;
    figure.fitRange();
    writeFigure(figure, {760, 420}, options.out);
    return kDone;
}

} // namespace

void addFeatures(Command& command) {
    const auto options = std::make_shared<FeaturesOptions>();
    command.about(
        "For each number of features: the root mean square of the difference between the output of attention with "
        "random features and that of the softmax that they approximate, on normal queries, keys and values.");
    command.argument("SPEC ...", options->specs, "compositions to compare, for example 'normaliser=favor'")
        .defaultText("FAVOR+ and random feature attention, each with orthogonal and with independent directions");
    command
        .option("--most N", options->most, "largest number of features, which is even; up to it, they double from 8 on")
        .range(8, 4096);
    command.option("--tokens N", options->tokens, "length in tokens").range(2, 4096);
    command.option("--width N", options->width, "width of a head").range(1, 1024);
    command.option("--deviation X", options->deviation, "standard deviation of queries and keys").range(0.001, 100);
    command.option("--draws N", options->draws, "draws of the random directions for each number of features")
        .range(1, 1000);
    addDevice(command, options->device);
    command.option("--out FILE", options->out, "figure (.png, .svg, .pdf) to write");
    command.example("attention-cli features 'normaliser=favor' 'normaliser=rfa' --out features.svg");
    command.action([=] { return features(*options); });
}

} // namespace attn::cli
