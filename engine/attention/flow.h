#pragma once

#include "engine/attention/attention_spec.h"
#include "engine/ops/tensor_ops.h"

#include <functional>
#include <optional>

namespace attn {

/// The initial value of a part's parameter. Identity is the identity matrix plus normal noise.
struct InitialValue {
    enum class Kind : uint8_t { Zero, One, Constant, Normal, Identity } kind = Kind::Zero;
    double deviation = 0.02; ///< standard deviation of Normal and of Identity's noise; the number of Constant
};

/// A tensor that a graph reads and nothing learns: frequencies, slopes, masks, random features.
struct FlowConstant {
    std::string name;
    Shape shape;
    std::function<std::vector<float>()> values; ///< without padding; called only for plans that read the tensor
};
/// A tensor that training sets.
struct FlowParameter {
    std::string name;
    Shape shape;
    InitialValue initial;
};

struct AttentionFlow;
enum class Stage : uint8_t;

/// The inputs of the block-sparse kernel, whose scores are q.k scale + bias.
struct FusedScores {
    Tensor q; ///< [B,H,T,D]
    Tensor k; ///< [B,G,S,D]
    double scale = 1;
    std::vector<float> bias{}; ///< [H, T+S-1] by key minus query, from -(T-1) on; empty for none
    Tensor learned{};          ///< the same shape, from learned parameters; kMasked hides a distance; null for none
    int64_t reach = 0;         ///< keys at this distance or more are hidden; 0: no limit
    Tensor labelVectors{};     ///< [H,L,D]: the one of a cell's label is added to its key; null for none
    std::function<int64_t(int64_t, int64_t)> label{}; ///< of the positions of query and key, below L
    /// Adds a fixed bias. @param bias as a function of the head and of key minus query
    void add(const AttentionFlow& flow, const std::function<double(int64_t, int64_t)>& bias);
};

/// A pattern as a product of two thin tensors, so that any part of it can be computed alone: queries_t . keys_s where s
/// is visible to t, else 0.
struct PatternFactors {
    Tensor queries; ///< [B,H,T,F], divided by the row sums if rows are normalised
    Tensor keys;    ///< [B,H,S,F], or [S,F] for all heads
    bool isCausal = false;
};

/// A projection of rows that no tensor holds: rows . weight^T + bias.
struct Projection {
    Tensor rows;   ///< [B,heads,N,E], or [B,1,N,E] for all heads
    Tensor weight; ///< [heads,D,E]
    Tensor bias{}; ///< [heads,1,D]; null for none
};

/// The inputs of the fused kernel for global tokens with projections of their own.
struct GlobalRows {
    Tensor queries{};                           ///< [B,H,g,D]: those of the global tokens; null: the first of q
    Tensor ordinary{};                          ///< [B,H,T,D]: those of all tokens by the ordinary matrices; null: q
    std::optional<Projection> keys{}, values{}; ///< that give their keys and values; none if parts change the keys
};

/// Draws the initial values of a parameter. @return row-major, without padding
std::vector<float> initialNumbers(const FlowParameter& parameter, uint64_t seed);

/// An attention while its graph is built: the parts of a spec act on it, stage by stage. The leading axes are sequences
/// (B) and heads; key/value heads are repeated to one per query head before Stage::Scores.
struct AttentionFlow {
    Graph& graph;
    const AttentionSpec& spec;
    std::string prefix;    ///< of the names of parameters and constants: "blocks.0.attn"
    std::string weights{}; ///< prefix of parameters if it differs: layers may share parameters
    /// Prefix of the parameters of the position part if it differs: layers may share them. Empty: as for the others.
    std::string positionWeights{};
    /// Prefix of the parameters that all layers of a stack share. Empty: as for the others.
    std::string stackWeights{};
    int64_t layer = 0;
    int64_t batch = 1, heads = 1, groups = 1, queries = 1, keys = 1, width = 1;

