#pragma once

#include "engine/inference/patterns.h"
#include "engine/inference/running_model.h"
#include "engine/inference/site_inputs.h"
#include "engine/inference/text_classes.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

struct LongPatternSource;
class Memory;

/// A model of text with one key/value cache. Runs tokens, and computes logits, patterns and other data for views. The
/// windows use it through Session, the command line uses it directly.
class LanguageModel : public RunningModel {
public:
    using Options = LoadOptions;
    /// @throws Error if it is a model of pictures, or as loadModel()
    LanguageModel(std::unique_ptr<ModelSource> source, const Options& options, const Progress& progress = {});
    ~LanguageModel() override;

    const Tokenizer* tokenizer() const { return source_->tokenizer(); }
    const Tokenizer* sourceTokenizer() const { return source_->sourceTokenizer(); }
    int64_t planBytes() const; ///< device memory of all plans: arenas, inputs, results
    /// The largest number of tokens: the model's own limit, or what the memory of the device allows.
    int capacity() const { return static_cast<int>(capacity_); }
    /// Why it reads no more, as what follows their number; empty: it is the model's own limit.
    std::string whyNoMore() const;
    /// The largest number of tokens of a run over the whole text at once.
    int wholeCapacity() const { return std::min(capacity(), kMostWhole); }
    /// The number of tokens for which the cache has room.
    int64_t cacheRows() const;
    /// How often the cache got other memory. Plans and views of the cache that were made before a change must not run
    /// again, even if the cache has as much room as then.
    uint64_t roomChanges() const { return roomChanges_; }
    /// Makes room in the cache for so many tokens.
    /// @throws Error naming the bytes if the device has too little memory
    void makeRoom(size_t tokens);
    /// The device memory that a text of so many tokens takes in the cache, in bytes.
    uint64_t cacheBytes(size_t tokens) const;

    /// The tokens in the cache, whose first tokens().size() rows are valid.
    const std::vector<int>& tokens() const { return tokens_; }
    /// These tokens with their types and their tree.
    Input input() const { return typed(tokens_); }
    /// Sets what the model reads beside the tokens to come: the types of those from the first one on, the source, the
    /// tree. Clears the tokens if one of them changes. @param input its tokens are ignored
    void setSides(const Input& input);
    void setSides(TextInput input) { setSides(Input(std::move(input))); }
    const std::vector<int>& sourceTokens() const { return sides_.source(); }
    const Input& sides() const { return sides_; } ///< see setSides(); its tokens are empty
    /// The number of rows along the axis of a site's queries, or of its keys.
    int queryCount(int site) const;
    int keyCount(int site) const;
    /// Removes the tokens from `length` on.
    void truncate(size_t length);
    void dropInput() override { truncate(0); }
    /// Sets the number of tokens of the prefix, for a model that has one; without it, a prefix is what feed() gets
    /// first.
    void setPrefix(size_t tokens);
    /// Runs tokens after those in the cache. @throws Error if they do not fit or are outside the vocabulary
    /// @return false if cancelled; the cache is then as before
    bool feed(std::span<const int> tokens, const Cancelled& isCancelled = {});
    /// Makes the cache hold these tokens. Keeps what it holds of them, provided that the result has the bits that it
    /// has from an empty cache, so that it does not matter in which steps a text came.
    /// @param written how many of the last tokens run one by one, as if feed() had got each by itself; the others are a
    /// text that came at once  @throws Error, and @return, as feed()
    bool hold(std::span<const int> tokens, size_t written = 0, const Cancelled& isCancelled = {});
    /// How many of the last tokens in the cache ran one by one after the text.
    size_t written() const;
    /// The first token whose rows the last call of hold() or feed() has written.
    size_t firstRun() const { return firstRun_; }
    /// Logits [V] after the last token; of a model of masked tokens, those of the last hidden token. Valid until the
    /// next call of feed().
    std::span<const float> logits() const { return {logits_.data(), logits_.size()}; }
    /// The classes of the tokens, by a model with a readout of classes. None for other models, and without tokens.
    std::optional<TextClasses> classes() const;

    /// Prepares one plan and its kernels for a later prompt.
    /// @return false if all plans are ready
    bool warmUp();

