#include "app/cli/command.h"
#include "app/cli/vision_options.h"

#include "engine/session/capture_file.h"

#include <fmt/format.h>

namespace attn::cli {

void addCapture(CLI::App& app, Run& run) {
    CLI::App* command = app.add_subcommand(
        "capture", "run a prompt or a picture once and write hooks (attention patterns, residuals, logits) to a file");
    struct Options {
        ModelOptions model;
        PromptOptions prompt;
        ImageOptions picture;
        std::string hooks = "blocks.*.attn.hook_pattern,logits", out;
    };
    const auto options = std::make_shared<Options>();
    options->model.addTo(*command);
    options->prompt.addTo(*command);
    options->picture.addTo(*command, false);
    command
        ->add_option("--hooks", options->hooks,
                     "names or globs, separated by commas (see: attention-cli models PATH --hooks)")
        ->capture_default_str();
    command->add_option("--out", options->out, "file to write: .safetensors or .npz")->required();
    command->footer(
        "Open it in Python:\n  from safetensors.numpy import load_file\n  run = load_file('run.safetensors')\n"
        "  pattern = run['blocks.0.attn.hook_pattern']   # [head, query, key]\n  print(pattern.sum(-1))                "
        "        # every row sums to 1");
    command->callback([=, &run] {
        run = [=] {
            if (!options->picture.image.empty()) {
                captureVision(options->model, options->picture, options->hooks, options->out);
                return kDone;
            }
            const auto model = options->model.open(true);
            const std::vector<int> tokens = options->prompt.encode(*model);
            const auto hooks = model->capture(tokens, options->hooks);
            writeCapture(options->out, model->info(), tokens, hooks);
            for (const auto& hook : hooks) fmt::print(stderr, "{} {}\n", hook.name, hook.shape.text());
            return kDone;
        };
    });
}

} // namespace attn::cli
