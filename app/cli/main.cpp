#include "app/arguments/arguments.h"
#include "app/arguments/run_program.h"
#include "app/cli/catalogue.h"
#include "engine/models/bundled.h"

#include <csignal>
#include <cstdio>
#include <fmt/format.h>

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_DFL); // `attention-cli generate ... | head` ends quietly
    std::signal(SIGXFSZ, SIG_IGN); // writing beyond a limit on file sizes fails with an error, like a full disk
    attn::cli::Command program("attention-cli", "Run, inspect and measure transformers without a display",
                               ATTN_VERSION);
    for (const attn::cli::CommandEntry& entry : attn::cli::commandCatalogue())
        entry.add(program.subcommand(entry.name, entry.summary, entry.group));
    program.about("attention-cli COMMAND --help explains a command. Results go to standard output; progress, warnings "
                  "and errors go to standard error. Layers, heads, tokens and positions are counted from 0, ranks "
                  "from 1.");
    program.about("A model PATH is a Hugging Face folder, a .safetensors file in one, the folder of a training run, or "
                  "a built-in model: " +
                  attn::builtinModelNames() + ".");
    program.list("Environment", {{"ATTN_DEVICE", "Vulkan device to use when --device is not given"},
                                 {"ATTN_VALIDATION", "1 loads the Khronos validation layer"},
                                 {"XDG_CACHE_HOME", "compiled pipelines are kept in its folder attention-lab"}});
    program.list("Exit status", {{"0", "success"},
                                 {"1", "something failed; a message says what"},
                                 {"2", "the command line is wrong"},
                                 {"130", "training was stopped with Ctrl-C; --resume continues it"}});
    program.example("attention-cli generate builtin:stories --prompt 'Once upon a time' --greedy");
    program.example("attention-cli lens builtin:stories --prompt 'The cat sat on the'");
    program.example("attention-cli mask 'causal & window(3)' --size 12");
    program.seeAlso({"attention-lab", "attention-scope"});
    return attn::cli::runProgram("attention-cli", [&] {
        const auto reply = program.parse({argv + 1, argv + argc});
        if (!reply) return program.run();
        fmt::print(reply->exitCode == 0 ? stdout : stderr, "{}", reply->text);
        return reply->exitCode;
    });
}