    /// The attention weights that a change sets in a row of a head's pattern, for keys from 0 on.
    /// @return empty if no change sets the row
    std::vector<float> changedRow(int layer, int head, int query) const;
    /// The graph of a step over the caches, with the current changes, as feed() runs it for this number of tokens.
    /// @param keys number of keys that the step reads where it forms scores; 0: all
    ModelGraph stepGraph(int64_t queries, int64_t keys = 0) const;
    int64_t bucketFor(size_t tokens) const; ///< number of queries of the step for this number of tokens
    /// Writes the tokens, positions, gates and other changes of a step. @return the numbers that change with each step
    /// @param first position of the first token in the sequence
    StepParams writeStep(GpuExecutor& executor, size_t first, std::span<const int> tokens) const;
    /// The source of a long-pattern view: the cached queries and keys of a layer, and the rows that changes set.
    LongPatternSource longPatternSource(int layer) const;
    int64_t streamWidth() const; ///< C times the number of residual streams

    void require(const Input& input) const override;
    /// @param length of the text of which these are the last tokens  @param most tokens that fit  @throws Error if it
    /// is longer, or one is outside the vocabulary
    void requireTokens(std::span<const int> tokens, size_t length, int64_t most) const;
    using RunningModel::wholeGraph;
    /// A graph over whole sequences of up to `rows` tokens, without a cache and with the current changes.
    /// @param source that of the source
    ModelGraph wholeGraph(int64_t rows, int64_t source = 0) const;
    /// Runs the tokens from the start; the cache then holds them.
    std::vector<float> predict(const Input& input, const Cancelled& isCancelled = {}) override;
    /// The row of the last token. In a model of masked tokens, the row of a hidden token: the chosen one, else the last
    /// one.
    size_t predictedRow(const Input& input) const override;
    /// Chooses the hidden token to predict from the next run on. @param token its index; one that is not hidden: the
    /// last hidden one
    void predictAt(int token) { predictAt_ = token; }
    /// Keeps the rows before `row` in the cache, if it holds them.
    std::vector<float> predictFrom(const Input& input, size_t row) override;
    /// Runs the tokens from the start; the cache then holds them.
    std::vector<CapturedHook> capture(const Input& input, const std::string& hooks) override;

    /// The patterns of the tokens in the cache, for views.
    Patterns& patterns() const { return *patterns_; }
    /// The last step's executor, with what views read: the newest pattern rows, or whole patterns and their factors.
    /// @return null if no step ran
    const GpuExecutor* newestExecutor() const;
    /// For a model that is not cached: a run of the whole text with the patterns or their factors. Runs it if needed.
    /// @return null if there are no tokens
    const GpuExecutor* formedExecutor();
    /// The queries, keys and values of a layer for the tokens in the cache. Clears the cache. @throws Error if there
    /// are no tokens, or the layer has no queries and keys
    SiteInputs siteInputs(int layer, uint64_t sequenceVersion);
    /// The number of pipelines built so far. Each costs about 50 ms on software Vulkan.
    size_t pipelineCount() const;

    /// Device time of the dispatches of the last step with one token, by shader. Empty unless Options::profiles.
    std::vector<gpu::Stretch> profile() const;

    /// Whether the fused kernel serves every site over a cache of keys and values. Patterns are then drawn on the
    /// device from the queries and keys in the cache.
    bool isCached() const { return isCached_; }
    /// The rule of a layer's kernel in such a model.
    AttentionRule ruleOf(int layer) const;
    /// Why the model runs its whole text for every token; empty if it continues from a cache or a state.
    const std::string& noCacheReason() const { return noCacheReason_; }

private:
    void requireSource(const Input& input) const;   ///< @throws Error as require()
    void requireTree(const TextInput& input) const; ///< @throws Error as require()
    void writeTree(GpuExecutor& executor, size_t first, const std::vector<int>& parents) const;
    struct Step;      // one compiled plan with its executor
    void runSource(); ///< the encoder, unless the keys of the current source are kept already
    void readClasses(const GpuExecutor& executor, std::span<const int> tokens);
    /// For the next tokens, of which it may run fewer. @param isAlone whether the token runs as written ones do
    Step& stepFor(size_t tokens, bool isAlone);
    void goBack(std::span<const int> tokens, size_t common, size_t together);
    void setRoom(int64_t rows);                ///< of the cache; drops all plans and the views of the cache
    void returnRoom(size_t tokens, int share); ///< if the text takes no more than this share of the cache
    int64_t longestText() const;               ///< that the device's memory allows
    /// A step over the caches. @param keys see stepGraph()
    std::unique_ptr<Step> makeStep(int64_t queries, int64_t keys, bool givesLogits,
                                   const std::set<std::string>& probes);
    /// Runs the next tokens after those in the caches. @return false if cancelled
    bool runStep(Step& step, size_t count, const Cancelled& isCancelled);
    void writeSource(GpuExecutor& executor, const Input& input) const;
    int64_t wholeRows(size_t tokens) const;       ///< rows of a run on a whole sequence
    int64_t sourceRows(const Input& input) const; ///< the same of the source
    std::unique_ptr<Step> makeWholeStep(std::set<std::string> probes, size_t tokens);
    /// @return the logits after the last token, if the model gives any; nothing if cancelled
    std::optional<std::vector<float>> runWhole(Step& step, std::span<const int> tokens, const Cancelled& isCancelled);
    bool feedWhole(std::span<const int> tokens, const Cancelled& isCancelled);
    /// @param together how many of all tokens run together; the others run one by one
    bool feedSteps(std::span<const int> tokens, size_t together, const Cancelled& isCancelled);
    /// Runs those of tokens_ that the memory lacks. @return false if cancelled
    bool runRest(size_t together, const Cancelled& isCancelled);
    /// Adds tokens for a run. If it throws or returns false, the model holds what it held before.
    bool extend(std::span<const int> tokens, const std::function<bool()>& run);
    /// How many of so many tokens run together if the last ones are written.
    size_t togetherOf(size_t tokens, size_t written) const;
    int64_t pieceFor(size_t tokens) const; ///< the number of next tokens that run together, of so many
    int64_t keysFor(size_t tokens) const;  ///< number of keys that a step reads which makes so many tokens
    /// @throws Error naming one of the hooks whose values would grow with the square of so many tokens
    void requireHooks(const std::vector<std::string>& hooks, size_t tokens) const;
    Step& formedStep(size_t tokens); ///< of formedExecutor()
    void prepareSteps();             ///< works out how a model writes that is not cached
    /// attn::changedPatternRow() with the keys that the query sees. @param tokens number of tokens
    std::vector<float> changedPatternRow(const PatternChange& change, int query, int tokens) const;
    /// The values of a hook for tokens in an empty cache, from the kernels that feed() uses.
    CapturedHook fedValues(std::span<const int> tokens, const std::string& hook);

