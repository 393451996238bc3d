#include "engine/session/worker.h"

#include "engine/core/error.h"
#include "engine/gpu/vulkan.h"
#include "engine/session/capture_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#ifdef __linux__
#include <sys/resource.h>
#include <unistd.h>
#endif

namespace attn {
namespace {

/// Thrown out of loading when the user stops it.
struct Cancelled {};

/// Software Vulkan works on the threads that the device starts, which inherit this priority: the window stays ahead of them.
void lowerPriority() {
#ifdef __linux__
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 5);
#endif
}

int64_t residentBytes() {
#ifdef __linux__
    std::ifstream file("/proc/self/statm");
    int64_t total = 0, resident = 0;
    if (file >> total >> resident) return resident * sysconf(_SC_PAGESIZE);
#endif
    return 0;
}

constexpr std::chrono::milliseconds kVisualInterval{16};

} // namespace

Session::Worker::Worker(Options options) : options_(std::move(options)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

Session::Worker::~Worker() {
    cancel_ = true;
    thread_.request_stop();
    changed_.notify_all();
}

void Session::Worker::post(Command command) {
    {
        const std::lock_guard lock(mutex_);
        if (std::holds_alternative<StopCommand>(command)) {
            queue_.dropGeneration();
            cancel_ = true;
        }
        queue_.push(std::move(command));
    }
    changed_.notify_all();
}

std::shared_ptr<const Snapshot> Session::Worker::latest() const {
    const std::lock_guard lock(mutex_);
    return latest_;
}

void Session::Worker::setListener(std::function<void()> listener) {
    const std::lock_guard lock(mutex_);
    listener_ = std::move(listener);
}

bool Session::Worker::waitIdle(double timeoutSeconds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::duration<double>(timeoutSeconds), [&] { return queue_.empty() && !isBusy_; });
}

void Session::Worker::run(const std::stop_token& stop) {
    lowerPriority();
    while (!stop.stop_requested()) {
        std::optional<Command> command;
        {
            std::unique_lock lock(mutex_);
            const auto ready = [&] { return !queue_.empty(); };
            if (remaining_ > 0) {
                changed_.wait_until(lock, stop, nextToken_, ready);
            } else {
                if (queue_.empty()) {
                    isBusy_ = false;
                    changed_.notify_all();
                }
                changed_.wait(lock, stop, ready);
            }
            command = queue_.pop();
            if (command) isBusy_ = true;
        }
        try {
            if (command) {
                execute(std::move(*command));
            } else if (remaining_ > 0 && !stop.stop_requested()) {
                generateOne();
            }
        } catch (const Cancelled&) {
            next_.status.activity = Activity::Idle;
            next_.status.detail.clear();
            publish();
        } catch (const gpu::DeviceLost& error) {
            model_.reset();
            next_.model.reset();
            fail(error);
        } catch (const Error& error) {
            fail(error);
        } catch (const std::exception& error) {
            fail(Error({.what = error.what(), .where = "internal", .hint = "please report this"}));
        }
    }
}

void Session::Worker::execute(Command command) {
    if (remaining_ > 0 && changesSequence(command)) finishGenerating();
    cancel_ = false;
    next_.failure.reset();
    std::visit([this](const auto& each) { on(each); }, command);
}

void Session::Worker::fail(const Error& error) {
    remaining_ = 0;
    next_.failure = Failure{error.message(), error.where(), error.hint()};
    ++next_.failureCount;
    next_.status.activity = Activity::Idle;
    next_.status.detail.clear();
    publish();
}

LanguageModel& Session::Worker::model() {
    if (!model_) throw Error({.what = "no model is open", .where = {}, .hint = "open a model folder first"});
    return *model_;
}

