#pragma once

#include "engine/models/model_source.h"
#include "engine/runtime/gpu_executor.h"
#include "engine/session/commands.h"
#include "engine/session/hooks.h"
#include "engine/session/snapshot.h"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace attn {

class AttentionLens;
class HookEdits;
struct LensSource;
struct Edits;
struct PatternEdit;

/// A loaded model on a device with one key/value cache: feeds tokens, gives logits, patterns and everything else a view
/// shows. Synchronous; used from one thread. Session runs it for the windows, the command line uses it directly.
class LanguageModel {
public:
    struct Options {
        std::optional<std::string> device;
        std::optional<int> softwareThreads; ///< empty: inline for small models, Mesa's default for large ones
        bool validation = false;
        bool profiles = false; ///< times every dispatch of a step; slower
        bool inspects = true;  ///< keep queries and patterns for views; false is faster
        std::vector<const char*> instanceExtensions, deviceExtensions; ///< for the scope's window
    };
    using Progress = std::function<void(float fraction, const std::string& what)>; ///< throws to cancel
    using Cancelled = std::function<bool()>;

    LanguageModel(std::unique_ptr<ModelSource> source, const Options& options, const Progress& progress = {});
    ~LanguageModel();

    /// Takes the weights of another source of the same description and vocabulary; tokens are forgotten, gates stay.
    /// @param source taken only if it fits  @return whether it did
    bool replaceWeights(std::unique_ptr<ModelSource>& source);

    const ModelInfo& info() const { return info_; }
    const Tokenizer* tokenizer() const { return source_->tokenizer(); }
    const ModelSource& source() const { return *source_; }
    const DecoderConfig& config() const { return source_->config(); }
    gpu::Context& context() { return *context_; }
    KernelLibrary& kernels() { return *kernels_; }
    TensorStore& store() { return *store_; } ///< weights and caches; the first tokens().size() rows of a cache count
    int64_t planBytes() const;               ///< device memory of the plans made so far: arenas, inputs, results
    int capacity() const { return static_cast<int>(capacity_); } ///< most tokens in the cache

    /// Tokens in the cache.
    const std::vector<int>& tokens() const { return tokens_; }
    /// Forgets the tokens from `length` on.
    void truncate(size_t length);
    /// Runs tokens after those in the cache. @throws Error when they do not fit or are outside the vocabulary
    /// @return false if it was cancelled: the cache then holds what it held before
    bool feed(std::span<const int> tokens, const Cancelled& isCancelled = {});
    /// Logits [V] after the last token fed. Valid until the next feed.
    std::span<const float> logits() const { return {logits_.data(), logits_.size()}; }

    /// Makes ready one plan that a later prompt may need and generates its kernels, so that the prompt need not wait
    /// for that.
    /// @return false if all are ready
    bool warmUp();

    void setGate(int layer, int head, float gate); ///< negative: all of them; takes effect with the next feed
    const std::vector<float>& gates() const { return gates_; } ///< [layers, heads]

    /// What flows through hooks, and patterns set by hand, instead of the model's own; take effect with the next feed.
    /// @param prompt tokens that interventions without a text of their own read
    /// @throws Error naming what does not exist or cannot be changed; all is then as it was
    void setEdits(const Edits& edits, std::span<const int> prompt);
    /// The same, worked out already. Plans stay while the hooks do.
    void setHookEdits(HookEdits edits);
    const HookEdits& hookEdits() const;
    /// While true neither gates nor edits are in force.
    void bypassEdits(bool isBypassed);
    bool isEdited() const; ///< a gate is not 1 or a hook is edited
    /// Weights of keys from 0 on that are set by hand in a row of a head's pattern, which the model runs on.
    /// @return empty where the row is the head's own
    std::vector<float> rowByHand(int layer, int head, int query) const;
    std::set<std::string> editedHooks() const; ///< DecoderBuild::edited of the steps that run now

