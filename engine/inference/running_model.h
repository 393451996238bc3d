#pragma once

#include "engine/core/storage.h"
#include "engine/inference/changes.h"
#include "engine/inference/graph_sources.h"
#include "engine/inference/hook_changes.h"
#include "engine/inference/hooks.h"
#include "engine/inference/input.h"
#include "engine/inference/load_parameters.h"
#include "engine/inference/model_info.h"
#include "engine/models/model_builder.h"
#include "engine/models/model_source.h"
#include "engine/runtime/gpu_executor.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace attn {

struct ChangeInputs;

/// The purpose of a graph over a whole input.
struct WholeBuild {
    std::set<std::string> changed{}; ///< hooks that can be changed, besides those that changes already do
    bool needsGradients = false;     ///< keeps the values that gradients need
    bool readsAllLayers = false;     ///< whether to build ModelGraph::stages
    bool isFormed = false;           ///< see AttentionSite::isFormed
};

/// The values that a run is asked for.
struct Wanted {
    std::string hooks{};     ///< globs, separated by commas; empty: none
    bool prediction = false; ///< the logits of the readout
};

/// A model applied to an input.
struct Run {
    std::vector<CapturedHook> hooks; ///< in execution order, cut to the rows of the input
    std::vector<float> prediction;   ///< [V] after the last token, or [classes]; empty unless wanted
};

/// Parameters that lie in a store already: a model shares them with whoever changes them, and keeps its caches there.
struct SharedParameters {
    std::shared_ptr<Device> device{};
    std::shared_ptr<TensorStore> store{}; ///< null: a model has a store of its own
};

/// How a model is loaded.
struct LoadOptions {
    DeviceChoice device{};     ///< without a number of threads: none for small models, Mesa's default for large ones
    WindowExtensions window{}; ///< for a viewer that draws on the device, which is then not shared
    bool profiles = false;     ///< measure every dispatch of a step; slower
    Storage storage = Storage::F32; ///< of the weights
    bool inspects = true;           ///< keep queries and patterns for views; false: faster
    int64_t cacheRows = 4096;       ///< tokens that the cache has room for at first; it grows with the text
    SharedParameters shared{};      ///< instead of loading those of the source
};

/// A loaded model on a device: its description, its parameters, the changes to its runs, and runs on whole inputs.
/// Synchronous; for use by one thread.
class RunningModel {
public:
    using Progress = LoadProgress;
    using Cancelled = std::function<bool()>;

    virtual ~RunningModel();
    RunningModel(const RunningModel&) = delete;
    RunningModel& operator=(const RunningModel&) = delete;

    /// Replaces the parameters by those of a source with the same description, preprocessing and vocabulary, such as
    /// another checkpoint. Drops the input and keeps the gates.
    /// @param source moved from only if it fits  @return whether it fits
    /// @throws Error as the source; the model is then unusable
    bool replaceWeights(std::unique_ptr<ModelSource>& source);

    const ModelInfo& info() const { return info_; }
    const ModelSource& source() const { return *source_; }
    const ModelSpec& config() const { return source_->config(); }
    Device& device() const { return *device_; }
    TensorStore& store() const { return *store_; } ///< parameters and states
    const DeviceChoice& deviceChoice() const { return deviceChoice_; }
    int64_t deviceBytes() const;

    /// Applies the model to an input. The changes stay set.
    /// @throws Error as setChanges(), require() and matchHooks()
    Run run(const Input& input, const Changes& changes, const Wanted& wanted);

    // The changes to runs.

    /// Sets everything done to runs, from the next one on. Plans stay if the set of changed hooks stays.
    /// @param own   the input that an empty text in changes means
    /// @param other the input that any text means, for models of pictures; null: none
    /// @throws Error naming the change that does not fit the model; the former changes then stay
    void setChanges(const Changes& changes, const Input& own, const std::optional<Input>& other = {});
    /// setChanges() for all changes but gates.
    void applyChanges(const Changes& changes, const Input& own, const std::optional<Input>& other = {});
    /// Sets changes that are already converted to numbers.
    void setHookChanges(HookChanges hookChanges);
    const HookChanges& hookChanges() const { return hookChanges_; }
    void setGate(int site, int head, float gate);              ///< negative: all; from the next run on
    const std::vector<float>& gates() const { return gates_; } ///< [sites, ModelInfo::heads]
    void bypassChanges(bool isBypassed);                       ///< turns gates and other changes off while true
    bool isBypassed() const { return isBypassed_; }
    bool isChanged() const;                     ///< a gate is not 1 or a hook is changed
    std::set<std::string> changedHooks() const; ///< hooks that current runs can change

    /// Forgets the input that it holds, so that the next run begins at its first row.
    virtual void dropInput() {}

    // Runs on whole inputs.

    /// A graph that lists all hooks and parameters.
    ModelGraph listing() const { return buildForListing(config()); }