    /// Whether Stage::Inputs has run on the rows that q and k were projected from. If not, it runs on q and k.
    bool hasInputs = false;
    /// [.., T, width]: the rows that Stage::Inputs changes. With hasInputs: the rows that q is projected from, [B,T,C].
    Tensor stream;
    /// [B,S,C]: the rows that k and v are projected from, in a step those of its own tokens. Null: they are unknown.
    Tensor keyStream;
    Tensor q;    ///< [B,H,T,D]
    Tensor k, v; ///< [B,G,S,D]; [B,H,S,D] from Stage::Scores on. Of a mixer of the stream, v is its rows [B,1,S,C]
    /// k and v of states that get no gradient, for memories that read them: [B,G,S,D], [B,H,S,D] from Stage::Scores on.
    /// Null: such a memory reads k and v, without a gradient.
    Tensor rememberedKeys, rememberedValues;
    /// The keys and values that the first `globals` queries read: as k and v. Null: all queries read k and v.
    Tensor globalKeys, globalValues;
    int64_t globals = 0;
    /// The inputs of the fused kernel for these queries; set with globalKeys.
    GlobalRows globalRows{};
    /// Projects the rows that gave q, k and v by other matrices. @param letter "Q", "K" or "V"  @return as q, or as k
    /// and v. Null: the rows are unknown, and q, k and v stand for them
    std::function<Tensor(const char* letter)> projectAgain{};
    /// The matrices of projectAgain(), and the rows. Set with it.
    std::function<Projection(const char* letter)> otherProjection{};
    Tensor mask;         ///< [1|H,T,S]: 1 where visible; null if everything is
    Tensor sequenceMask; ///< [B,1,T,S]: 0 where single sequences hide more; null: they do not
    Tensor scores;       ///< [B,H,T,S]
    Tensor pattern;      ///< [B,H,T,S]: attention weights; null while no part has computed them
    /// [B,H,T,S] by which the mask multiplies the pattern after the normaliser; null: it does not.
    Tensor weightFactor;
    std::optional<PatternFactors> factors{}; ///< of an effective pattern that is such a product; side branches
    Tensor z;                                ///< [B,H,T,D]
    bool mayFuse = true;                     ///< false: forms the whole pattern, even if the spec can run without
    /// Replaces the pattern, for changes that set attention weights; null keeps it.
    std::function<Tensor(Tensor pattern)> changePattern{};
    /// Intermediate tensors that a part offers to views, by name: "xl.content". Side branches: nothing else reads them.
    std::vector<std::pair<std::string, Tensor>> shown{};

    /// Numbers of units by token that a mixer computes, [B,1,T,units] each, by name: "state", "forget_gate". Side
    /// branches, which views offer as hooks.
    std::vector<std::pair<std::string, Tensor>> units{};

    /// The terms of the scores other than q.k scale, by name: "position.bias" [H,T,S], "xl.global_content" [B,H,1,S].
    /// Side branches.
    std::vector<std::pair<std::string, Tensor>> terms{};

    std::vector<Tensor> penalties{}; ///< [1] each, added to the loss
    /// Parameters that follow a running average instead of a gradient: whole names, and the values after a step of
    /// training, which alone sets them.
    std::vector<std::pair<std::string, Tensor>> averages{};

    // A step of a sequence that continues: T tokens at any positions, and S keys, the first of which exist already.
    Tensor positions;          ///< I32 [T], rising by one; null: a whole sequence, which begins at 0
    int64_t context = 0;       ///< longest sequence: the size at which masks are evaluated
    Tensor newKeys, newValues; ///< [B,H,T,D]: of the step's own tokens. Then k and v are those of all keys, or null
    /// For texts with trees of their own, as DependencyTree::write() writes them: I32 [B T] and [B T S]. Null: the tree
    /// of the spec.
    Tensor treeDepths, treeRelations;
    /// Adds rows of any width to a cache. @param letter its name  @param rows [B,G,T,D]  @return the cache, [B,G,S,D].
    /// Null: no keys and values are kept
    std::function<Tensor(const char* letter, Tensor rows)> remember{};
    /// Compute q.k [B,H,T,S], and pattern . v [B,H,T,D], from the cache as it is stored. Null: k and v are read
    std::function<Tensor()> cachedProducts{};
    std::function<Tensor(Tensor pattern)> cachedMix{};
    /// Computes z [B,H,T,D] from the cache by the fused kernel. @param bias [H,2S-1] by key minus query position; null:
    /// none. Null: the kernel does not compute the parts' scores
    std::function<Tensor(Tensor bias)> cachedAttention{};
    std::vector<std::pair<std::string, Tensor>> updates{}; ///< writes to states that every plan must request

    std::vector<FlowParameter> parameters{};
    std::vector<FlowConstant> constants{};

