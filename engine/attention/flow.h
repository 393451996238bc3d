#pragma once

#include "engine/attention/attention_spec.h"
#include "engine/ops/tensor_ops.h"

#include <functional>
#include <optional>

namespace attn {

/// How a part's parameter begins.
struct InitialValue {
    enum class Kind : uint8_t { Zero, One, Normal, Identity } kind = Kind::Zero;
    double deviation = 0.02; ///< of Normal
};

/// Numbers a graph needs that nothing learns: frequencies, slopes, masks, random features.
struct FlowConstant {
    std::string name;
    Shape shape;
    std::function<std::vector<float>()> values; ///< dense; asked for by plans that read them
};
struct FlowParameter {
    std::string name;
    Shape shape;
    InitialValue initial;
};

struct AttentionFlow;

/// What the block-sparse kernel makes scores from, cell by cell: q.k scale + bias.
struct FusedScores {
    Tensor q; ///< [B,H,T,D]
    Tensor k; ///< [B,G,S,D]
    double scale = 1;
    std::vector<float> bias{}; ///< [H, T+S-1] by distance of key from query, from -(T-1) on; empty for none
    Tensor learned{};          ///< likewise, out of what is learned; kMasked hides the distance; null for none
    int64_t reach = 0;         ///< keys this far from the query and further are never seen; 0: none is too far
    /// @param bias of head and distance
    void add(const AttentionFlow& flow, const std::function<double(int64_t, int64_t)>& bias);
};

/// A pattern as a product of two thin tensors, so that any part of it can be formed by itself: queries_t . keys_s where
/// s is visible to t, else 0.
struct PatternFactors {
    Tensor queries; ///< [B,H,T,F], divided by the sums of the rows where rows are normalised
    Tensor keys;    ///< [B,H,S,F], or [S,F] for all heads
    bool isCausal = false;
};

/// What a parameter begins with. @return dense
std::vector<float> initialNumbers(const FlowParameter& parameter, uint64_t seed);

/// An attention while its graph is built: the parts of a spec act on it, stage by stage. Leading axes are sequences and
/// heads; key/value heads are repeated to one per head when the scores begin.
struct AttentionFlow {
    Graph& graph;
    const AttentionSpec& spec;
    std::string prefix;    ///< of parameters and constants: "blocks.0.attn"
    std::string weights{}; ///< of parameters, if it is another one: layers may share them
    int64_t layer = 0;
    int64_t batch = 1, heads = 1, groups = 1, queries = 1, keys = 1, width = 1;

    bool hasInputs = false; ///< Stage::Inputs has run on what q and k were made of; else it runs on them
    Tensor stream;          ///< [.., T, width]: what Stage::Inputs acts on
    Tensor q;               ///< [B,H,T,D]
    Tensor k, v;            ///< [B,G,S,D]; [B,H,S,D] from Stage::Scores on
    /// k and v of states through which nothing is learned, where a memory reads them: [B,G,S,D], [B,H,S,D] from
    /// Stage::Scores on. Null: what is known are k and v alone, and nothing is learned through those.
    Tensor rememberedKeys, rememberedValues;
    Tensor mask;         ///< [1|H,T,S]: 1 where visible; null when everything is
    Tensor sequenceMask; ///< [B,1,T,S]: what besides is hidden in single sequences; null: nothing
    Tensor scores;       ///< [B,H,T,S]
    Tensor pattern;      ///< [B,H,T,S]: weights of the values; where none is formed, null until shown
    std::optional<PatternFactors> factors{}; ///< of an effective pattern, where it is such a product; side branches
    Tensor z;                                ///< [B,H,T,D]
    bool mayFuse = true;                     ///< false forms every cell, whatever the spec
    /// What takes the place of the pattern, null for itself: weights that are set by hand.
    std::function<Tensor(Tensor pattern)> editPattern{};
    /// What a part has to show besides: "xl.content", "linformer.factors" ... Side branches: nothing else reads them.
    std::vector<std::pair<std::string, Tensor>> shown{};

    /// What the scores are sums of besides q.k scale, by name: "position.bias" [H,T,S], "xl.global_content" [B,H,1,S].
    /// Side branches.
    std::vector<std::pair<std::string, Tensor>> terms{};

    std::vector<Tensor> penalties{}; ///< [1] each: to be added to a loss

    std::vector<FlowParameter> parameters{};
    std::vector<FlowConstant> constants{};

    Tensor parameter(const std::string& name, Shape shape, InitialValue initial = {});
    Tensor constant(const std::string& name, Shape shape, std::vector<float> values);
    Tensor constant(const std::string& name, Shape shape, std::function<std::vector<float>()> values);
    void show(const std::string& name, Tensor tensor) { shown.emplace_back(name, tensor); }
    /// A term of the scores. @param term broadcasts to [B,H,T,S]
    void addToScores(const std::string& name, Tensor term);
    bool isCausal() const; ///< the mask's expression hides everything that lies ahead
    /// What the score part multiplies q.k with, for positions that add terms of their own to it.
    double scoreScale() const;
};

/// Row-major numbers of any rank, for references.
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

/// The same in plain loops over one sequence, in double.
struct ReferenceFlow {
    const AttentionSpec& spec;
    int64_t layer = 0;
    int64_t heads = 1, queries = 1, keys = 1, width = 1;

    Dense stream;                              ///< [rows, width]
    Dense q;                                   ///< [H,T,D]
    Dense k, v;                                ///< [H,S,D]: key/value heads repeated
    std::vector<char> mask;                    ///< [H,T,S]
    Dense scores, pattern;                     ///< [H,T,S]
    Dense z;                                   ///< [H,T,D]
    std::map<std::string, Dense> parameters{}; ///< by their names without the prefix; constants among them

    bool isVisible(int64_t head, int64_t t, int64_t s) const;
    bool isCausal() const;
    double scoreScale() const;
};

/// Stage::Inputs alone, on flow.stream.
void buildInputs(AttentionFlow& flow);
/// Whether z comes from the block-sparse kernel, in memory that grows with the tokens and the tiles that the mask
/// shows. Scores and pattern are then side branches, formed by plans that ask for them.
bool isFused(const AttentionSpec& spec);
/// Runs the spec's parts over q, k and v. @param flow with q, k, v, sizes and prefix set; the rest is filled in
/// @throws Error as check()
void buildAttention(AttentionFlow& flow);
void referenceAttention(ReferenceFlow& flow);

} // namespace attn
