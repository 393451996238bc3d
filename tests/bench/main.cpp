#include "app/arguments/run_program.h"
#include "tests/bench/benches.h"

#include <fmt/format.h>

int main(int argc, char** argv) {
    using namespace attn::cli;
    Command program("attention-bench", "Measure the speed of Attention Lab on this machine", ATTN_VERSION);
    addBenchKernels(program);
    addBenchTrain(program.subcommand("train", "Time training steps and compare them with PyTorch"));
    addBenchMemory(program.subcommand("memory", "Print the memory of training steps against depth"));
    addBenchPrecision(program.subcommand("precision", "Compare training in 32 and in 16 bits"));
    addBenchTexts(program.subcommand("texts", "Time several texts that a model writes in the same steps"));
    addBenchLongPattern(program.subcommand("long-pattern", "Time the view of a long pattern, which is never formed"));
    addBenchOps(program.subcommand("ops", "Time operations that read sequences"));
    addBenchWindow(program.subcommand("window", "Time what the window answers to a person"));
    return runProgram("attention-bench", [&] {
        const auto reply = program.parse({argv + 1, argv + argc});
        if (!reply) return program.run();
        fmt::print(reply->exitCode == 0 ? stdout : stderr, "{}", reply->text);
        return reply->exitCode;
    });
}