    /// Declares a parameter once and returns it. @param name without the prefix
    Tensor parameter(const std::string& name, Shape shape, InitialValue initial = {});
    /// A parameter that all layers of a stack share.
    Tensor stackParameter(const std::string& name, Shape shape, InitialValue initial = {});
    /// Sets the value that a parameter gets after a step of training. @param name without the prefix
    void setAverage(const std::string& name, Tensor value);
    /// Declares a constant once and returns it. @param name without the prefix  @param values without padding
    Tensor constant(const std::string& name, Shape shape, std::vector<float> values);
    Tensor constant(const std::string& name, Shape shape, std::function<std::vector<float>()> values);
    bool isStep() const { return static_cast<bool>(positions); }
    /// Declares a constant with its whole name, which sites may share.
    Tensor table(const std::string& name, Shape shape, std::function<std::vector<float>()> values);
    /// The numbers of positions: those of the first `rows` positions, or of the positions of a step.
    /// @param of number for a position and a column  @return [rows, columns]
    Tensor byPosition(const std::string& name, int64_t rows, int64_t columns,
                      const std::function<double(int64_t, int64_t)>& of);
    /// The numbers of every distance of key minus query that occurs, from -(T - 1) to S - 1 in a whole sequence.
    /// @param of number for a distance and a column  @return [T + S - 1, columns], as diagonals() needs it in its last
    /// axes
    Tensor byDistance(const std::string& name, int64_t columns, const std::function<double(int64_t, int64_t)>& of);
    /// The numbers of cells. @param of number for the positions of query and key  @return [T,S]
    Tensor byCell(const std::string& name, const std::function<double(int64_t, int64_t)>& of);
    /// Joins two tensors [..,T,columns]: the first `globals` queries from one and the others from the other.
    Tensor byGlobals(Tensor ofGlobals, Tensor ofOthers);
    /// A learned number for every query and key position. @return [T,S]
    Tensor parameterByCell(const std::string& name, InitialValue initial);
    /// A state that lasts from step to step. @param initial its numbers before the first  @return its value before this
    /// step
    Tensor state(const std::string& name, const Shape& shape, double initial = 0);
    /// Sets a state for the next step. @param value of the state's shape
    void setState(const std::string& name, Tensor value);
    void show(const std::string& name, Tensor tensor) { shown.emplace_back(name, tensor); }
    void showUnits(const std::string& name, Tensor tensor) {
        units.emplace_back(name, tensor);
        show("units." + name, tensor);
    }
    /// Adds a term to the scores and lists it in `terms`. @param term broadcasts to [B,H,T,S]
    void addToScores(const std::string& name, Tensor term);
    bool isCausal() const;   ///< a query sees exactly the keys up to its own position
    bool looksAhead() const; ///< some query sees a key after its own position
    /// The distances at which every query sees keys, where the mask's rule is such a band.
    std::optional<MaskBand> band() const;
    /// The factor by which the score part multiplies q.k, for positions that add terms of the same kind.
    double scoreScale() const;

private:
    Tensor declared(std::string name, Shape shape, InitialValue initial);
    MaskSight sight() const;
};

/// A row-major tensor of any rank in double, for references.
struct Dense {
    std::vector<int64_t> extents;
    std::vector<double> data;

    Dense() = default;
    explicit Dense(std::vector<int64_t> shape, double value = 0);
    template <class... Index> double& at(Index... index) { return data[offset({static_cast<int64_t>(index)...})]; }
    template <class... Index> double at(Index... index) const { return data[offset({static_cast<int64_t>(index)...})]; }

private:
    size_t offset(std::initializer_list<int64_t> index) const;
};

/// The counterpart of AttentionFlow for references: plain loops over one sequence, in double.
struct ReferenceFlow {
    const AttentionSpec& spec;
    int64_t layer = 0;
    int64_t heads = 1, queries = 1, keys = 1, width = 1;

    Dense stream;                   ///< [rows, width]
    Dense q;                        ///< [H,T,D]
    Dense k, v;                     ///< [H,S,D]: key/value heads repeated
    Dense globalKeys, globalValues; ///< [H,S,D]: see AttentionFlow
    int64_t globals = 0;
    std::vector<char> mask;                    ///< [H,T,S]
    Dense scores, pattern;                     ///< [H,T,S]
    Dense weightFactor;                        ///< [H,T,S]: see AttentionFlow
    Dense z;                                   ///< [H,T,D]
    std::map<std::string, Dense> parameters{}; ///< parameters and constants, by name without the prefix

    bool isVisible(int64_t head, int64_t t, int64_t s) const;
    bool isCausal() const;
    bool looksAhead() const;
    double scoreScale() const;
};

/// Runs only one stage: Inputs, on flow.stream, or Output, on flow.z, with q and sizes set.
void buildStage(AttentionFlow& flow, Stage stage);
/// @throws Error with the first problem of check() if the spec's parts do not combine for the flow's sizes
void requireSound(const AttentionFlow& flow);
/// Runs the spec's parts over q, k and v.
/// @param flow with q, k, v, sizes and prefix set; the rest is filled in
/// @throws Error if the parts do not combine, with the first problem of check()
void buildAttention(AttentionFlow& flow);
/// Adds the attention of a reference.
void referenceAttention(ReferenceFlow& flow);

} // namespace attn
