#include "app/cli/analysis_options.h"

#include "app/cli/progress_line.h"
#include "engine/analysis/text_rows.h"
#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/inference/language_model.h"
#include "engine/inference/vision_model.h"
#include "engine/models/head_name.h"
#include "engine/models/model_source.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>

namespace attn::cli {
namespace {

/// A whole number, -1 for anything else.
int numberOf(std::string_view text) {
    int value = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

/// @param option that names the token  @throws Error if the text names none, or one that the model has no logit for
int tokenNamed(const LanguageModel& model, const std::string& text, const char* option) {
    const ModelInfo& info = model.info();
    const auto known = [&](int id) {
        if (id < info.vocabulary) return id;
        throw Error({.what = fmt::format("the tokenizer has {} as number {}, but the model has only {} tokens",
                                         inQuotes(text), id, info.vocabulary),
                     .where = option,
                     .hint = fmt::format("name a token up to #{}", info.vocabulary - 1)});
    };
    if (text.front() == '#' || !model.tokenizer()) {
        const int id = numberOf(std::string_view(text).substr(text.front() == '#' ? 1 : 0));
        if (id >= 0 && id < info.vocabulary) return id;
        throw Error({.what = fmt::format("the model has no token {}", inQuotes(text)),
                     .where = option,
                     .hint = fmt::format("give a number from 0 to {}", info.vocabulary - 1)});
    }
    for (int id = 0; id < static_cast<int>(info.tokenTexts.size()); ++id)
        if (info.tokenTexts[static_cast<size_t>(id)] == text) return known(id);
    const Encoding encoding = model.tokenizer()->readWhole(text);
    std::vector<int> own;
    for (int id : encoding.ids)
        if (!model.tokenizer()->isSpecial(id)) own.push_back(id);
    if (own.size() == 1 && encoding.missing.empty()) return known(own.front());
    throw Error({.what = encoding.missing.empty() ? fmt::format("\"{}\" is {} tokens", text, own.size())
                                                  : model.tokenizer()->noteOn(encoding),
                 .where = option,
                 .hint = "give one token as results show it, or its number, for example #123"});
}

int classNamed(const ModelInfo& info, const std::string& text, const char* option) {
    for (int index = 0; index < info.classes; ++index)
        if (info.labelOf(index) == text) return index;
    const int index = numberOf(text);
    if (index >= 0 && index < info.classes) return index;
    throw Error({.what = fmt::format("there is no class {}", inQuotes(text)),
                 .where = option,
                 .hint = info.classes == 0 ? "this model has no classifier"
                                           : fmt::format("give a label, or a number from 0 to {}", info.classes - 1)});
}

} // namespace

void AnalysisOptions::addTo(Command& command) {
    model.addTo(command);
    if (hasPrompt) {
        prompt.addTo(command);
        prompt.addPairTo(command);
        prompt.addTreeTo(command);
        prompt.addSourceTo(command);
    }
    picture.addTo(command, false);
}

void AnalysisOptions::addTargetTo(Command& command) {
    command.option("--target TOKEN", target, "token whose logit is measured, or #ID; of a picture, a class")
        .defaultText("the most probable one");
    command.option("--against TOKEN", against, "measure the target's logit minus the logit of this token or class");
}

Asked::Asked(const AnalysisOptions& options, const char* command, const std::string& from)
    : target_(options.target), against_(options.against) {
    if (!options.picture.image.empty()) {
        if (axisOfModel(options.model.path) == AxisKind::Tokens)
            throw Error({.what = "this model reads text, not pictures",
                         .where = options.model.path,
                         .hint = "leave out --image, or name a vision model"});
        picture_ = options.picture.read(); // reads it before a large model is loaded
        const std::optional<Image> other =
            from.empty() ? std::nullopt : std::optional(ImageOptions{.image = from}.read());
        auto model = options.model.openVision(options.picture.asked);
        notes_ = notesOn(*picture_, *model);
        input_ = model->patchesOf(*picture_);
        if (other) other_ = model->patchesOf(*other);
        model_ = std::move(model);
        return;
    }
    if (axisOfModel(options.model.path) == AxisKind::Patches)
        throw Error({.what = "this vision model reads pictures, not text",
                     .where = options.model.path,
                     .hint = fmt::format("give it a picture: attention-cli {} PATH --image FILE", command)});
    auto model = options.model.open(true);
    if (options.hasPrompt) input_ = options.prompt.encodeInput(*model);
    const Tokenizer* reads = model->info().readsSource ? model->sourceTokenizer() : model->tokenizer();
    if (!from.empty() && reads) readText(*reads, from); // only for its warning: the analysis reads the text
    model_ = std::move(model);
}

int Asked::choiceNamed(const std::string& text, const char* option) const {
    if (text.empty()) return -1;
    return hasClasses() || !isText() ? classNamed(info(), text, option)
                                     : tokenNamed(languageModel(*model_), text, option);
}

void Asked::refusePosition(const Command& command) const {
    if (hasClasses())
        refuseIdle(command, {"--position"},
                   fmt::format("a class, which {} says of the whole {}", info().name, isText() ? "text" : "picture"),
                   "models that predict tokens");
}

LogitTarget Asked::target() const {
    const LogitTarget target{.token = choiceNamed(target_, "--target"), .other = choiceNamed(against_, "--against")};
    if (target.token >= 0 && target.token == target.other)
        throw Error({.what = fmt::format("--target and --against are both {}, so their difference is always 0",
                                         choice(target.token)),
                     .where = "--against",
                     .hint = "name another one, or leave it out"});
    return target;
}

std::shared_ptr<AnalysisResult> Asked::runAny(const Analysis& analysis) const {
    return runAnalysis(*model_, {.input = input_, .other = other_}, analysis);
}

std::string Asked::choice(int index) const {
    return hasClasses() ? inQuotes(info().labelOf(index)) : tokenText(info(), index);
}

nlohmann::json Asked::choiceJson(int index) const {
    if (!hasClasses()) return tokenJson(info(), index);
    return {{"index", index}, {"label", info().labelOf(index)}};
}

std::string Asked::targetText(const LogitTarget& target) const {
    return target.other < 0 ? fmt::format("logit of {}", choice(target.token))
                            : fmt::format("logit of {} minus that of {}", choice(target.token), choice(target.other));
}

nlohmann::json Asked::targetJson(const LogitTarget& target) const {
    nlohmann::json json{{hasClasses() ? "class" : "token", choiceJson(target.token)}};
    if (target.other >= 0) json["against"] = choiceJson(target.other);
    return json;
}

size_t Asked::firstRow(int stream) const { return TextRows(info().structure, input_).first(stream); }

std::string Asked::headName(int site, int head) const { return attn::headName(info().structure.labelOf(site), head); }

std::string Asked::rowName(size_t row) const {
    if (isText()) {
        const std::vector<int>& source = input_.source();
        if (row >= source.size()) return tokenText(info(), input_.tokens()[row - source.size()]);
        const Tokenizer* tokenizer = languageModel(*model_).sourceTokenizer();
        return tokenizer ? inQuotes(tokenizer->tokenText(source[row])) : fmt::format("#{}", source[row]);
    }
    if (row < firstPatch()) return info().prefix[row];
    const auto patch = static_cast<int64_t>(row - firstPatch());
    return fmt::format("patch {}, {}", patch / info().grid.width, patch % info().grid.width);
}

nlohmann::json Asked::rowJson(size_t row) const {
    if (isText()) {
        const std::vector<int>& source = input_.source();
        if (row >= source.size()) return tokenJson(info(), input_.tokens()[row - source.size()]);
        nlohmann::json json{{"id", source[row]}, {"isOfSource", true}};
        if (const Tokenizer* tokenizer = languageModel(*model_).sourceTokenizer())
            json["text"] = tokenizer->tokenText(source[row]);
        return json;
    }
    if (row < firstPatch()) return {{"token", info().prefix[row]}};
    const auto patch = static_cast<int64_t>(row - firstPatch());
    return {{"row", patch / info().grid.width}, {"column", patch % info().grid.width}};
}

std::shared_ptr<AnalysisResult> runAnalysis(RunningModel& model, const AnalysisContext& context,
                                            const Analysis& analysis) {
    ProgressLine line;
    AnalysisContext reported = context;
    reported.report = [&](float fraction, const std::string& what) {
        line.show({.fraction = static_cast<double>(fraction), .sentence = what});
    };
    return attn::runAnalysis(analysis, model, reported);
}

void Asked::print(nlohmann::json json) const { attn::cli::print(std::move(json), info(), notes_); }

std::string tokenText(const ModelInfo& model, int token) {
    const auto& texts = model.tokenTexts;
    return token >= 0 && static_cast<size_t>(token) < texts.size() ? inQuotes(texts[static_cast<size_t>(token)])
                                                                   : fmt::format("#{}", token);
}

nlohmann::json tokenJson(const ModelInfo& model, int token) {
    nlohmann::json json{{"id", token}};
    const auto& texts = model.tokenTexts;
    if (token >= 0 && static_cast<size_t>(token) < texts.size()) json["text"] = texts[static_cast<size_t>(token)];
    return json;
}

void print(nlohmann::json json, const ModelInfo& model, const std::vector<std::string>& input) {
    json["warnings"] = model.warnings;
    for (const std::string& warning : input) json["warnings"].push_back(warning);
    print(json);
}

void print(const nlohmann::json& json) {
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

} // namespace attn::cli
