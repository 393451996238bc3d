#include "app/cli/command.h"

#include "engine/core/error.h"
#include "engine/session/capture_file.h"

#include <fmt/format.h>

#include <unistd.h>

namespace attn::cli {

void ModelOptions::addTo(CLI::App& app) {
    app.add_option("PATH", path, "model folder, .safetensors file or builtin:induction")->required();
    app.add_option("--device", device, "index or part of the name of a Vulkan device (see: attention-cli devices)");
    app.add_flag("--validation", validation, "load the Vulkan validation layer");
}

std::unique_ptr<LanguageModel> ModelOptions::open(bool inspects) const {
    const bool showsProgress = isatty(STDERR_FILENO) == 1;
    const auto progress = [&](float fraction, const std::string& what) {
        if (showsProgress)
            fmt::print(stderr, "\r\x1b[Kloading {:3.0f} %  {}", static_cast<double>(fraction) * 100, what);
    };
    auto model = std::make_unique<LanguageModel>(
        openModelSource(path),
        LanguageModel::Options{.device = device.empty() ? std::nullopt : std::optional(device),
                               .validation = validation,
                               .inspects = inspects},
        progress);
    if (showsProgress) fmt::print(stderr, "\r\x1b[K");
    for (const std::string& warning : model->info().warnings)
        fmt::print(stderr, "attention-cli: warning: {}\n", warning);
    return model;
}

void PromptOptions::addTo(CLI::App& app) {
    auto* asText = app.add_option("--prompt", text, "text to begin with; the model's own example when left out");
    app.add_option("--tokens", tokens, "token ids instead of text, e.g. 1,403,407")->excludes(asText);
}

std::vector<int> PromptOptions::encode(const LanguageModel& model) const {
    if (!tokens.empty()) return parseTokenIds(tokens);
    if (model.tokenizer() == nullptr)
        throw Error({.what = "this model has no tokenizer",
                     .where = model.info().name,
                     .hint = "give token ids with --tokens 1,2,3"});
    const std::string prompt = text.empty() ? model.source().example() : text;
    std::vector<int> ids = model.tokenizer()->encode(prompt).ids;
    if (ids.empty()) throw Error({.what = "the prompt is empty", .where = "--prompt", .hint = "give some text"});
    return ids;
}

} // namespace attn::cli
