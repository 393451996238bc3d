#include "app/cli/analysis_options.h"

#include "engine/core/error.h"

#include <fmt/format.h>

#include <charconv>
#include <unistd.h>

namespace attn::cli {
namespace {

int tokenOf(const LanguageModel& model, const std::string& text, const char* option) {
    if (text.empty()) return -1;
    if (text.front() == '#' || !model.tokenizer()) {
        const char* begin = text.data() + (text.front() == '#' ? 1 : 0);
        int id = -1;
        const auto [end, error] = std::from_chars(begin, text.data() + text.size(), id);
        if (error == std::errc() && end == text.data() + text.size() && id >= 0 && id < model.info().vocabulary)
            return id;
        throw Error({.what = fmt::format("\"{}\" is no token of the model", text),
                     .where = option,
                     .hint = fmt::format("give a number from 0 to {}", model.info().vocabulary - 1)});
    }
    for (int id = 0; id < static_cast<int>(model.info().tokenTexts.size()); ++id)
        if (model.info().tokenTexts[static_cast<size_t>(id)] == text) return id;
    const std::vector<int> ids = model.tokenizer()->encode(text).ids;
    std::vector<int> own;
    for (int id : ids)
        if (!model.tokenizer()->isSpecial(id)) own.push_back(id);
    if (own.size() == 1) return own.front();
    throw Error({.what = fmt::format("\"{}\" is {} tokens", text, own.size()),
                 .where = option,
                 .hint = "give one token as the listings show it, or its number as #123"});
}

} // namespace

void TargetOptions::addTo(CLI::App& app) {
    app.add_option("--target", token, "token whose logit is asked about, or #ID; the likeliest when left out");
    app.add_option("--against", other, "token whose logit is taken away from it");
}

LogitTarget TargetOptions::read(const LanguageModel& model) const {
    return {.token = tokenOf(model, token, "--target"), .other = tokenOf(model, other, "--against")};
}

std::shared_ptr<AnalysisResult> runAnalysis(LanguageModel& model, std::vector<int> tokens, const Analysis& analysis) {
    const bool showsProgress = isatty(STDERR_FILENO) == 1;
    const auto report = [&](float fraction, const std::string& what) {
        if (showsProgress) fmt::print(stderr, "\r\x1b[K{:3.0f} %  {}", static_cast<double>(fraction) * 100, what);
    };
    auto result = analysis.run(model, {.tokens = std::move(tokens), .report = report});
    if (showsProgress) fmt::print(stderr, "\r\x1b[K");
    return result;
}

std::string tokenText(const LanguageModel& model, int token) {
    const auto& texts = model.info().tokenTexts;
    return token >= 0 && static_cast<size_t>(token) < texts.size()
               ? fmt::format("\"{}\"", texts[static_cast<size_t>(token)])
               : fmt::format("#{}", token);
}

nlohmann::json tokenJson(const LanguageModel& model, int token) {
    nlohmann::json json{{"id", token}};
    const auto& texts = model.info().tokenTexts;
    if (token >= 0 && static_cast<size_t>(token) < texts.size()) json["text"] = texts[static_cast<size_t>(token)];
    return json;
}

nlohmann::json targetJson(const LanguageModel& model, const LogitTarget& target) {
    nlohmann::json json{{"token", tokenJson(model, target.token)}};
    if (target.other >= 0) json["against"] = tokenJson(model, target.other);
    return json;
}

std::string targetText(const LanguageModel& model, const LogitTarget& target) {
    return target.other < 0 ? fmt::format("logit of {}", tokenText(model, target.token))
                            : fmt::format("logit of {} less that of {}", tokenText(model, target.token),
                                          tokenText(model, target.other));
}

void print(const nlohmann::json& json) {
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

} // namespace attn::cli
