#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/inference/capture_file.h"
#include "engine/inference/cell_explainer.h"
#include "engine/session/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <string>
#include <tuple>
#include <utility>

namespace attn {
namespace {

constexpr size_t kLongPrefill = 64; ///< number of tokens from which prefill is announced

template <class... Each> std::tuple<Each...> asCopies(const std::tuple<Each&...>& of) { return of; }

} // namespace

Prompt Session::Worker::encoded(GivenText given) const {
    const LanguageModel& model = this->text();
    if (!given.second.empty() && !model.info().readsPairs)
        throw Error({.what = "this model reads one text, not a pair",
                     .where = model.info().name,
                     .hint = "remove the second text"});
    const bool readsSource = model.info().readsSource;
    const Tokenizer* tokenizer = readsSource ? model.sourceTokenizer() : model.tokenizer();
    const Encoding encoding = !tokenizer             ? Encoding{.ids = parseTokenIds(given.text)}
                              : given.second.empty() ? tokenizer->read(given.text)
                                                     : tokenizer->readPair(given.text, given.second);
    Prompt prompt = readsSource ? sourcePrompt(std::move(given), encoding.ids)
                                : Prompt{.given = std::move(given), .encoding = encoding};
    if (tokenizer) prompt.note = tokenizer->noteOn(encoding);
    return prompt;
}

Prompt Session::Worker::sourcePrompt(GivenText given, std::vector<int> source) const {
    return {.given = std::move(given),
            .encoding = {.ids = {static_cast<int>(this->text().config().startToken)}},
            .source = std::move(source)};
}

TokenPath Session::Worker::emptyPath() const {
    return TokenPath([this](int token) { return textOf(token); });
}

void Session::Worker::on(const SetPromptCommand& command) {
    next_.promptNumber = std::max(next_.promptNumber, command.number);
    if (command.number > 0) lastTyped_ = std::string(); // the new one is remembered when another model opens
    text();
    const auto check = [](size_t length, size_t most, const char* unit) {
        if (length > most)
            throw Error({.what = fmt::format("{} {}; the limit is {}", groupDigits(length), unit, groupDigits(most)),
                         .where = "prompt",
                         .hint = "shorten the text, or score it in the Text tab"});
    };
    GivenText given = command.given;
    check(given.text.size() + given.second.size(), kMostPromptBytes, "bytes");
    const bool readsSource = text().info().readsSource;
    const Tokenizer* tokenizer = readsSource ? text().sourceTokenizer() : text().tokenizer();
    if (!given.tokens.empty() && tokenizer) given.text = tokenizer->decode(given.tokens, true);
    giveText({.given = given});
    Prompt prompt = given.tokens.empty() ? encoded(given)
                    : readsSource        ? sourcePrompt(given, given.tokens)
                                         : Prompt{.given = given, .encoding = {.ids = given.tokens}};
    const std::vector<int>& tokens = readsSource ? prompt.source : prompt.encoding.ids;
    if (given.tokens.empty() && saysNothing(text(), given.text + given.second, tokens))
        return showNoText(std::move(prompt));
    check(tokens.size(), kMostPromptTokens, "tokens");
    for (const std::vector<int>& ids : {prompt.encoding.ids, prompt.given.target})
        for (const int token : ids) checkToken(token, "prompt", "use the tokenizer that belongs to the model");
    text().predictAt(-1);
    TokenPath path = emptyPath();
    path.setPrompt(prompt.encoding.ids);
    for (const int token : std::exchange(prompt.given.target, {})) path.take(token, {});
    hasStaleChanges_ = true;
    moveTo(std::move(path), std::make_shared<const Prompt>(std::move(prompt)));
}

void Session::Worker::showNoText(Prompt prompt) {
    forgetSearch();
    path_ = emptyPath();
    prompt_ = std::make_shared<const Prompt>(Prompt{.given = std::move(prompt.given)});
    lostInput_.reset();
    text().setSides(TextInput{});
    text().dropInput();
    hasStaleChanges_ = true; // they may have been computed for the text before
    originalOf_.reset();
    next_.unread.reset();
    next_.ended.clear();
    next_.isChanged = false;
    next_.original.reset();
    next_.originalClasses.reset();
    next_.originalViews.reset();
    next_.grid.reset();
    next_.detail.reset();
    next_.profile.reset();
    next_.explanation.reset();
    next_.siteInputs.reset();
    next_.analyses.clear();
    next_.originalAnalyses.clear();
    next_.failedAnalyses.clear();
    refreshSequence();
    publishIdle();
}

void Session::Worker::giveText(RestoreBranchesCommand given) {
    if (given.given.empty() && given.nodes.empty()) return;
    next_.unread = std::make_shared<const RestoreBranchesCommand>(std::move(given));
    next_.readsUnread = true;
    if (!next_.unread->isLong()) return;
    next_.status.activity = Activity::Prefilling;
    publish();
}

void Session::Worker::checkToken(int token, const char* where, const char* hint) {
    if (token < 0 || token >= text().info().vocabulary)
        throw Error({.what = fmt::format("{} is outside the vocabulary of {}",
                                         Tokenizer::titleOf(text().tokenizer(), token), text().info().vocabulary),
                     .where = where,
                     .hint = hint});
}

size_t Session::Worker::forgotten(size_t tokens) const {
    const auto capacity = static_cast<size_t>(text().capacity());
    if (tokens <= capacity) return 0;
    // Drop whole quarters of the context, so that generation does not run again at every token.
    const size_t quarter = std::max<size_t>(1, capacity / 4);
    return std::min(tokens - 1, (tokens - capacity + quarter - 1) / quarter * quarter);
}

bool Session::Worker::isCurrent() const {
    const std::vector<int> tokens = path_.tokens();
    return (prompt_ ? prompt_->source : std::vector<int>()) == text().sourceTokens() &&
           std::ranges::equal(std::span(tokens).subspan(forgotten(tokens.size())), text().tokens());
}

void Session::Worker::catchUp() {
    if (axis() == AxisKind::Tokens) {
        if (!isCurrent()) runPath();
    } else if (!next_.answer) {
        if (!given_.image)
            throw Error({.what = "there is no picture", .where = "input", .hint = "choose a picture first"});
        runPicture();
    }
}

void Session::Worker::moveTo(TokenPath path, std::shared_ptr<const Prompt> prompt) {
    text();
    if (path.tokens().empty()) return publish(); // there is no text
    const auto keep = [this] {
        return std::tie(path_, prompt_, next_.ended, next_.isChanged, next_.original, next_.originalClasses,
                        next_.originalViews, originalOf_, originalShown_);
    };
    const std::tuple before = asCopies(keep());
    path_ = std::move(path);
    prompt_ = std::move(prompt);
    next_.ended.clear();
    try {
        runPath(true);
        lostInput_.reset();
    } catch (...) {
        keep() = before;
        if (next_.changes) { // they may have been computed for the other prompt
            hasStaleChanges_ = true;
            model().dropInput();
        }
        throw;
    }
}

std::vector<int> Session::Worker::promptTokens() const {
    std::vector<int> tokens = path_.tokens();
    tokens.resize(static_cast<size_t>(path_.promptLength()));
    return tokens;
}

void Session::Worker::updatePrefix(size_t dropped) {
    const size_t prompt = static_cast<size_t>(path_.promptLength());
    text().setPrefix(prompt - std::min(prompt, dropped));
}

size_t Session::Worker::alone(std::span<const int> tokens) {
    constexpr size_t kMost = 16; // a longer continuation takes too long one by one
    if (std::ranges::equal(tokens, text().tokens())) return text().written();
    const auto prompt = static_cast<size_t>(path_.promptLength());
    const size_t written = path_.tokens().size() - std::min(prompt, path_.tokens().size());
    return written <= std::min(kMost, tokens.size()) ? written : 0;
}

void Session::Worker::refreshCell() {
    const bool isThere = explained_ && explained_->query < text().queryCount(explained_->site) &&
                         explained_->key < text().keyCount(explained_->site);
    next_.explanation = isThere ? std::make_shared<CellExplanation>(explainCell(text(), *explained_)) : nullptr;
}

void Session::Worker::runPath(bool isNew) {
    const Clock::time_point start = Clock::now();
    const std::vector<int> all = path_.tokens();
    const std::span<const int> tokens = std::span(all).subspan(forgotten(all.size()));
    refreshChanges();
    TextInput sides = prompt_ ? sidesOf(*prompt_) : TextInput{};
    sides.types.erase(sides.types.begin(),
                      sides.types.begin() + std::min(std::ssize(sides.types), std::ssize(all) - std::ssize(tokens)));
    if (search_ && (sides.source != text().sourceTokens() || !std::ranges::equal(search_->beginning(), promptTokens())))
        forgetSearch();
    text().setSides(std::move(sides));
    updatePrefix(all.size() - tokens.size());
    refreshOriginal(tokens);
    const auto common = static_cast<size_t>(std::ranges::mismatch(tokens, text().tokens()).in1 - tokens.begin());
    next_.status.activity = Activity::Prefilling;
    if (next_.status.preparesEngine || tokens.size() - common >= kLongPrefill) publish();
    if (!text().hold(tokens, alone(tokens), [&] { return isStopped(); })) throw Cancelled{};
    next_.status.lastPrefillMs = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    next_.status.activity = Activity::Idle;
    const bool isPrepared = std::exchange(next_.status.preparesEngine, false);
    refreshCell();
    refreshSequence();
    refreshViews();
    if (isNew) {
        next_.unread.reset();
        next_.readsUnread = false;
    }
    publish();
    if (isPrepared) model().device().saveKernels();
}

void Session::Worker::on(const StopCommand&) {
    if (compareOriginal()) refreshViews();
    publish();
}

void Session::Worker::on(const ResetCommand&) {
    TokenPath path = path_;
    path.reset();
    moveTo(std::move(path), prompt_);
}

void Session::Worker::on(const TakeTokenCommand& command) {
    checkToken(command.token, "generate", "choose one of the listed tokens");
    catchUp();
    requireContinuable();
    TokenPath path = path_;
    if (command.node >= 0) path.goTo(command.node); // the model may have written more since
    std::optional<float> probability;
    if (path.tree().current == path_.tree().current)
        for (const Candidate& candidate : rankCandidates(text().logits(), sampling_, path_.tokens(), -1, limits()))
            if (candidate.token == command.token) probability = candidate.probability;
    path.take(command.token, probability);
    moveTo(std::move(path), prompt_);
}

void Session::Worker::on(const GoToBranchCommand& command) {
    TokenPath path = path_;
    path.goTo(command.node);
    if (path.tokens().empty()) path = path_; // the root holds nothing to show
    moveTo(std::move(path), prompt_);
}

std::string Session::Worker::textOf(int token) const {
    const Tokenizer* tokenizer = text().tokenizer();
    return tokenizer ? tokenizer->tokenText(token) : std::to_string(token);
}

Prompt Session::Worker::restored(const RestoreBranchesCommand& command, const std::vector<int>& tokens) const {
    const bool readsSource = text().info().readsSource;
    const Tokenizer* tokenizer = readsSource ? text().sourceTokenizer() : text().tokenizer();
    const std::vector<int>& saved = readsSource ? command.source : tokens;
    if (saved.empty() && (readsSource || tokenizer)) return encoded(command.given); // of an old file
    Prompt prompt = readsSource ? sourcePrompt(command.given, saved) : Prompt{.given = command.given};
    prompt.given.tokens.clear();
    if (!tokenizer) {
        prompt.given.tokens = saved;
        return prompt;
    }
    Encoding encoding;
    try {
        encoding = prompt.given.second.empty() ? tokenizer->encode(prompt.given.text)
                                               : tokenizer->encodePair(prompt.given.text, prompt.given.second);
    } catch (const Error&) { // a character has no token, so the text is another one
    }
    if (encoding.ids == saved) {
        prompt.note = tokenizer->noteOn(encoding);
        if (!readsSource) prompt.encoding = std::move(encoding);
        return prompt;
    }
    prompt.given.tokens = saved;
    if (std::string own = tokenizer->decode(saved, true); own != prompt.given.text) { // else saved with token ids
        prompt.given.text = std::move(own);
        prompt.note = "the session's prompt was not the text of its tokens, which are what you see";
    }
    return prompt;
}

void Session::Worker::on(const RestoreBranchesCommand& command) {
    next_.promptNumber = std::max(next_.promptNumber, command.number);
    text();
    if (command.nodes.empty()) {
        GivenText given = command.given;
        if (!command.source.empty()) given.tokens = command.source;
        return on(SetPromptCommand{std::move(given)});
    }
    giveText(command);
    for (const SavedToken& node : command.nodes)
        checkToken(node.token, "branches", "open the model with which the session was saved");
    TokenPath path = emptyPath();
    path.restore(command.nodes, command.current, command.promptLength);
    hasStaleChanges_ = true;
    if (path.tokens().empty())
        throw Error({.what = "the saved session has no tokens", .where = "branches", .hint = "enter a prompt"});
    TokenPath whole = path; // the branch may end within the prompt
    whole.reset();
    moveTo(std::move(path), std::make_shared<const Prompt>(restored(command, whole.tokens())));
}

void Session::Worker::on(const SetSamplingCommand& command) {
    sampling_ = command.sampling;
    publish();
}

void Session::Worker::on(const PredictWordCommand& command) {
    const size_t before = text().predictedRow(text().input());
    text().predictAt(command.token);
    if (!hasTokens() || (isCurrent() && text().predictedRow(text().input()) == before)) return;
    originalOf_.reset(); // their prediction is that of another word
    runPath();
}

void Session::Worker::on(const PatternRequest& command) {
    const bool gridChanged =
        command.thumbnailSize != view_.thumbnailSize || command.hidesFirst != view_.hidesFirst || !next_.grid;
    view_ = command;
    if (!hasTokens()) return;
    if (!isCurrent()) {
        runPath();
        return;
    }
    if (compareOriginal() || gridChanged)
        refreshViews();
    else
        refreshDetail();
    publish();
}

void Session::Worker::on(const SetProfileCommand& command) {
    profiled_ = command;
    if (!hasTokens()) return;
    if (!isCurrent()) {
        runPath();
        return;
    }
    if (compareOriginal())
        refreshViews();
    else
        refreshProfile();
    publish();
}

void Session::Worker::on(const CellRequest& command) {
    text();
    if (command.site < 0) {
        explained_.reset();
        next_.explanation.reset();
        return publish();
    }
    catchUp();
    next_.explanation = std::make_shared<CellExplanation>(explainCell(text(), command));
    explained_ = command;
    if (compareOriginal()) refreshViews();
    publish();
}

void Session::Worker::on(const ShowWeightCommand& command) {
    next_.weight = std::make_shared<WeightView>(weightView(model().store(), command.name, command.maximumSize));
    weightSize_ = command.maximumSize;
    publish();
}

void Session::Worker::on(const CaptureCommand& command) {
    catchUp();
    next_.status.activity = Activity::Exporting;
    publish();
    const auto captured = model().capture(input(), command.hooks);
    writeCapture(command.path, model().info(), input(), captured);
    next_.finishedExport = command.path;
    runAgain();
    for (const CapturedHook& hook : captured)
        if (const int64_t strange = strangeValues(hook, model().info()); strange > 0)
            throw Error({.what = fmt::format("{} is written, but {} of {} values of {} are NaN or infinite",
                                             command.path, strange, hook.values.size(), hook.name),
                         .where = model().info().name,
                         .hint = "look for weights, or changes to the run, that are damaged or much too large"});
}

void Session::Worker::refreshSequence() {
    const std::vector<int> tokens = path_.tokens();
    const auto sequence = sequence_.build(text(), path_, prompt_, forgotten(tokens.size()));
    const auto end = !sequence->tokens.empty() && !sequence->tokens.back().isPrompt ? endAtToken(text(), tokens)
                                                                                    : std::optional<TextEnd>();
    next_.hasEnded = end.has_value();
    if (end) sayEnd(*end, 0);
    next_.sequence = sequence;
    next_.branches = std::make_shared<BranchTree>(path_.tree());
    next_.next = std::make_shared<NextToken>(
        NextToken{.logits = tokens.empty() ? std::vector<float>() // those of the text before
                                           : std::vector<float>(text().logits().begin(), text().logits().end()),
                  .recentTokens = tokens,
                  .row = static_cast<int>(tokens.empty() ? 0 : text().predictedRow(text().input())),
                  .limits = limits()});
    const auto classes = text().classes();
    next_.classes = classes ? std::make_shared<TextClasses>(*classes) : nullptr;
    next_.readoutRows = std::make_shared<ReadoutRows>(text().patterns().readoutRows());
    ++next_.sequenceVersion;
}

} // namespace attn