void Session::Worker::on(const OpenModelCommand& command) {
    next_.status.activity = Activity::Loading;
    next_.status.progress = 0;
    publish();
    auto source = openModelSource(command.path);
    Clock::time_point last = Clock::now();
    const auto progress = [&](float fraction, const std::string& what) {
        if (cancel_) throw Cancelled{};
        next_.status.progress = fraction;
        next_.status.detail = what;
        if (Clock::now() - last < kVisualInterval) return;
        last = Clock::now();
        publish();
    };
    // The old model goes only when the new one is there: a failed open loses nothing.
    auto opened = std::make_unique<LanguageModel>(
        std::move(source), LanguageModel::Options{.device = options_.device, .softwareThreads = options_.softwareThreads, .validation = options_.validation}, progress);
    model_ = std::move(opened);
    auto info = std::make_shared<ModelInfo>(model_->info());
    info->path = command.path;
    Snapshot fresh;
    fresh.version = next_.version;
    fresh.failureCount = next_.failureCount;
    fresh.sequenceVersion = next_.sequenceVersion + 1;
    fresh.model = std::move(info);
    fresh.status.device = model_->context().traits().name;
    fresh.headGates = std::make_shared<std::vector<float>>(model_->gates());
    next_ = std::move(fresh);
    view_.layer = std::min(view_.layer, model_->info().layers - 1);
    view_.head = std::min(view_.head, model_->info().heads - 1);
    notice_.clear();
    path_.setPrompt({});
    promptText_.clear();
    const std::string prompt = command.prompt.empty() && command.promptTokens.empty() ? model_->source().example() : command.prompt;
    if (prompt.empty() && command.promptTokens.empty()) {
        notice_ = "this model has no tokenizer: enter token ids, separated by commas";
        refreshSequence();
        publish();
        return;
    }
    on(SetPromptCommand{prompt, command.promptTokens});
}

std::vector<int> Session::Worker::promptTokens(const std::string& text) const {
    if (const Tokenizer* tokenizer = model_->tokenizer()) return tokenizer->encode(text).ids;
    return parseTokenIds(text);
}

void Session::Worker::on(const SetPromptCommand& command) {
    model();
    const std::vector<int> tokens = command.tokens.empty() ? promptTokens(command.text) : command.tokens;
    if (tokens.empty()) throw Error({.what = "the prompt is empty", .where = "prompt", .hint = "type some text"});
    for (int token : tokens)
        if (token < 0 || token >= model_->info().vocabulary)
            throw Error({.what = fmt::format("token {} is outside the vocabulary of {}", token, model_->info().vocabulary), .where = "prompt", .hint = "use the tokenizer that belongs to the model"});
    promptText_ = command.tokens.empty() || !model_->tokenizer() ? command.text : model_->tokenizer()->decode(tokens, true);
    path_.setPrompt(tokens);
    runPath();
}

std::vector<int> Session::Worker::fitToContext(const std::vector<int>& tokens) {
    notice_.clear();
    const auto capacity = static_cast<size_t>(model_->capacity());
    if (tokens.size() <= capacity) return tokens;
    // Whole quarters go, so that generating does not drop and re-run at every token.
    const size_t quarter = std::max<size_t>(1, capacity / 4);
    const size_t dropped = std::min(tokens.size() - 1, (tokens.size() - capacity + quarter - 1) / quarter * quarter);
    notice_ = fmt::format("the context is {} tokens: the oldest {} are no longer seen by the model", capacity, dropped);
    return {tokens.begin() + static_cast<std::ptrdiff_t>(dropped), tokens.end()};
}

void Session::Worker::runPath() {
    next_.status.activity = Activity::Prefilling;
    const Clock::time_point start = Clock::now();
    const std::vector<int> tokens = fitToContext(path_.tokens());
    const std::vector<int>& cached = model().tokens();
    auto common = static_cast<size_t>(std::ranges::mismatch(tokens, cached).in1 - tokens.begin());
    if (common == tokens.size() && common > 0) --common; // the last token runs again for its logits
    model().truncate(common);
    if (!model().feed(std::span(tokens).subspan(common), [&] { return cancel_.load(); })) throw Cancelled{};
    next_.status.lastPrefillMs = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    next_.status.activity = Activity::Idle;
    next_.explanation.reset();
    refreshSequence();
    refreshViews();
    publish();
}

