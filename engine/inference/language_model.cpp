#include "engine/inference/language_model.h"

#include "engine/attention/execution.h"
#include "engine/attention/position/dependency_tree.h"
#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/inference/graph_sources.h"
#include "engine/inference/memory.h"
#include "engine/inference/step_plan.h"
#include "engine/inference/wrong_model.h"
#include "engine/models/tree_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace attn {
namespace {

/// Below this number of parameters, a dispatch on software Vulkan costs more than its work, unless it runs on the
/// submitting thread.
constexpr int64_t kInlineParameters = 4'000'000;
/// A model that forms scores runs at most so many tokens: what it forms grows with their square.
constexpr int64_t kMostFormed = 4096;
/// No view shows more: 1,024 pixels of 512 tokens.
constexpr int64_t kMostShown = int64_t{1} << 19;

} // namespace

LanguageModel::LanguageModel(std::unique_ptr<ModelSource> source, const Options& options, const Progress& progress)
    : RunningModel(std::move(source), AxisKind::Tokens), options_(options),
      capacity_(std::min(config().context, kMostFormed)), steps_(std::make_unique<Steps>()),
      changedSteps_(std::make_unique<Steps>()) {
    if (const auto& encoder = config().encoder)
        sourceCapacity_ = std::min(encoder->rowsOf(encoder->lastLayer()), kMostFormed);
    runsAnyLength_ = attn::runsAnyLength(config());
    isCached_ = writesFromCache(config());
    if (isCached_) capacity_ = std::min(config().context, options_.cacheRows);
    const ModelGraph described =
        isCached_
            ? buildModel(config(), {.queries = 1, .cacheCapacity = capacity_, .recordsQueries = options_.inspects})
            : buildForListing(config());
    info_ = modelInfo(*source_, capacity_);
    info_.parameterCount = parameterCount(*described.graph);
    prepare(options_, described, info_.parameterCount < kInlineParameters);
    memory_ = std::make_unique<Memory>(*store_);
    if (isCached_) {
        memory_->allocate(sourcesOf(*described.graph, NodeKind::State), capacity_);
        capacity_ = longestText();
    } else {
        prepareSteps();
    }
    if (cacheRows() != capacity_) describe(capacity_);
    info_.cacheTokenBytes = static_cast<int64_t>(memory_->rowBytes());
    if (!options_.shared.store) load(progress);
    patterns_ = makePatterns(*this);
}

LanguageModel::~LanguageModel() = default;

int64_t LanguageModel::longestText() const {
    const int64_t rows = memory_->rows();
    const KernelTraits traits = device_->kernelTraits();
    // Shaders that software Vulkan runs end their loops after a number of rounds.
    if (config().context <= rows || (traits.prefersSubgroupTiles && !traits.usesHost)) return rows;
    const uint64_t free = device_->freeBytes(), views = free / 8;
    auto most = rows + static_cast<int64_t>((free - views) / std::max<uint64_t>(memory_->rowBytes(), 1));
    if (!traits.usesHost)
        most = std::min(most, static_cast<int64_t>(traits.maxStorageBufferRange / memory_->largestRow()));
    return std::max(rows, std::min({config().context, most, kMostShown}));
}

std::string LanguageModel::whyNoMore() const {
    if (capacity_ >= config().context) return {};
    if (!isCached_) return ", as its patterns are computed whole";
    if (const KernelTraits traits = device_->kernelTraits(); traits.prefersSubgroupTiles && !traits.usesHost)
        return ", the most for shaders of software Vulkan";
    if (capacity_ == kMostShown) return ", which no view exceeds";
    return fmt::format(", whose keys and values take {} MiB on {}", cacheBytes(static_cast<size_t>(capacity_)) >> 20,
                       device_->name());
}

int64_t LanguageModel::cacheRows() const { return isCached_ ? memory_->rows() : capacity_; }

uint64_t LanguageModel::cacheBytes(size_t tokens) const { return tokens * memory_->rowBytes(); }

size_t LanguageModel::written() const {
    const size_t alone = memory_->written();
    return alone - (options_.inspects && alone > 0 ? 1 : 0);
}

void LanguageModel::makeRoom(size_t tokens) {
    const auto wanted = static_cast<int64_t>(tokens), rows = cacheRows();
    if (wanted <= rows) return;
    int64_t many = rows;
    while (many < wanted) many *= 2; // so that a text that grows is rarely copied
    for (int64_t count : {many, wanted + 1024, wanted}) {
        count = std::min(count, capacity_);
        if (static_cast<uint64_t>(count - rows) * memory_->rowBytes() <= device_->freeBytes()) return setRoom(count);
    }
    throw Error(
        {.what = fmt::format("{} tokens need a cache of {} MiB: it has {} MiB, and {} has only {} MiB free",
                             groupDigits(tokens), cacheBytes(tokens) >> 20, cacheBytes(static_cast<size_t>(rows)) >> 20,
                             device_->name(), device_->freeBytes() >> 20),
         .where = info_.name,
         .hint = "shorten the text, close other programs, or keep the weights in fewer bits"});
}