    /// A graph over whole sequences of up to `length` tokens without a cache, changed as the model is now: for analyses
    /// that add to it. Parameters are in the store.
    /// @param edited hooks besides those that are
    DecoderGraph wholeGraph(int64_t length, std::set<std::string> edited = {}) const;
    /// The graph of a step over the caches, changed likewise: what feed() runs for as many tokens.
    DecoderGraph stepGraph(int64_t queries) const;
    int64_t bucketFor(size_t tokens) const; ///< how many queries the step for that many tokens has
    /// Its tokens, positions, gates and edits, and the numbers that change with each step.
    /// @param first place in the sequence of the first of them
    StepParams writeStep(GpuExecutor& executor, size_t first, std::span<const int> tokens) const;
    /// What a lens looks at: the cached queries and keys of a layer, and what is set by hand.
    LensSource lensSource(int layer) const;
    int64_t streamWidth() const; ///< C of all streams that the residual keeps beside each other
    /// Tokens, positions, gates and edits of its plan. @param tokens padded with 0
    void writeWhole(GpuExecutor& executor, std::span<const int> tokens) const;

    // Views of what the cache holds. Need Options::inspects.
    /// @param hidesFirst as PatternTile::leavesOutFirst
    PatternGrid patternGrid(int size, bool hidesFirst = false);
    PatternTile patternTile(const SetViewCommand& view);
    // The same, but of many tokens coarse pictures at first, which refine() makes exact.
    PatternGrid beginGrid(int size, bool hidesFirst = false);
    PatternTile beginTile(const SetViewCommand& view);
    /// What a head does with all tokens in the cache: counted up by refine().
    HeadProfile beginProfile(int layer, int head);
    /// Works for about so long on what was begun since the tokens changed, the tile first.
    /// @return whether something is left to do
    bool refine(double milliseconds);
    std::optional<PatternTile> refinedTile() const; ///< as it is now; empty where beginTile() gave all at once
    std::optional<PatternGrid> refinedGrid() const; ///< likewise
    std::optional<HeadProfile> refinedProfile() const;
    NewestRows newestRows() const;
    /// @throws Error if there is no such cell
    CellExplanation explain(const ExplainCellCommand& cell);
    WeightView weight(const std::string& name, int maximumSize) const;

    /// A tile that stays on the device, for viewers that draw it without a copy: floats [tile.rows, rowStride], of
    /// which the first tile.columns of a row count. Written by a compute shader that has finished; not yet visible to
    /// other stages.
    struct DevicePattern {
        VkBuffer buffer = VK_NULL_HANDLE;
        uint64_t byteOffset = 0, byteSize = 0;
        int rowStride = 0; ///< in floats
        PatternTile tile;  ///< what is shown, without values
    };
    /// Runs the view. The pixels stay as they are until the next call for the same layer; other views do not touch
    /// them.
    DevicePattern patternOnDevice(const SetViewCommand& view);

    using Captured = CapturedHook; ///< cut to the live tokens
    /// Runs `tokens` from the start with the hooks requested; the cache then holds them. Globs separated by commas.
    /// @throws Error naming the hooks that exist when none matches
    std::vector<Captured> capture(std::span<const int> tokens, const std::string& hooks);
    /// What a layer's attention is given on the tokens in the cache, which it forgets. @throws Error where there are no
    /// tokens, or the layer has no queries and keys
    LayerInputs layerInputs(int layer, uint64_t sequenceVersion);
    /// Names that match the globs, in execution order.
    std::vector<std::string> matchHooks(const std::string& globs) const;

    int64_t deviceBytes() const;
    size_t pipelineCount() const {
        return kernels_->count();
    } ///< built so far: each costs software Vulkan some 50 ms at first

    /// Device time of every dispatch of the last step that ran one token, by shader. Empty unless Options::profiles.
    std::vector<gpu::Profiler::Stretch> profile() const;

