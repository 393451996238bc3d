#include "app/cli/analysis_options.h"

#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/inference/language_model.h"
#include "engine/models/vision_source.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
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
        throw Error({.what = fmt::format("the model has no token \"{}\"", text),
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
                 .hint = "give one token as results show it, or its number, for example #123"});
}

} // namespace

void TargetOptions::addTo(Command& command) {
    command.option("--target TOKEN", token, "token whose logit is measured, or #ID; of a picture, a class")
        .defaultText("the most probable one");
    command.option("--against TOKEN", other, "measure the target's logit minus the logit of this token or class");
}

LogitTarget TargetOptions::read(const LanguageModel& model) const {
    return {.token = tokenOf(model, token, "--target"), .other = tokenOf(model, other, "--against")};
}

std::unique_ptr<LanguageModel> openForText(const ModelOptions& model, const char* command) {
    if (isVisionModel(model.path))
        throw Error({.what = "this vision model reads pictures, not text",
                     .where = model.path,
                     .hint = fmt::format("give it a picture: attention-cli {} PATH --image FILE", command)});
    return model.open(true);
}

std::shared_ptr<AnalysisResult> runAnalysis(RunningModel& model, Input input, std::optional<Input> other,
                                            const Analysis& analysis) {
    const bool showsProgress = isatty(STDERR_FILENO) == 1;
    const auto report = [&](float fraction, const std::string& what) {
        if (showsProgress) fmt::print(stderr, "\r\x1b[K{:3.0f} %  {}", static_cast<double>(fraction) * 100, what);
    };
    auto result = analysis.run(model, {.input = std::move(input), .other = std::move(other), .report = report});
    if (showsProgress) fmt::print(stderr, "\r\x1b[K");
    return result;
}

std::string tokenText(const LanguageModel& model, int token) {
    const auto& texts = model.info().tokenTexts;
    return token >= 0 && static_cast<size_t>(token) < texts.size() ? inQuotes(texts[static_cast<size_t>(token)])
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
                            : fmt::format("logit of {} minus that of {}", tokenText(model, target.token),
                                          tokenText(model, target.other));
}

void print(const nlohmann::json& json) {
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

TargetName targetName(const LanguageModel& model, const LogitTarget& target) {
    return {targetText(model, target), std::make_shared<const nlohmann::json>(targetJson(model, target))};
}

void printEffects(const TargetName& target, const HeadEffects& effects, bool isJson) {
    struct Row {
        std::string name;
        float effect;
    };
    std::vector<Row> rows;
    const auto heads = static_cast<size_t>(effects.heads);
    for (size_t layer = 0; layer < static_cast<size_t>(effects.layers); ++layer) {
        for (size_t head = 0; head < heads; ++head)
            rows.push_back({fmt::format("layer {}, head {}", layer, head), effects.headEffects[layer * heads + head]});
        if (!effects.mlpEffects.empty())
            rows.push_back({fmt::format("layer {}, MLP", layer), effects.mlpEffects[layer]});
    }
    if (isJson) {
        nlohmann::json json{{"target", *target.json}, {"logit", effects.whole}};
        for (const Row& row : rows) json["without"].push_back({{"name", row.name}, {"effect", row.effect}});
        return print(json);
    }
    fmt::print("{}: {:+.4f}\nchange when one of these is removed:\n", target.text, static_cast<double>(effects.whole));
    std::ranges::stable_sort(rows, std::less(), &Row::effect);
    for (const Row& row : rows) fmt::print("{:+10.4f}  {}\n", static_cast<double>(row.effect), row.name);
}

void printPatching(const TargetName& target, const PatchEffects& effects, const std::vector<std::string>& tokens,
                   bool isJson) {
    const auto layers = static_cast<size_t>(effects.layers);
    if (isJson) {
        nlohmann::json json{
            {"target", *target.json}, {"hook", effects.hook}, {"own", effects.own}, {"other", effects.other}};
        for (size_t layer = 0; layer < layers; ++layer) {
            const auto row = std::span(effects.effects).subspan(layer * tokens.size(), tokens.size());
            json["effects"].push_back(std::vector<float>(row.begin(), row.end()));
        }
        return print(json);
    }
    fmt::print(
        "{}: {:+.4f} in this run, {:+.4f} in the other.\nShare of the gap that closes when {} of one layer at one "
        "token is copied from the other run:\n",
        target.text, static_cast<double>(effects.own), static_cast<double>(effects.other), effects.hook);
    fmt::print("{:16}", "");
    for (size_t layer = 0; layer < layers; ++layer) fmt::print(" {:>7}", fmt::format("L{}", layer));
    fmt::print("\n");
    for (size_t token = 0; token < tokens.size(); ++token) {
        fmt::print("{:16}", tokens[token]);
        for (size_t layer = 0; layer < layers; ++layer)
            fmt::print(" {:6.1f}%", 100 * static_cast<double>(effects.effects[layer * tokens.size() + token]));
        fmt::print("\n");
    }
}

void printContributions(const TargetName& target, float logit, std::span<const LogitAttribution::Component> components,
                        nlohmann::json more, const std::string& where, bool isJson) {
    more["components"] = nlohmann::json::array();
    double sum = 0;
    for (const auto& component : components) {
        sum += static_cast<double>(component.value);
        more["components"].push_back({{"name", component.name()}, {"value", component.value}});
        if (!isJson) fmt::print("{:+10.4f}  {}\n", static_cast<double>(component.value), component.name());
    }
    more["target"] = *target.json;
    more["logit"] = logit;
    more["sum"] = sum;
    if (isJson)
        print(more);
    else
        fmt::print("{:+10.4f}  sum; {}{} is {:+.4f}\n", sum, target.text, where, static_cast<double>(logit));
}

} // namespace attn::cli