void LanguageModel::setRoom(int64_t rows) {
    *steps_ = {};
    *changedSteps_ = {};
    newest_ = nullptr;
    patterns_ = makePatterns(*this); // before, as it may fail
    ++roomChanges_;
    memory_->grow(rows);
}

void LanguageModel::returnRoom(size_t tokens, int share) {
    const int64_t least = std::min(config().context, options_.cacheRows);
    const int64_t enough = std::max(least, static_cast<int64_t>(std::bit_ceil(tokens)));
    if (isCached_ && enough < cacheRows() && static_cast<int64_t>(tokens) <= std::max(least, cacheRows() / share))
        setRoom(enough);
}

AttentionRule LanguageModel::ruleOf(int layer) const {
    const LayerAttention& attention = attentionOf(layer);
    return kernelRule(attention.spec, cacheRows(), attention.headWidth, layer).value_or(AttentionRule{});
}

void LanguageModel::require(const Input& input) const {
    const bool readsNumbers = config().encoder && config().encoder->numbers();
    if (!input.isText() || (!input.patches().empty() && !readsNumbers))
        throw Error({.what = "this model reads text, not pictures", .where = info_.name, .hint = "enter a prompt"});
    const std::vector<int>& tokens = input.tokens();
    if (tokens.empty())
        throw Error({.what = "there are no tokens to run", .where = info_.name, .hint = "enter a prompt"});
    requireTokens(tokens, tokens.size(), capacity_);
    requireTree(input.text());
    requireSource(input);
    if (input.types().size() > tokens.size())
        throw Error({.what = fmt::format("there are {} token types for {} tokens", input.types().size(), tokens.size()),
                     .where = info_.name,
                     .hint = "give one type for each token"});
    for (const int type : input.types())
        if (config().tokens.types > 0 && (type < 0 || type >= config().tokens.types))
            throw Error({.what = fmt::format("there is no token type {}", type),
                         .where = info_.name,
                         .hint = fmt::format("the model has the types 0 to {}", config().tokens.types - 1)});
}

void LanguageModel::requireTokens(std::span<const int> tokens, size_t length, int64_t most) const {
    if (length > static_cast<size_t>(most))
        throw Error({.what = fmt::format("{} tokens do not fit into the context of {}{}", length, most,
                                         most < config().context ? whyNoMore() : std::string()),
                     .where = info_.name,
                     .hint = "shorten the text"});
    for (const int token : tokens)
        if (token < 0 || token >= info_.vocabulary)
            throw Error({.what = fmt::format("{} is outside the vocabulary of {}",
                                             Tokenizer::titleOf(tokenizer(), token), info_.vocabulary),
                         .where = info_.name,
                         .hint = "use the tokenizer that belongs to the model"});
}

void LanguageModel::requireTree(const TextInput& input) const {
    const AttentionSpec* spec = treeSpec(config());
    if (!input.parents.empty() && !spec)
        throw Error({.what = "this model reads no trees, but the text has one",
                     .where = info_.name,
                     .hint = "leave out the tree, or choose a model whose layers all have the same "
                             "position=dependency_tree"});
    if (!spec) return;
    const DependencyTree tree = treeOfText(*spec, input.parents);
    if (isEncoder(config())) requireWords(tree, std::ssize(input.tokens), info_.name);
}

void LanguageModel::requireSource(const Input& input) const {
    const std::vector<int>& source = input.source();
    if (const auto numbers = config().encoder ? config().encoder->numbers() : std::nullopt) {
        if (std::ssize(input.patches()) == numbers->elements()) return;
        throw Error({.what = fmt::format("{} values are not {} {} of {} values", input.patches().size(), (*numbers)[0],
                                         nameOf(config().encoder->axis), (*numbers)[1]),
                     .where = info_.name,
                     .hint = "give numbers of the size that the model reads"});
    }
    const StreamSpec* reader = config().source(AxisKind::Tokens);
    if (!reader) {
        if (source.empty()) return;
        throw Error({.what = "this model has no encoder that could read a source",
                     .where = info_.name,
                     .hint = "put the whole text into the prompt"});
    }
    if (source.empty())
        throw Error({.what = "this model reads a source, and none is given", .where = info_.name, .hint = "enter one"});
    const auto most = static_cast<size_t>(sourceCapacity_);
    if (source.size() > most)
        throw Error({.what = fmt::format("a source of {} tokens does not fit: {} are the most", source.size(), most),
                     .where = info_.name,
                     .hint = "shorten the source"});
    for (const int token : source)
        if (token < 0 || token >= reader->tokens.vocabulary)
            throw Error({.what = fmt::format("{} of the source is outside the vocabulary of {}",
                                             Tokenizer::titleOf(sourceTokenizer(), token), reader->tokens.vocabulary),
                         .where = info_.name,
                         .hint = "use the tokenizer that belongs to the model"});
}

