#include "app/cli/command.h"

#include "engine/core/quoting.h"
#include "engine/inference/vision_model.h"
#include "engine/io/image.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>

namespace attn::cli {
namespace {

struct ClassifyOptions {
    ModelOptions model;
    ImageOptions picture;
    int top = 5;
    bool json = false;
};

int classify(const ClassifyOptions& options) {
    const Image image = options.picture.read();
    const auto model = options.model.openVision(options.picture.asked);
    const ModelInfo& info = model->info();
    const std::vector<float> logits = model->predict(model->patchesOf(image)), shares = probabilitiesOf(logits);
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
            fmt::print("{:6.2f} %  {}\n", static_cast<double>(shares[at]) * 100, printable(info.labelOf(index)));
    }
    if (options.json)
        print(nlohmann::json{{"model", info.name},
                             {"image", options.picture.image},
                             {"width", info.image.width},
                             {"height", info.image.height},
                             {"classes", classes},
                             {"warnings", info.warnings}});
    return kDone;
}

} // namespace

void addClassify(Command& command) {
    const auto options = std::make_shared<ClassifyOptions>();
    command.about("Prints the most probable classes with their probabilities. Reads ViT, DeiT, DINOv2 and Swin in the "
                  "layouts of Hugging Face and timm.");
    options->model.addTo(command);
    options->picture.addTo(command, true);
    command.option("--top N", options->top, "number of classes to print").range(1, 100000);
    addJson(command, options->json);
    command.example("attention-cli classify builtin:vit-shapes --image circle.png --top 3");
    command.action([=] { return classify(*options); });
}

} // namespace attn::cli