    /// @throws Error saying why the model cannot run this input
    virtual void require(const Input& input) const = 0;
    /// A graph for one input with the current changes, to which analyses add outputs. Parameters are in the store.
    /// @throws Error as require()
    ModelGraph wholeGraph(const Input& input, WholeBuild build = {}) const;
    /// Compiles a graph, with the constants that it reads.
    std::unique_ptr<GpuExecutor> executorOf(const ModelGraph& graph, const std::map<std::string, Tensor>& outputs,
                                            const std::set<std::string>& probes = {},
                                            const GpuExecutorOptions& options = {});
    /// Writes an input, gates and other changes for a run of a graph from wholeGraph().
    void writeWhole(GpuExecutor& executor, const Input& input) const;
    /// The logits of the readout: of the token after the text, or of the classes of a whole text or a picture.
    /// @return empty if cancelled, or if the model answers with neither  @throws Error as require()
    virtual std::vector<float> predict(const Input& input, const Cancelled& isCancelled = {}) = 0;
    /// predict() again, after changes that reach only rows from `row` on.
    virtual std::vector<float> predictFrom(const Input& input, size_t row);
    /// The logits by the formed path: whole patterns, without a fused kernel, a cache or a state.
    /// @return [rows, choices()]: a row for each token of a text, one for a picture  @throws Error if there is no
    /// readout
    std::vector<float> formedLogits(const Input& input);
    /// The row of formedLogits() that predict() gives.
    virtual size_t predictedRow(const Input& input) const;
    /// Captures hooks of a run, in execution order, cut to the rows of the input.
    /// @param hooks globs, separated by commas  @throws Error listing the hooks if a glob matches none; as require()
    virtual std::vector<CapturedHook> capture(const Input& input, const std::string& hooks) = 0;
    /// The readout with the divisor of the final norm held: see linear_readout.h.
    /// @param row Input I32 [1] of texts: the token after which to predict
    /// @throws Error if the readout is not linear then
    Tensor linearReadout(Tensor stream, Tensor row) const;
    int choices() const { return info_.classes > 0 ? info_.classes : info_.vocabulary; } ///< number of logits
    /// The attention of a site, as the description of the model gives it.
    const LayerAttention& attentionOf(int site) const { return siteAttention(config(), site); }
    /// The names of hooks that match globs, in execution order.
    std::vector<std::string> matchHooks(const std::string& globs) const;
    /// The row of a site's stream that contains each row of the input. @return empty: its own
    virtual std::vector<int> rowsOfInput(int site) const;
    /// Whether the rows of a site's hooks are in the order of windows instead of that of its stream.
    virtual bool ordersByWindow(int site) const;
    /// @throws Error saying why rows of a hook do not correspond in two runs
    virtual void requireSameRows(const std::string& hook) const;

protected:
    /// @param axis of what the model must read  @throws Error if it reads something else
    RunningModel(std::unique_ptr<ModelSource> source, AxisKind axis);

    /// Chooses the device, and allocates and describes what the graph reads.
    /// @param isSmall whether a dispatch on software Vulkan costs more than its work, unless it runs on the submitting
    /// thread
    /// @throws Error if the device has too little memory
    void prepare(const LoadOptions& options, const ModelGraph& listing, bool isSmall);
    /// Loads the parameters, or copies those that lie on a device.
    void load(const Progress& progress);
    void describe(int64_t capacity); ///< sets what ModelInfo says of the source. @param capacity see modelInfo()
    /// Writes the gates of all sites that the run reaches.
    void writeGates(GpuExecutor& executor) const;
    /// Writes the changes of a run. @param first row of the stream that the run begins with
    /// @param count number of rows; none: all rows of each site
    void writeChanges(GpuExecutor& executor, size_t first, std::optional<size_t> count) const;

    /// The graph of wholeGraph(). @param build also with the hooks of the current changes
    virtual ModelGraph graphOf(const Input& input, const WholeBuild& build) const = 0;
    /// Writes the rows of an input, and what belongs to them.
    virtual void writeInput(GpuExecutor& executor, const Input& input) const = 0;
    /// The number of rows of a whole run that changes reach, from the first one. None: all rows of each site.
    virtual std::optional<size_t> changedRows(const Input&) const { return {}; }

    /// Called when patterns may differ from those before. @param isOtherSet whether other hooks are changed than before
    virtual void changesChanged(bool isOtherSet) = 0;
    /// The row of a token in a hook. @param token negative: all
    virtual int rowOf(const std::string& hook, int token) const;
    /// The input whose original run gives the values of a change. @param isContrast those to subtract
    virtual Input sourceOf(const ValueChange& change, bool isContrast, const Input& own,
                           const std::optional<Input>& other) const = 0;
    /// The values of a hook in the original run.
    virtual CapturedHook originalValues(const Input& input, const std::string& hook) = 0;
    virtual int64_t rowsOf(int site) const = 0; ///< rows of a site's stream
    /// Writes the rows that a change sets in a pattern. @param first, count as for writeChanges()
    virtual void writePattern(const ChangeInputs& pattern, const PatternChange& change, size_t first,
                              size_t count) const = 0;

    std::unique_ptr<ModelSource> source_;
    ModelInfo info_;
    DeviceChoice deviceChoice_;
    std::shared_ptr<Device> device_;
    std::shared_ptr<TensorStore> store_;

private:
    /// @return copies, because kept values may be removed
    CapturedHook valuesOf(const Input& input, const std::string& hook);
    HookChanges converted(const Changes& changes, const Input& own, const std::optional<Input>& other);

    std::unique_ptr<ParameterCopy> copy_; ///< made for the first parameters that lie on a device
    std::vector<float> gates_;
    HookChanges hookChanges_;
    bool isBypassed_ = false;
    struct Known {
        Input input;
        std::map<std::string, CapturedHook> hooks;
    };
    std::vector<Known> known_; ///< values of original runs, so that a slider does not repeat these runs
};

/// Turns gates and other changes of a model off, or on, until its end.
class Bypassed {
public:
    explicit Bypassed(RunningModel& model, bool isBypassed = true) : model_(model), before_(model.isBypassed()) {
        model.bypassChanges(isBypassed);
    }
    ~Bypassed() { model_.bypassChanges(before_); }
    Bypassed(const Bypassed&) = delete;
    Bypassed& operator=(const Bypassed&) = delete;

private:
    RunningModel& model_;
    bool before_;
};

/// Loads a model of any kind. @throws Error as the source, or if the device has too little memory
std::unique_ptr<RunningModel> loadModel(std::unique_ptr<ModelSource> source, const LoadOptions& options,
                                        const RunningModel::Progress& progress = {});

} // namespace attn
