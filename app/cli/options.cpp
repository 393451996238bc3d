#include "app/cli/command.h"
#include "app/cli/progress_line.h"

#include "app/arguments/numbers.h"
#include "app/figures/read_image.h"
#include "engine/attention/position/dependency_tree.h"
#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/inference/capture_file.h"
#include "engine/inference/language_model.h"
#include "engine/inference/vision_model.h"
#include "engine/models/bundled.h"

#include <fmt/format.h>

#include <QString>

#include <algorithm>

namespace attn::cli {
namespace {

/// Loads a model. Writes its warnings and progress to standard error.
template <class Model, class Source, class Options, class... More>
std::unique_ptr<Model> loaded(Source source, const Options& options, More... more) {
    ProgressLine line(false);
    const auto progress = [&](float fraction, const std::string& what) {
        line.show({.fraction = static_cast<double>(fraction), .sentence = "loading " + what});
    };
    auto model = std::make_unique<Model>(std::move(source), options, progress, more...);
    line.clear();
    for (const std::string& warning : model->info().warnings)
        fmt::print(stderr, "attention-cli: warning: {}\n", printableLines(warning));
    return model;
}

std::string readSize(const std::string& text, std::optional<ImageSize>& size) {
    auto sides = wholeNumbers(text, "x");
    if (!sides) sides = wholeNumbers(text, "");
    constexpr int64_t kMost = 8192;
    if (!sides || std::ranges::min(*sides) < 1 || std::ranges::max(*sides) > kMost)
        return fmt::format(
            "\"{}\" is not a size: write for example 224, or 224x336 (height x width); at most {} pixels "
            "on a side",
            text, kMost);
    size = {.height = sides->front(), .width = sides->back()};
    return {};
}

} // namespace

Encoding readText(const Tokenizer& tokenizer, const std::string& text, const std::optional<std::string>& second,
                  bool addSpecialTokens) {
    Encoding encoding = second ? tokenizer.readPair(text, *second) : tokenizer.read(text, addSpecialTokens);
    if (const std::string note = tokenizer.noteOn(encoding); !note.empty())
        fmt::print(stderr, "attention-cli: warning: {}\n", note);
    if (const std::vector<int>& ids = encoding.ids; tokenizer.beginsTwice(ids))
        fmt::print(
            stderr,
            "attention-cli: warning: the text begins with {0}, and the tokenizer puts {0} before every text: the "
            "model reads it twice\n",
            printable(tokenizer.tokenText(ids.front())));
    return encoding;
}

namespace {

std::string noTokenizer(const LanguageModel& model) {
    return model.info().tokenizerProblem.empty() ? "this model has no tokenizer"
                                                 : "this model's tokenizer cannot be read";
}

/// Stores the value of an option.
auto into(std::optional<std::string>& variable) {
    return [&variable](const std::string& given) {
        variable = given;
        return std::string();
    };
}

} // namespace

void ModelOptions::addTo(Command& command) {
    command
        .argument("PATH", path,
                  "model folder, .safetensors file, folder of a training run, or built-in model: " +
                      builtinModelNames())
        .required();
    addDevice(command, device);
    command
        .textOption(
            "--storage KIND",
            [this](const std::string& given) {
                const auto named = storageNamed(given);
                if (!named) return fmt::format("\"{}\" is not one of f32, f16, bf16, q8_0, q4_0, q4_k", given);
                storage = *named;
                return std::string();
            },
            "how weights are kept in memory: f32, f16, bf16, q8_0, q4_0 or q4_k. Fewer bits write faster and less "
            "exactly")
        .defaultText("f32");
    command.flag("--validation", validation, "load the Vulkan validation layer");
}

std::unique_ptr<LanguageModel> ModelOptions::open(bool inspects) const {
    return loaded<LanguageModel>(openModelSource(path),
                                 LanguageModel::Options{.device = choice(), .storage = storage, .inspects = inspects});
}

std::unique_ptr<VisionModel> ModelOptions::openVision(const std::optional<ImageSize>& size) const {
    return loaded<VisionModel>(openModelSource(path, size), LoadOptions{.device = choice(), .storage = storage});
}

DeviceChoice ModelOptions::choice() const {
    DeviceChoice result = device;
    result.validation = validation;
    return result;
}

void ImageOptions::addTo(Command& command, bool isRequired) {
    const Option& file =
        command.option("--image FILE", image, "picture for a vision model: PNG, JPEG, PPM, BMP, WebP ...")
            .required(isRequired);
    command
        .textOption(
            "--size N", [this](const std::string& text) { return readSize(text, asked); },
            "pixels at which the model reads the picture, for example 224 or 224x336 (height x width); positions "
            "are interpolated")
        .defaultText("the model's own size")
        .needs(file);
}

Image ImageOptions::read() const {
    auto result = readImage(QString::fromStdString(image));
    if (const auto* failure = std::get_if<Failure>(&result))
        throw Error({.what = failure->what, .where = failure->where, .hint = failure->hint});
    Image picture = std::get<Image>(std::move(result));
    if (!picture.remark.empty()) fmt::print(stderr, "attention-cli: {}: {}\n", printable(image), picture.remark);
    return picture;
}

void PromptOptions::addTo(Command& command) {
    const Option& asText = command.textOption("--prompt TEXT", into(text), "text that the model reads")
                               .defaultText("the model's own example");
    command.textOption("--tokens IDS", into(tokens), "token ids instead of text, for example 1,403,407")
        .excludes(asText);
}

void PromptOptions::addPairTo(Command& command) {
    command.textOption("--second TEXT", into(second), "second text of a pair, for a model that reads pairs");
    command.textOption("--token-types TYPES", into(types), "type of each token, for example 0,0,1")
        .defaultText("0, and 1 in the second text");
}

TextInput PromptOptions::encodeInput(const LanguageModel& model) const {
    std::vector<int> ids, given;
    if (!second) {
        ids = encode(model);
    } else {
        if (!model.info().readsPairs)
            throw Error({.what = "this model reads one text, not a pair",
                         .where = "--second",
                         .hint = "leave out the second text, or put it into --prompt"});
        if (tokens || !model.tokenizer())
            throw Error({.what = "a second text needs a first text and a tokenizer",
                         .where = "--second",
                         .hint = "give --prompt, or the token ids and types of both texts"});
        const Encoding pair = readText(*model.tokenizer(), text ? *text : model.source().example(), second);
        ids = pair.ids;
        given = pair.types;
    }
    if (types) {
        given = parseTokenIds(*types);
        if (given.size() != ids.size())
            throw Error({.what = fmt::format("there are {} token types for {} tokens", given.size(), ids.size()),
                         .where = "--token-types",
                         .hint = "give one type for each token"});
    }
    if (types && model.config().tokens.types == 0)
        fmt::print(stderr, "{} has no token types and ignores them.\n", model.info().name);
    std::vector<int> parents = readTree(model, ids.size());
    return {std::move(ids), std::move(given), encodeSource(model), std::move(parents)};
}

void noteTokensBehindTree(int64_t end, int64_t length) {
    if (end < length)
        fmt::print(stderr,
                   "The tree ends at token {}, and the text has {} tokens: those behind the tree have no position.\n",
                   end, length);
}

void PromptOptions::addTreeTo(Command& command) {
    command
        .textOption("--tree NUMBERS", into(tree),
                    "dependency tree of the text, for a model with position=dependency_tree: for each word the number "
                    "of the word it depends on, counted from 1, and 0 for the root; for example 2,0,2")
        .defaultText("the tree of the model's composition");
}

std::vector<int> PromptOptions::readTree(const LanguageModel& model, size_t length) const {
    if (!tree) return {};
    const auto parents = parentsFrom(*tree);
    if (!parents)
        throw Error({.what = fmt::format("\"{}\" is not a list of numbers of words", *tree),
                     .where = "--tree",
                     .hint = "write numbers with commas between them, such as 2,3,0,5,3,8,8,5"});
    if (const AttentionSpec* spec = treeSpec(model.config()))
        noteTokensBehindTree(treeOfText(*spec, *parents).end(), static_cast<int64_t>(length));
    return *parents;
}

void PromptOptions::addSourceTo(Command& command) {
    const Option& asText = command
                               .textOption("--source TEXT", into(source),
                                           "text to translate or to rewrite, for a model that reads a source; "
                                           "--prompt is then the beginning of what it writes")
                               .defaultText("the model's own example, if no --prompt is given");
    command.textOption("--source-tokens IDS", into(sourceTokens), "token ids of the source").excludes(asText);
}

std::vector<int> PromptOptions::encodeSource(const LanguageModel& model) const {
    if (sourceTokens) return parseTokenIds(*sourceTokens);
    const bool usesExample = !text && !tokens && model.info().readsSource && model.sourceTokenizer();
    if (!source && !usesExample) return {};
    if (!model.sourceTokenizer())
        throw Error({.what = noTokenizer(model),
                     .where = model.info().name,
                     .hint = "give token ids, for example --source-tokens 1,2,3"});
    return readText(*model.sourceTokenizer(), source ? *source : model.source().example()).ids;
}

std::vector<int> PromptOptions::encode(const LanguageModel& model) const {
    if (model.info().readsSource && !tokens) {
        std::vector<int> target{static_cast<int>(model.config().startToken)};
        if (text && !model.tokenizer())
            throw Error({.what = noTokenizer(model),
                         .where = model.info().name,
                         .hint = "give token ids, for example --tokens 1,2,3"});
        if (text)
            std::ranges::copy(readText(*model.tokenizer(), *text, std::nullopt, false).ids, std::back_inserter(target));
        return target;
    }
    if (!tokens && model.tokenizer() == nullptr)
        throw Error({.what = noTokenizer(model),
                     .where = model.info().name,
                     .hint = "give token ids, for example --tokens 1,2,3"});
    const std::string read = text ? *text : model.source().example();
    const std::vector<int> ids = tokens ? parseTokenIds(*tokens) : readText(*model.tokenizer(), read).ids;
    if (tokens ? ids.empty() : saysNothing(model, read, ids))
        throw Error({.what = "the prompt is empty",
                     .where = tokens ? "--tokens" : "--prompt",
                     .hint = tokens ? "give at least one token id" : "give some text"});
    return ids;
}

void addDevice(Command& command, DeviceChoice& choice) {
    command
        .textOption("--device DEVICE", into(choice.device),
                    "Vulkan device, by index or by part of its name; see attention-cli devices")
        .defaultText("ATTN_DEVICE, or the best device");
    command
        .textOption(
            "--kernels KIND",
            [&choice](const std::string& given) {
                choice.kernels = kernelsNamed(given);
                return choice.kernels ? std::string() : fmt::format("\"{}\" is not one of auto, shader, host", given);
            },
            "what computes: shader, the processor itself (host) where it is the device, or whatever is faster (auto)")
        .defaultText("ATTN_KERNELS, or auto");
}

void addJson(Command& command, bool& isJson) { command.flag("--json", isJson, "print JSON"); }

} // namespace attn::cli
