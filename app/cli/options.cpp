#include "app/cli/command.h"
#include "app/cli/progress_line.h"

#include "app/arguments/numbers.h"
#include "app/figures/read_image.h"
#include "engine/attention/position/dependency_tree.h"
#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/inference/capture_file.h"
#include "engine/inference/language_model.h"
#include "engine/inference/text_classes.h"
#include "engine/inference/vision_model.h"
#include "engine/io/image_preprocessing.h"
#include "engine/models/bundled.h"

#include <fmt/format.h>

#include <QString>

#include <algorithm>
#include <utility>

namespace attn::cli {
namespace {

/// A sentence on what a model does not see of a picture, or sees in another ratio of its sides; empty: it sees all.
std::string changeOf(const Image& image, ImagePreprocessing preprocessing) {
    const auto crop = std::exchange(preprocessing.crop, {}), kept = std::exchange(preprocessing.kept, {});
    const ImageSize size = fitted(image, preprocessing).size();
    ImageSize seen = size;
    for (const auto& part : {crop, kept})
        if (part) seen = {std::min(seen.height, part->height), std::min(seen.width, part->width)};
    if (seen.area() < size.area())
        return fmt::format("the picture is cropped: the model sees {:.0f} % of it, the {}",
                           100 * static_cast<double>(seen.area()) / static_cast<double>(size.area()),
                           crop ? "middle" : "top left");
    if (preprocessing.resize && image.width * size.height != image.height * size.width)
        return fmt::format("the picture of {} x {} pixels is resized to {} x {}, which changes the ratio of its sides",
                           image.width, image.height, size.width, size.height);
    return {};
}

/// Loads a model. Writes its warnings and progress to standard error.
template <class Model, class Source, class Options, class... More>
std::unique_ptr<Model> loaded(Source source, const Options& options, More... more) {
    ProgressLine line(false);
    const auto progress = [&](float fraction, const std::string& what) {
        line.show({.fraction = static_cast<double>(fraction), .sentence = "loading " + what});
    };
    auto model = std::make_unique<Model>(std::move(source), options, progress, more...);
    line.clear();
    printWarnings(model->info().warnings);
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

void printWarnings(const std::vector<std::string>& warnings) {
    for (const std::string& warning : warnings)
        fmt::print(stderr, "attention-cli: warning: {}\n", printableLines(warning));
}

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

/// @throws Error unless the text is a list of whole numbers from 0 on
std::vector<int> tokenTypes(std::string text) {
    std::erase(text, ' ');
    const auto numbers = wholeNumbers(text, std::string(static_cast<size_t>(std::ranges::count(text, ',')), ','));
    constexpr int64_t kMost = 65535; // far more than a model has
    if (!numbers || std::ranges::min(*numbers) < 0 || std::ranges::max(*numbers) > kMost)
        throw Error({.what = fmt::format("{} is not a list of token types", inQuotes(text)),
                     .where = "--token-types",
                     .hint = "write a whole number from 0 on for each token, with commas between them, such as 0,0,1"});
    return {numbers->begin(), numbers->end()};
}

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
    addDevice(command, device, without != "--kernels");
    if (without != "--storage")
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

void refuseIdle(const Command& command, std::initializer_list<std::string_view> options, std::string_view with,
                std::string_view readers) {
    const auto idle = std::ranges::find_if(options, [&](std::string_view each) { return command.isGiven(each); });
    if (idle == options.end()) return;
    throw Error({.what = fmt::format("{} changes nothing with {}", *idle, with),
                 .where = {},
                 .hint = fmt::format("leave it out; it is for {}", readers)});
}

void ImageOptions::addTo(Command& given, bool isRequired) {
    command = &given;
    const Option& file =
        given.option("--image FILE", image, "picture for a vision model: PNG, JPEG, PPM, BMP, WebP ...")
            .required(isRequired);
    given
        .textOption(
            "--size N", [this](const std::string& text) { return readSize(text, asked); },
            "pixels at which the model reads the picture, for example 224 or 224x336 (height x width); positions "
            "are interpolated")
        .defaultText("the model's own size")
        .needs(file);
}

Image ImageOptions::read() const {
    if (command)
        refuseIdle(*command,
                   {"--prompt", "--tokens", "--second", "--token-types", "--tree", "--source", "--source-tokens"},
                   "a picture", "texts");
    auto result = readImage(QString::fromStdString(image));
    if (const auto* failure = std::get_if<Failure>(&result))
        throw Error({.what = failure->what, .where = failure->where, .hint = failure->hint});
    Image picture = std::get<Image>(std::move(result));
    if (!picture.remark.empty()) fmt::print(stderr, "attention-cli: {}: {}\n", printable(image), picture.remark);
    return picture;
}

std::vector<std::string> notesOn(const Image& image, const VisionModel& model) {
    std::vector<std::string> notes;
    if (!image.remark.empty()) notes.push_back(image.remark);
    if (const std::string change = changeOf(image, model.source().preprocessing()); !change.empty()) {
        fmt::print(stderr, "attention-cli: {}\n", change);
        notes.push_back(change);
    }
    return notes;
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

void PromptOptions::requirePassage(const LanguageModel& model, const std::vector<int>& ids,
                                   const std::vector<int>& given) const {
    const bool isNamed = tokens || (second && second->find_first_not_of(" \t\r\n") != std::string::npos);
    const Passage passage = passageOf(ids, given, model.tokenizer());
    if (isNamed && passage.begin < passage.end) return;
    throw Error({.what = "this model looks for an answer in a passage, and none is given",
                 .where = "--second",
                 .hint = "give the question with --prompt and the passage with --second"});
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
        if (model.config().tokens.types == 0)
            throw Error({.what = "this model has no token types", .where = "--token-types", .hint = "leave them out"});
        given = tokenTypes(*types);
        if (given.size() != ids.size())
            throw Error({.what = fmt::format("there are {} token types for {} tokens", given.size(), ids.size()),
                         .where = "--token-types",
                         .hint = "give one type for each token"});
    }
    if (model.config().readout() == TextReadout::Span) requirePassage(model, ids, given);
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
    const AttentionSpec* spec = treeSpec(model.config());
    if (!spec)
        throw Error(
            {.what = "this model reads no trees, but the text has one",
             .where = model.info().name,
             .hint = "leave out the tree, or choose a model whose layers all have the same positions in a tree"});
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
    if ((source || sourceTokens) && !model.info().readsSource)
        throw Error({.what = "this model has no encoder that could read a source",
                     .where = model.info().name,
                     .hint = "put the whole text into the prompt"});
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

std::vector<int64_t> doublingUpTo(int64_t first, int64_t last) {
    std::vector<int64_t> numbers;
    for (int64_t number = first; number < last; number *= 2) numbers.push_back(number);
    numbers.push_back(last);
    return numbers;
}

void addDevice(Command& command, DeviceChoice& choice, bool computes) {
    command
        .textOption("--device DEVICE", into(choice.device),
                    "Vulkan device, by index or by part of its name; see attention-cli devices")
        .defaultText("ATTN_DEVICE, or the best device");
    if (!computes) return;
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