std::optional<TextClasses> LanguageModel::classes() const {
    const ReadoutSpec& readout = config().classReadout();
    if (readout.labels.empty() || tokens_.empty()) return {};
    return TextClasses{.readout = readout.kind,
                       .activation = readout.activation,
                       .labels = readout.labels,
                       .logits = classLogits_,
                       .passage = passageOf(tokens_, sides_.types(), tokenizer())};
}

std::vector<float> LanguageModel::predict(const Input& input, const Cancelled& isCancelled) {
    require(input);
    truncate(0);
    setSides(input);
    if (!feed(input.tokens(), isCancelled)) return {};
    return info_.classes > 0 ? classLogits_ : logits_;
}

std::vector<float> LanguageModel::predictFrom(const Input& input, size_t row) {
    require(input);
    setSides(input);
    const std::span<const int> tokens = input.tokens();
    row = std::min(row, tokens.size() - 1); // the last token gives the logits
    const bool isHeld = tokens_.size() >= row && std::ranges::equal(tokens.first(row), std::span(tokens_).first(row));
    truncate(isHeld ? row : 0);
    feed(tokens.subspan(tokens_.size()));
    return info_.classes > 0 ? classLogits_ : logits_;
}

ModelGraph LanguageModel::stepGraph(int64_t queries, int64_t keys) const {
    const int64_t source = sourceRows(sides_);
    return buildModel(config(), {.queries = queries,
                                 .cacheCapacity = cacheRows(),
                                 .sourceCapacity = sourceCapacity_,
                                 .source = source == 0 ? wholeRows(1) : source,
                                 .keys = keys == 0 ? cacheRows() : keys,
                                 .recordsQueries = options_.inspects,
                                 .changed = changedHooks()});
}

LanguageModel::Steps& LanguageModel::currentSteps() const { return changedHooks().empty() ? *steps_ : *changedSteps_; }

const GpuExecutor* LanguageModel::newestExecutor() const {
    if (noCacheReason_.empty()) return newest_ ? newest_->executor.get() : nullptr;
    const Step* whole = currentSteps().whole.get();
    return whole ? whole->executor.get() : nullptr;
}

StepParams LanguageModel::writeStep(GpuExecutor& executor, size_t first, std::span<const int> tokens) const {
    const std::span<int32_t> ids = executor.inputIntegers(decoder_names::kTokens),
                             positions = executor.inputIntegers(decoder_names::kPositions);
    for (size_t i = 0; i < tokens.size(); ++i) {
        ids[i] = tokens[i];
        positions[i] = static_cast<int32_t>(first + i);
    }
    if (config().source(AxisKind::Tokens))
        writePositions(executor, config().encoder->inputs, sides_.source().size(), config().encoder->context);
    writeTree(executor, first, sides_.parents());
    writeGates(executor);
    writeChanges(executor, first, tokens.size());
    StepParams params;
    params[StepScalar::QueryLength] = static_cast<uint32_t>(tokens.size());
    params[StepScalar::CacheOffset] = static_cast<uint32_t>(first);
    params[StepScalar::KeyLength] = static_cast<uint32_t>(first + tokens.size());
    return params;
}

Input LanguageModel::typed(std::span<const int> tokens) const {
    TextInput text = sides_.text();
    text.tokens.assign(tokens.begin(), tokens.end());
    text.types.resize(std::min(text.types.size(), tokens.size()));
    return {std::move(text), sides_.patches()};
}

void LanguageModel::setSides(const Input& input) {
    TextInput text = input.text();
    text.tokens.clear();
    if (config().tokens.types == 0) text.types.clear();
    Input sides{std::move(text), input.patches()};
    if (sides == sides_) return;
    truncate(0);
    if (sides.source() != sides_.source() || sides.patches() != sides_.patches()) memory_->keepSource(false);
    memory_->forgetBranches();
    sides_ = std::move(sides);
}

void LanguageModel::writeTree(GpuExecutor& executor, size_t first, const std::vector<int>& parents) const {
    if (const AttentionSpec* spec = treeSpec(config()))
        writeTrees(executor, static_cast<int64_t>(first), std::array{treeOfText(*spec, parents)});
}

void LanguageModel::setPrefix(size_t tokens) {
    if (!config().hasPrefix || prefix_ == tokens) return;
    truncate(0);
    prefix_ = tokens;
}

