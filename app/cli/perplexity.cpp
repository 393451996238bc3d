#include "app/cli/analysis_options.h"

#include "engine/analysis/logit_lens.h"
#include "engine/core/error.h"
#include "engine/inference/language_model.h"
#include "engine/io/input_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace attn::cli {
namespace {

struct PerplexityOptions {
    ModelOptions model;
    PromptOptions prompt;
    std::string file;
    bool json = false, each = false;
};

int perplexity(const PerplexityOptions& options) {
    const auto model = options.model.open(false);
    PromptOptions prompt = options.prompt;
    if (!options.file.empty()) {
        if (prompt.text || prompt.tokens)
            throw Error({.what = "the text is given twice",
                         .where = "--text",
                         .hint = "give only one of --text, --prompt and --tokens"});
        constexpr uint64_t kMostBytes = uint64_t{64} << 20; // hours of scoring
        prompt.text = readGivenText(options.file, kMostBytes);
        if (prompt.text->empty())
            throw Error({.what = "the file is empty", .where = options.file, .hint = "choose a file with some text"});
    }
    TokenScoresAnalysis analysis;
    analysis.tokens = prompt.encode(*model);
    const auto scores = std::static_pointer_cast<const TokenScores>(runAnalysis(*model, {.input = {}}, analysis));
    if (!std::isfinite(scores->meanLoss()))
        throw Error({.what = "a single token cannot be scored: nothing precedes it",
                     .where = "--prompt",
                     .hint = "give a longer text"});
    const auto predicted = scores->tokens.size() - 1;
    if (options.json) {
        nlohmann::json json{{"model", model->info().name},
                            {"tokens", predicted},
                            {"loss", scores->meanLoss()},
                            {"perplexity", scores->perplexity()}};
        if (options.each)
            for (size_t token = 1; token < scores->tokens.size(); ++token) {
                nlohmann::json each = tokenJson(model->info(), scores->tokens[token]);
                each["loss"] = scores->loss[token];
                each["entropy"] = scores->entropy[token];
                each["rank"] = scores->rank[token] + 1;
                json["each"].push_back(each);
            }
        print(json);
        return kDone;
    }
    if (options.each)
        for (size_t token = 1; token < scores->tokens.size(); ++token)
            fmt::print("{:8.3f} nats  entropy {:6.3f}  rank {:5}  {}\n", static_cast<double>(scores->loss[token]),
                       static_cast<double>(scores->entropy[token]), scores->rank[token] + 1,
                       tokenText(model->info(), scores->tokens[token]));
    fmt::print("perplexity {:.3f}  (loss {:.4f} nats over {} tokens)\n", scores->perplexity(), scores->meanLoss(),
               predicted);
    return kDone;
}

} // namespace

void addPerplexity(Command& command) {
    const auto options = std::make_shared<PerplexityOptions>();
    command.about(
        "Texts longer than the context are read in windows that overlap by half. Ranks count from 1: the most "
        "probable token has rank 1.");
    options->model.addTo(command);
    options->prompt.addTo(command);
    command.option("--text FILE", options->file, "text file to read instead of --prompt");
    command.flag("--each", options->each, "also print loss, entropy (both in nats) and rank of every token");
    addJson(command, options->json);
    command.example("attention-cli perplexity builtin:stories --prompt 'Once upon a time there was a cat.' --each");
    command.action([=] { return perplexity(*options); });
}

} // namespace attn::cli
