#include "app/cli/command.h"

#include "app/arguments/numbers.h"
#include "app/cli/part_form.h"
#include "app/cli/written_numbers.h"
#include "engine/attention/head_counts.h"
#include "engine/attention/position/dependency_tree.h"
#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/inference/finite_count.h"
#include "engine/io/tensor_writer.h"
#include "engine/models/left_out.h"
#include "engine/playground/attention_operands.h"
#include "engine/playground/attention_run.h"
#include "engine/playground/playground_input.h"
#include "engine/runtime/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace attn::cli {
namespace {

struct AttendOptions {
    std::string spec, input, random, out, window;
    DeviceChoice device;
    int64_t pixels = 256;
    uint64_t seed = 0;
    int64_t layer = 0;
    bool validation = false;
};

AttentionOperands drawInputs(const std::string& sizes, const HeadCounts& counts, uint64_t seed) {
    const auto numbers = wholeNumbers(sizes, ",");
    const auto [T, D] = numbers ? std::pair((*numbers)[0], (*numbers)[1]) : std::pair<int64_t, int64_t>();
    if (T < 1 || D < 1 || T > kMostOperandRows || D > kMostOperandWidth)
        throw Error({.what = fmt::format("\"{}\" is not a number of tokens and a width", sizes),
                     .where = "--random",
                     .hint = fmt::format("write for example --random 64,16; at most {} tokens and a width of {}",
                                         kMostOperandRows, kMostOperandWidth)});
    AttentionNumbers drawn =
        randomNumbers({.heads = counts.heads, .groups = counts.groups, .tokens = T, .width = D}, seed);
    return {.sizes = {.queries = T, .keys = T, .width = D},
            .q = std::move(drawn.q),
            .k = std::move(drawn.k),
            .v = std::move(drawn.v)};
}

/// "Q0:Q1,K0:K1".
PatternWindow readWindow(const std::string& text, const AttentionSizes& sizes, int64_t pixels) {
    PatternWindow window;
    const auto ends = wholeNumbers(text, ":,:");
    if (ends) window = {.queryBegin = (*ends)[0], .queryEnd = (*ends)[1], .keyBegin = (*ends)[2], .keyEnd = (*ends)[3]};
    const auto isWithin = [](int64_t begin, int64_t end, int64_t count) {
        return 0 <= begin && begin < end && end <= count;
    };
    if (!ends || !isWithin(window.queryBegin, window.queryEnd, sizes.queries) ||
        !isWithin(window.keyBegin, window.keyEnd, sizes.keys))
        throw Error(
            {.what = fmt::format("\"{}\" is not a window of {} queries and {} keys", text, sizes.queries, sizes.keys),
             .where = "--window",
             .hint = "write for example --window 0:128,64:192; the ends are excluded"});
    return boundedWindow(window, sizes.queries, sizes.keys, pixels);
}

int attend(const Command& command, const AttendOptions& options) {
    if (options.window.empty()) refuseIdle(command, {"--pixels"}, "a whole pattern", "--window");
    const AttentionSpec spec = readSpec(options.spec);
    const HeadCounts counts = headCounts(spec);
    if (options.input.empty() == options.random.empty())
        throw Error({.what = "attend needs either --input or --random",
                     .where = {},
                     .hint = "give for example --random 64,16"});
    AttentionOperands inputs = options.input.empty() ? drawInputs(options.random, counts, options.seed)
                                                     : readAttentionOperands(options.input, counts);
    for (const std::string& sentence : sentencesOf({.tensors = inputs.leftOut}))
        fmt::print(stderr, "attention-cli: warning: {}: {}\n", printable(options.input), sentence);
    inputs.sizes.layer = options.layer;
    const int64_t tokens = inputs.sizes.queries;
    requireWords(spec, tokens, options.input.empty() ? "--random" : "--input");
    if (const int64_t end = treeEnd(spec); end > 0) noteTokensBehindTree(end, tokens);
    DeviceChoice choice = options.device;
    choice.validation = options.validation;
    Device device(choice);
    AttentionRun attention =
        options.window.empty()
            ? AttentionRun(device, spec, inputs.sizes, {}, options.seed)
            : AttentionRun::ofWindow(device, spec, inputs.sizes,
                                     readWindow(options.window, inputs.sizes, options.pixels), options.seed);
    attention.setInputs(inputs.q, inputs.k, inputs.v);
    attention.run();
    std::vector<NamedTensor> results;
    for (const std::string& name : attention.results()) {
        results.push_back(attention.result(name));
        if (name == "z") results.back().name = "output";
    }
    if (options.window.empty()) std::ranges::move(attention.numbers(), std::back_inserter(results));
    std::vector<WrittenTensor> written;
    WrittenNumbers numbers;
    for (const NamedTensor& result : results) {
        written.push_back({.name = result.name, .shape = result.shape.extents(), .values = result.values});
        FiniteCount finite;
        finite.add(result.values);
        numbers.add(result.name, result.shape.text(), result.values.size(), finite.wrong());
    }
    if (options.out.ends_with(".npz"))
        writeNpz(options.out, written);
    else if (options.out.ends_with(".safetensors"))
        writeSafetensors(options.out, written, {{"spec", spec.text()}});
    else
        throw Error({.what = "the file ending is not a known format",
                     .where = options.out,
                     .hint = "end the name in .npz or .safetensors"});
    return numbers.exitCode(options.out);
}

} // namespace

void addAttend(Command& command) {
    const auto options = std::make_shared<AttendOptions>();
    command.about(
        "Writes scores, pattern and output, other tensors that the parts form, and the numbers that they have "
        "learned or drawn; their names and shapes go to standard error. attention-cli parts lists the parts, "
        "attention-cli mask --help the masks.");
    command.option("--spec SPEC", options->spec, "composition, or a .json file that holds one").required();
    command.option("--input FILE", options->input, ".safetensors file with q, k and v: [heads, tokens, width]");
    command.option("--random T,D", options->random,
                   "draw q, k and v from a normal distribution: T tokens, heads of width D");
    command.option("--seed N", options->seed, "seed of random inputs and of learned parameters");
    command.option("--layer N", options->layer, "layer, counted from 0, for parts that differ between layers")
        .range(0, 65535);
    command.option("--window Q0:Q1,K0:K1", options->window,
                   "write only these queries and keys of the pattern that linear attention implies; ends excluded, at "
                   "any length");
    command
        .option("--pixels N", options->pixels,
                "most rows and columns of a window; each number is then the largest of the cells that it covers")
        .range(1, 4096);
    addDevice(command, options->device);
    command.flag("--validation", options->validation, "load the Vulkan validation layer");
    command.option("--out FILE", options->out, "file to write: .safetensors or .npz").required();
    command.example("attention-cli attend --spec 'heads=multi_head(4), position=alibi, mask=causal & window(16)' "
                    "--random 64,16 --out attention.npz");
    command.action([=, &command] { return attend(command, *options); });
}

} // namespace attn::cli
