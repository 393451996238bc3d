#include "app/cli/command.h"
#include "app/cli/vision_options.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>

namespace attn::cli {
namespace {

struct Options {
    ModelOptions model;
    ImageOptions picture;
    int top = 5;
    bool json = false;
};

int classify(const Options& options) {
    const Image image = options.picture.read();
    const auto model = openVision(options.model, options.picture.asked());
    const VisionInfo& info = model->info();
    const std::vector<float> logits = model->classify(model->patchesOf(image)), shares = probabilitiesOf(logits);
    std::vector<int> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater<>(), [&](int index) { return logits[static_cast<size_t>(index)]; });
    order.resize(std::min(order.size(), static_cast<size_t>(options.top)));
    nlohmann::json classes = nlohmann::json::array();
    for (const int index : order) {
        const auto at = static_cast<size_t>(index);
        if (options.json)
            classes.push_back(
                {{"index", index}, {"label", info.labelOf(index)}, {"probability", shares[at]}, {"logit", logits[at]}});
        else
            fmt::print("{:6.2f} %  {}\n", static_cast<double>(shares[at]) * 100, info.labelOf(index));
    }
    if (options.json)
        fmt::print("{}\n", nlohmann::json{{"model", info.name},
                                          {"image", options.picture.image},
                                          {"width", info.image.width},
                                          {"height", info.image.height},
                                          {"classes", classes},
                                          {"warnings", info.warnings}}
                               .dump(2));
    return kDone;
}

} // namespace

void addClassify(CLI::App& app, Run& run) {
    CLI::App* command = app.add_subcommand("classify", "say what a vision model sees in a picture");
    const auto options = std::make_shared<Options>();
    options->model.addTo(*command);
    options->picture.addTo(*command, true);
    command->add_option("--top", options->top, "how many classes")->check(CLI::Range(1, 100000))->capture_default_str();
    command->add_flag("--json", options->json, "machine-readable");
    command->footer("Example:\n  attention-cli classify models/deit-tiny --image cat.jpg --top 3");
    command->callback([=, &run] { run = [=] { return classify(*options); }; });
}

} // namespace attn::cli