void Session::Worker::on(const GenerateCommand& command) {
    if (model().tokens().empty()) throw Error({.what = "there is nothing to continue", .where = "prompt", .hint = "type a prompt first"});
    remaining_ = command.maxTokens;
    tokensPerSecond_ = command.tokensPerSecond;
    generationStart_ = nextToken_ = Clock::now();
    generated_ = 0;
    next_.status.activity = Activity::Generating;
}

void Session::Worker::generateOne() {
    const std::vector<int> before = path_.tokens();
    const Candidate drawn = sampleToken(model().logits(), sampling_, before, before.size());
    path_.take(drawn.token, drawn.probability);
    std::vector<int> tokens = before;
    tokens.push_back(drawn.token);
    const std::vector<int> fitted = fitToContext(tokens);
    bool fed = false;
    if (fitted.size() == model().tokens().size() + 1) {
        fed = model().feed(std::span(fitted).last(1), [&] { return cancel_.load(); });
    } else {
        model().truncate(0);
        fed = model().feed(fitted, [&] { return cancel_.load(); });
    }
    if (!fed) {
        finishGenerating();
        return;
    }
    ++generated_;
    --remaining_;
    const double seconds = std::chrono::duration<double>(Clock::now() - generationStart_).count();
    if (seconds > 0) next_.status.tokensPerSecond = generated_ / seconds;
    const bool isEnd = std::ranges::find(model().source().stopTokens(), drawn.token) != model().source().stopTokens().end();
    if (remaining_ <= 0 || isEnd || cancel_) {
        finishGenerating();
        return;
    }
    nextToken_ = tokensPerSecond_ > 0 ? std::max(Clock::now(), nextToken_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1 / tokensPerSecond_))) : Clock::now();
    // Pictures take at most half of the time, and come at most 60 times a second.
    if (Clock::now() - lastVisual_ < std::max<Clock::duration>(kVisualInterval, 2 * visualCost_)) return;
    const Clock::time_point start = Clock::now();
    refreshSequence();
    refreshViews();
    publish();
    lastVisual_ = Clock::now();
    visualCost_ = lastVisual_ - start;
}

void Session::Worker::finishGenerating() {
    remaining_ = 0;
    next_.status.activity = Activity::Idle;
    refreshSequence();
    refreshViews();
    publish();
}

void Session::Worker::on(const StopCommand&) { publish(); }

void Session::Worker::on(const ResetCommand&) {
    path_.reset();
    runPath();
}

void Session::Worker::on(const TakeTokenCommand& command) {
    if (command.token < 0 || command.token >= model().info().vocabulary)
        throw Error({.what = fmt::format("token {} is outside the vocabulary of {}", command.token, model().info().vocabulary), .where = "generate"});
    float probability = 0;
    for (const Candidate& candidate : rankCandidates(model().logits(), sampling_, path_.tokens(), -1))
        if (candidate.token == command.token) probability = candidate.probability;
    path_.take(command.token, probability);
    runPath();
}

void Session::Worker::on(const GoToBranchCommand& command) {
    const int before = path_.tree().current;
    path_.goTo(command.node);
    if (path_.tokens().empty()) path_.goTo(before); // the root holds nothing to show
    runPath();
}

void Session::Worker::on(const RestoreBranchesCommand& command) {
    for (const auto& [parent, token] : command.nodes)
        if (token < 0 || token >= model().info().vocabulary)
            throw Error({.what = fmt::format("token {} is outside the vocabulary of {}", token, model().info().vocabulary), .where = "branches", .hint = "the session was saved with another model"});
    TokenPath restored;
    restored.restore(command.nodes, command.current, command.promptLength);
    if (restored.tokens().empty()) throw Error({.what = "the saved session holds no tokens", .where = "branches", .hint = "type a prompt"});
    path_ = std::move(restored);
    promptText_ = command.prompt;
    runPath();
}

