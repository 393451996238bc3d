#include "tests/bench/benches.h"
#include "tests/bench/measurements.h"

#include "engine/inference/language_model.h"
#include "engine/inference/text_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace attn::cli {
namespace {

struct BenchTextsOptions {
    std::string model = "builtin:stories";
    DeviceChoice device;
    int prompt = 8, tokens = 32, turns = 7;
    bool json = false;
};

/// The tokens of a prompt, which differ from text to text.
std::vector<int> promptOf(const BenchTextsOptions& options, int vocabulary, int text) {
    std::vector<int> tokens;
    for (int i = 0; i < options.prompt; ++i) tokens.push_back((7 * i * i + 3 * i * text + text + 1) % vocabulary);
    return tokens;
}

int mostProbable(std::span<const float> logits) {
    return static_cast<int>(std::ranges::max_element(logits) - logits.begin());
}

void writeInTurn(const BenchTextsOptions& options, LanguageModel& model, int texts) {
    for (int text = 0; text < texts; ++text) {
        model.truncate(0);
        std::vector<int> next = promptOf(options, model.info().vocabulary, text);
        for (int i = 0; i < options.tokens; ++i) {
            model.feed(next);
            next = {mostProbable(model.logits())};
        }
    }
}

void writeTogether(const BenchTextsOptions& options, LanguageModel& model, int texts) {
    TextBatch batch(
        model, {.texts = static_cast<size_t>(texts), .tokens = static_cast<size_t>(options.prompt + options.tokens)});
    std::vector<TextBatch::Next> next;
    for (int text = 0; text < texts; ++text) {
        batch.begin(text);
        next.push_back({text, promptOf(options, model.info().vocabulary, text)});
    }
    for (int i = 0; i < options.tokens; ++i) {
        batch.feed(next);
        for (auto& [text, tokens] : next) tokens = {mostProbable(batch.logits(text))};
    }
}

int benchTexts(const BenchTextsOptions& options) {
    using Clock = std::chrono::steady_clock;
    LanguageModel model(openModelSource(options.model), {.device = options.device, .inspects = false});
    Measurements results(options.json, 40);
    results.setDevice(model.device());
    for (const int texts : {1, 8, 64}) {
        std::vector<double> inTurn, together;
        for (int turn = 0; turn <= options.turns; ++turn) // the first compiles kernels
            for (const auto& [write, times] :
                 {std::pair(&writeInTurn, &inTurn), std::pair(&writeTogether, &together)}) {
                const auto begin = Clock::now();
                write(options, model, texts);
                if (turn > 0) times->push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
            }
        results.add(fmt::format("{} texts, one after another", texts), median(inTurn), "ms");
        results.add(fmt::format("{} texts in the same steps", texts), median(together), "ms");
    }
    results.finish();
    return kDone;
}

} // namespace

void addBenchTexts(Command& command) {
    const auto options = std::make_shared<BenchTextsOptions>();
    command.about("Writes 1, 8 and 64 texts one after another and in the same steps, in turns, and prints the median "
                  "times. Steps of several texts need a model whose attention is all computed by the fused kernel.");
    command.argument("PATH", options->model, "the model that writes");
    addDevice(command, options->device);
    command.option("--prompt N", options->prompt, "tokens of each prompt").range(1, 1000);
    command.option("--tokens N", options->tokens, "tokens to write after it").range(1, 1000);
    command.option("--turns N", options->turns, "turns that are measured").range(1, 1000);
    addJson(command, options->json);
    command.example("attention-bench texts");
    command.action([=] { return benchTexts(*options); });
}

} // namespace attn::cli
