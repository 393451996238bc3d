#include "app/cli/command.h"

#include "engine/core/error.h"

#include <csignal>
#include <cstdio>
#include <fmt/format.h>

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_DFL); // `attention-cli generate ... | head` ends quietly
    CLI::App app{"Attention Lab on the command line: run, inspect and measure transformers without a display."};
    app.set_version_flag("--version", ATTN_VERSION);
    app.require_subcommand(1);
    app.footer("Examples:\n"
               "  attention-cli generate builtin:induction --prompt 'abcabcab' --max-tokens 12\n"
               "  attention-cli generate models/stories --prompt 'Once upon a time' --greedy\n"
               "  attention-cli capture models/stories --prompt 'Hello' --hooks 'blocks.*.attn.hook_pattern,logits' "
               "--out run.safetensors\n"
               "  attention-cli classify models/deit-tiny --image cat.jpg\n"
               "A model PATH is a Hugging Face folder, a .safetensors file in one, or builtin:induction.");
    attn::cli::Run run;
    attn::cli::addDevices(app, run);
    attn::cli::addModels(app, run);
    attn::cli::addGenerate(app, run);
    attn::cli::addCapture(app, run);
    attn::cli::addRender(app, run);
    attn::cli::addClassify(app, run);
    attn::cli::addParts(app, run);
    attn::cli::addMask(app, run);
    attn::cli::addAttend(app, run);
    attn::cli::addBench(app, run);
    attn::cli::addTrain(app, run);
    attn::cli::addEval(app, run);
    attn::cli::addPerplexity(app, run);
    attn::cli::addLens(app, run);
    attn::cli::addAblate(app, run);
    attn::cli::addPatch(app, run);
    attn::cli::addDetect(app, run);
    attn::cli::addCost(app, run);
    attn::cli::addExtrapolate(app, run);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? attn::cli::kDone : attn::cli::kUsage;
    }
    try {
        return run();
    } catch (const std::exception& error) {
        std::fflush(stdout);
        fmt::print(stderr, "attention-cli: {}\n", error.what());
        return attn::cli::kFailed;
    }
}