    ModelGraph graphOf(const Input& input, const WholeBuild& build) const override;
    ModelGraph graphOf(int64_t rows, int64_t source, const WholeBuild& build) const;
    void writeInput(GpuExecutor& executor, const Input& input) const override;
    std::optional<size_t> changedRows(const Input& input) const override;
    void changesChanged(bool isOtherSet) override;
    Input sourceOf(const ValueChange& change, bool isContrast, const Input& own,
                   const std::optional<Input>& other) const override;
    CapturedHook originalValues(const Input& input, const std::string& hook) override;
    int64_t rowsOf(int site) const override { return config().readsStream() ? queryCount(site) : capacity_; }
    /// The number of rows along an axis of the model, of an input with so many tokens and tokens of the source.
    int64_t rowsAlong(int axis, size_t tokens, size_t source) const;
    int rowsOfStream(int stream) const; ///< for the tokens in the cache
    void writePattern(const ChangeInputs& pattern, const PatternChange& change, size_t first,
                      size_t count) const override;
    struct Steps;
    Steps& currentSteps() const;

    Options options_;
    static constexpr int kMostWhole = 4096;
    int64_t capacity_ = 0;
    std::unique_ptr<Memory> memory_;                ///< of the tokens and the source
    std::unique_ptr<Steps> steps_, changedSteps_;   ///< without and with edited hooks
    Input typed(std::span<const int> tokens) const; ///< tokens from the first one on, with types, tree and source

    std::vector<int> tokens_;
    Input sides_; ///< see setSides(); its tokens are empty
    int predictAt_ = -1;
    std::optional<size_t> prefix_; ///< of setPrefix()
    size_t firstFed_ = 0;          ///< number of tokens that feed() got first
    std::vector<float> logits_;
    std::vector<float> classLogits_; ///< see TextClasses::logits
    size_t firstRun_ = 0;            ///< see firstRun()
    int64_t sourceCapacity_ = 0;     ///< largest number of tokens of a source
    uint64_t roomChanges_ = 0;       ///< see roomChanges()
    const Step* newest_ = nullptr;   ///< the step that ran the last token by itself
    bool isCached_ = false;          ///< see isCached()
    bool runsAnyLength_ = false;     ///< see attn::runsAnyLength()
    // Of a model that is not cached:
    std::string noCacheReason_;
    bool readsKeys_ = false;   ///< a step forms rows of scores, for all keys that exist
    bool hasPatterns_ = false; ///< formedStep() has run for the current tokens
    std::unique_ptr<Patterns> patterns_;
};

/// Whether a text leaves a model nothing to read: no tokens, or only those that an encoder puts around every text.
bool saysNothing(const LanguageModel& model, std::string_view text, std::span<const int> tokens);

/// A model that must read text. @throws Error if it does not
LanguageModel& languageModel(RunningModel& model);

} // namespace attn