    /// Whether its attention is composed of parts: no pattern then stays on the device.
    bool isComposed() const;

private:
    struct Step; // one compiled plan with its executor
    Step& stepFor(size_t tokens);
    std::unique_ptr<Step> makeStep(int64_t queries, bool givesLogits, const std::set<std::string>& probes);
    bool runStep(Step& step, std::span<const int> tokens, const Cancelled& isCancelled);
    Step& gridStep(int size);
    enum class TileUse { ReadBack, Draw }; // each draws into memory of its own
    Step& tileStep(int layer, int size, TileUse use);
    bool isByHand(int layer, int head) const; ///< its pattern is set by hand, and that is in force
    bool needsLens() const;                   ///< too many tokens for pictures that are exact at once
    bool drawsByLens(const SetViewCommand& view) const;
    bool drawsThumbnailsByLens(bool hidesFirst) const;
    AttentionLens& lensOf(int layer);
    void forgetInLenses(size_t from); ///< the tokens from there on
    struct DrawnTile;
    SetViewCommand boundedView(SetViewCommand view) const; ///< within what exists
    DrawnTile drawTile(const SetViewCommand& request, TileUse use);
    std::unique_ptr<Step> makeComposedStep(std::set<std::string> probes);
    bool runComposed(Step& step, std::span<const int> tokens, const Cancelled& isCancelled);
    bool feedComposed(std::span<const int> tokens, const Cancelled& isCancelled);
    /// Weights of some keys of one query; empty where the layer has no pattern.
    std::vector<float> composedRow(int layer, int head, int query, int keyBegin, int keyEnd) const;
    PatternTile composedTile(const SetViewCommand& view, int rows, int columns) const;
    HeadProfile composedProfile(int layer, int head) const;
    void explainCached(CellExplanation& cell);
    void explainComposed(CellExplanation& cell);
    /// What the cell adds to z, and through W_O to the stream. @param reachesStream whether z goes there as it is
    void addContribution(CellExplanation& cell, bool reachesStream) const;
    void load(const Progress& progress);
    void describe();
    void writeGates(GpuExecutor& executor) const;
    /// In their place in a step that runs `count` tokens from `first` on.
    void writeEdits(GpuExecutor& executor, size_t first, size_t count) const;
    PatternTile aggregateTile(SetViewCommand view); ///< head by head
    /// As attn::editedRow(), of what the layer lets the query see. @param tokens how many there are
    std::vector<float> editedRow(const PatternEdit& edit, int query, int tokens) const;
    /// A hook of tokens that are fed to an empty cache, by the kernels that feed() uses for as many.
    CapturedHook fedValues(std::span<const int> tokens, const std::string& hook);
    /// The same of the unedited run of a text, or of the prompt where that is empty; kept.
    const CapturedHook& valuesOf(const std::string& text, std::span<const int> prompt, const std::string& hook);
    std::map<int64_t, std::unique_ptr<Step>>& currentSteps();
    const Step* decodeStep() const; ///< null before it was used
    StepParams viewParams() const;
    PatternTile readTile(const GpuExecutor& executor, const std::string& result, int index, const SetViewCommand& view,
                         int rows, int columns) const;
    std::vector<float> cacheRow(const std::string& state, int row, int head) const;

    std::unique_ptr<ModelSource> source_;
    Options options_;
    std::unique_ptr<gpu::Context> context_;
    std::unique_ptr<KernelLibrary> kernels_;
    std::unique_ptr<TensorStore> store_;
    int64_t capacity_ = 0;
    std::map<int64_t, std::unique_ptr<Step>> steps_, editedSteps_;         ///< by queries; with edited hooks
    std::map<int, std::unique_ptr<Step>> grids_;                           ///< by size
    std::map<std::tuple<int, int, TileUse>, std::unique_ptr<Step>> tiles_; ///< by layer, size and use
    std::vector<int> tokens_;
    std::vector<float> logits_;
    std::vector<float> gates_;
    struct EditState;
    std::unique_ptr<EditState> edits_;
    bool isBypassed_ = false;
    PatternGrid grid_; ///< the last thumbnails, of gridTokens_ with gridCells_ tokens to a pixel
    std::vector<int> gridTokens_;
    int gridSize_ = 0, gridCells_ = 0;
    struct Lenses;
    std::shared_ptr<Lenses> lenses_; ///< for many tokens; made when they are first looked at
    ModelInfo info_;
};

} // namespace attn