int64_t LanguageModel::rowsAlong(int axis, size_t tokens, size_t source) const {
    const auto& axes = info_.structure.axes;
    if (axis + 1 == std::ssize(axes)) return static_cast<int64_t>(tokens);
    const Axis& other = axes[static_cast<size_t>(axis)];
    return other.kind == AxisKind::Tokens ? static_cast<int64_t>(source) : other.length;
}

int LanguageModel::rowsOfStream(int stream) const {
    const int axis = info_.structure.streams[static_cast<size_t>(stream)].axis;
    return static_cast<int>(rowsAlong(axis, tokens_.size(), sides_.source().size()));
}

int LanguageModel::queryCount(int site) const { return rowsOfStream(info_.site(site).queryStream); }
int LanguageModel::keyCount(int site) const { return rowsOfStream(info_.site(site).keyStream); }

void LanguageModel::truncate(size_t length) {
    if (length >= tokens_.size()) return;
    tokens_.resize(length);
    hasPatterns_ = false;
    newest_ = nullptr;
    if (length < memory_->length()) memory_->drop(length);
}

bool LanguageModel::feed(std::span<const int> tokens, const Cancelled& isCancelled) {
    if (tokens.empty()) return true;
    std::vector<int> all = tokens_;
    all.insert(all.end(), tokens.begin(), tokens.end());
    require(typed(all));
    if (tokens_.empty()) firstFed_ = tokens.size();
    firstRun_ = tokens_.size();
    return noCacheReason_.empty() ? feedSteps(tokens, tokens.size() > 1 ? togetherOf(all.size(), 0) : 0, isCancelled)
                                  : feedWhole(tokens, isCancelled);
}

bool LanguageModel::hold(std::span<const int> tokens, size_t written, const Cancelled& isCancelled) {
    if (tokens.empty()) {
        truncate(0);
        return true;
    }
    require(typed(tokens));
    const auto common = static_cast<size_t>(std::ranges::mismatch(tokens, tokens_).in1 - tokens.begin());
    const size_t together = togetherOf(tokens.size(), written);
    if (noCacheReason_.empty())
        goBack(tokens, common, together);
    else
        truncate(std::min(common, tokens.size() - 1)); // the last token runs again for its logits
    if (tokens_.empty()) firstFed_ = tokens.size();
    if (!noCacheReason_.empty()) firstRun_ = tokens_.size();
    const std::span<const int> rest = tokens.subspan(tokens_.size());
    return noCacheReason_.empty() ? feedSteps(rest, together, isCancelled) : feedWhole(rest, isCancelled);
}

/// Keeps what the cache has of a text, but for the last token, and brings back what it had.
void LanguageModel::goBack(std::span<const int> tokens, size_t common, size_t together) {
    std::function<size_t(size_t)> pieces; // a row of the fused kernel has the same bits whatever rows run beside it
    if (!isCached_) pieces = [this](size_t count) { return static_cast<size_t>(pieceFor(count)); };
    const size_t kept = memory_->keepable(common, tokens.size(), together, pieces);
    const std::span<const int> most = tokens.first(tokens.size() - 1);
    memory_->leave(tokens_, kept);
    truncate(std::min(kept, most.size()));
    firstRun_ = memory_->length();
    if (const size_t known = memory_->bringBack(most, together); known > tokens_.size()) {
        patterns_->tokensChange(tokens_.size());
        tokens_.assign(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(known));
    }
    returnRoom(tokens.size(), 8);
}

std::vector<gpu::Stretch> LanguageModel::profile() const {
    const GpuExecutor* newest = newestExecutor();
    return newest ? newest->profile() : std::vector<gpu::Stretch>{};
}

int64_t LanguageModel::planBytes() const {
    uint64_t bytes = 0;
    for (const Steps* steps : {steps_.get(), changedSteps_.get()}) {
        for (const auto& [key, step] : steps->cached) bytes += step->executor->deviceBytes();
        for (const Step* step : {steps->whole.get(), steps->source.get()})
            if (step) bytes += step->executor->deviceBytes();
    }
    return static_cast<int64_t>(bytes) + patterns_->planBytes();
}

size_t LanguageModel::pipelineCount() const { return device_->kernelCount(); }

bool saysNothing(const LanguageModel& model, std::string_view text, std::span<const int> tokens) {
    const auto isSpecial = [&](int token) { return model.tokenizer() && model.tokenizer()->isSpecial(token); };
    return tokens.empty() || (isEncoder(model.config()) && text.find_first_not_of(" \t\r\n") == text.npos &&
                              std::ranges::all_of(tokens, isSpecial));
}

LanguageModel& languageModel(RunningModel& model) {
    if (auto* found = dynamic_cast<LanguageModel*>(&model)) return *found;
    throw WrongModel(
        {.what = "this needs a model of text", .where = model.info().name, .hint = "open a model that reads text"});
}

} // namespace attn