void Session::Worker::on(const SetSamplingCommand& command) {
    sampling_ = command.sampling;
    publish();
}

void Session::Worker::on(const SetViewCommand& command) {
    const bool gridChanged = command.thumbnailSize != view_.thumbnailSize || !next_.grid;
    view_ = command;
    if (!model_ || model_->tokens().empty()) return;
    if (!gridChanged) {
        next_.detail = view_.detail ? std::make_shared<PatternTile>(model_->patternTile(view_)) : nullptr;
    } else {
        refreshViews();
    }
    publish();
}

void Session::Worker::on(const ExplainCellCommand& command) {
    next_.explanation = std::make_shared<CellExplanation>(model().explain(command));
    publish();
}

void Session::Worker::on(const SetHeadGateCommand& command) {
    model().setGate(command.layer, command.head, command.gate);
    next_.headGates = std::make_shared<std::vector<float>>(model().gates());
    model().truncate(0);
    if (!path_.tokens().empty()) runPath();
    else publish();
}

void Session::Worker::on(const ShowWeightCommand& command) {
    next_.weight = std::make_shared<WeightView>(model().weight(command.name, command.maximumSize));
    publish();
}

void Session::Worker::on(const CaptureCommand& command) {
    next_.status.activity = Activity::Exporting;
    publish();
    const std::vector<int> tokens = model().tokens();
    const auto captured = model().capture(tokens, command.hooks);
    writeCapture(command.path, model().info(), tokens, captured);
    next_.finishedExport = command.path;
    model().truncate(0);
    runPath();
}

void Session::Worker::refreshSequence() {
    auto sequence = std::make_shared<Sequence>();
    const Tokenizer* tokenizer = model_->tokenizer();
    const std::vector<int> nodes = path_.nodes(), tokens = path_.tokens();
    const size_t first = tokens.size() - std::min(tokens.size(), model_->tokens().size());
    for (size_t i = 0; i < nodes.size(); ++i) {
        const BranchNode& node = path_.tree().nodes[static_cast<size_t>(nodes[i])];
        if (node.text.empty()) path_.setText(nodes[i], tokenizer ? tokenizer->tokenText(node.token) : std::to_string(node.token));
        if (i < first) continue;
        const bool isPrompt = static_cast<int>(i) < path_.promptLength();
        sequence->tokens.push_back({.id = node.token,
                                    .text = path_.tree().nodes[static_cast<size_t>(nodes[i])].text,
                                    .branchNode = nodes[i],
                                    .isSpecial = tokenizer && tokenizer->isSpecial(node.token),
                                    .isPrompt = isPrompt,
                                    .probability = isPrompt ? std::nullopt : std::optional(node.probability)});
    }
    sequence->text = tokenizer ? tokenizer->decode(tokens, true) : std::string();
    sequence->prompt = promptText_;
    sequence->notice = notice_;
    next_.sequence = std::move(sequence);
    next_.branches = std::make_shared<BranchTree>(path_.tree());
    next_.next = std::make_shared<NextToken>(NextToken{{model_->logits().begin(), model_->logits().end()}, tokens});
    next_.newest = std::make_shared<NewestRows>(model_->newestRows());
    ++next_.sequenceVersion;
}

void Session::Worker::refreshViews() {
    next_.grid = view_.thumbnailSize > 0 ? std::make_shared<PatternGrid>(model_->patternGrid(view_.thumbnailSize)) : nullptr;
    next_.detail = view_.detail ? std::make_shared<PatternTile>(model_->patternTile(view_)) : nullptr;
}

void Session::Worker::publish() {
    ++next_.version;
    if (model_) next_.status.deviceBytes = model_->deviceBytes();
    next_.status.residentBytes = residentBytes();
    std::function<void()> listener;
    {
        const std::lock_guard lock(mutex_);
        latest_ = std::make_shared<const Snapshot>(next_);
        listener = listener_;
    }
    if (listener) listener();
}

} // namespace attn
