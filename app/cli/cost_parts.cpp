#include "app/cli/cost_parts.h"

#include "app/arguments/run_program.h"
#include "app/cli/progress_line.h"

#include "engine/attention/catalogue.h"
#include "engine/core/error.h"
#include "engine/playground/attention_cost.h"
#include "engine/playground/part_growth.h"
#include "engine/system/atomic_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace attn::cli {
namespace {

constexpr std::array<int64_t, 4> kLengths{512, 1024, 2048, 4096};
constexpr int kRounds = 2; // another program may slow one round down

/// The smallest median of several rounds, in milliseconds.
double timeOf(Device& device, const AttentionSpec& spec, const AttentionSizes& sizes) {
    double least = std::numeric_limits<double>::infinity();
    for (int round = 0; round < kRounds; ++round)
        least = std::min(least, *measureAttention(device, spec, sizes, [] { return false; })->milliseconds);
    return least;
}

} // namespace

int costOfParts(Device& device, int64_t width, const std::string& out) {
    std::string table = fmt::format("slot\tpart\t{}\n", fmt::join(kLengths, "\t"));
    fmt::print("{:14} {:20} {:>10} {:>10} {:>10} {:>10}  operations      time\n", "slot", "part", "512: ms", "1024: ms",
               "2048: ms", "4096: ms");
    std::vector<const Part*> parts;
    for (const Part* part : partCatalogue())
        if (!isOfBlock(*part)) parts.push_back(part); // those run beside an attention, never alone
    ProgressLine shown(false);
    int64_t done = 0;
    for (const Part* part : parts) {
        std::vector<std::pair<double, double>> times, operations;
        std::string row = fmt::format("{:14} {:20}", nameOf(part->slot), part->id);
        table += fmt::format("{}\t{}", nameOf(part->slot), part->id);
        for (const int64_t tokens : kLengths) {
            Progress progress = ofSteps(done++, static_cast<int64_t>(parts.size() * kLengths.size()));
            progress.sentence = part->id;
            shown.show(std::move(progress));
            const AttentionSizes sizes{.queries = tokens, .keys = tokens, .width = width};
            const AttentionSpec spec = specOfPart(*part, tokens);
            try {
                times.emplace_back(tokens, timeOf(device, spec, sizes));
            } catch (const Error&) { // its length needs more memory than the device has
                if (times.size() < 2) throw;
                row += fmt::format(" {:>10}", "-");
                table += "\t-";
                continue;
            }
            operations.emplace_back(tokens, attentionCost(spec, sizes).operations);
            table += fmt::format("\t{:.4f}", times.back().second);
            row += fmt::format(" {:10.3f}", times.back().second);
        }
        shown.clear();
        fmt::print("{}      T^{:.2f}    T^{:.2f}\n", row, growthExponent(operations), growthExponent(times));
        flushOutput();
        table += '\n';
    }
    if (!out.empty()) writeAtomically(out, table);
    return kDone;
}

} // namespace attn::cli
