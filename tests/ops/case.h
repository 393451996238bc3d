#pragma once

#include "engine/graph/step_params.h"
#include "engine/ops/block_attention.h"
#include "engine/ops/bucket_attention.h"
#include "engine/ops/channel_mean.h"
#include "engine/ops/cluster_attention.h"
#include "engine/ops/convolve.h"
#include "engine/ops/grouped.h"
#include "engine/ops/linear_scan.h"
#include "engine/ops/ops.h"
#include "engine/ops/scan.h"
#include "engine/ops/selective_scan.h"
#include "tests/support/catch.h"

namespace attn::test {

/// From 1 to `most`, the same in every run.
int64_t randomSize(int64_t most);

/// A graph under test with the values of its sources.
struct Case {
    std::string op;
    std::shared_ptr<Graph> graph = std::make_shared<Graph>();
    std::map<std::string, std::vector<double>> values;
    std::map<std::string, Tensor> outputs;
    StepParams step;

    /// An input of normal random numbers.
    Tensor real(const std::string& name, Shape shape, std::optional<StepScalar> live = {}, double scale = 1);
    Tensor integers(const std::string& name, Shape shape, int64_t below, std::optional<StepScalar> live = {});
    /// A parameter (if its name begins so) or state of normal random numbers.
    Tensor stored(const std::string& name, Shape shape);
    void expect(const std::string& name, Tensor tensor) { outputs[name] = tensor; }
};

using Builder = std::function<void(Case&)>;

/// For every op of the catalogue, a graph that uses it, of random sizes.
std::map<std::string, Builder> allBuilders();

/// Attention inputs over a partly filled cache, with positions in no particular order.
AttentionInputs attentionCase(Case& test, int64_t T, int64_t S, int64_t heads, int64_t groups, int64_t D, bool live);
/// Attention inputs without live lengths and a rule for them; often rows of several sequences that lie one after
/// another.
AttentionInputs wholeAttention(Case& test, AttentionRule& rule);

/// Block-sparse attention over a mask drawn at random, some of whose tiles are empty, full or partly seen.
struct TileCase {
    BlockAttentionInputs inputs;
    double scale = 0.3;
};
TileCase tileCase(Case& test, int64_t most);

/// Means by channel with a table of each form or with factors, over up to `most` tokens.
Tensor channelMeanCase(Case& test, int64_t most);

/// Attention within buckets that are drawn at random and sorted, over up to `most` tokens and three rounds.
BucketAttentionInputs bucketCase(Case& test, int64_t most);
/// Attention within clusters whose members are drawn at random, over up to `most` tokens.
ClusterAttentionInputs clusterCase(Case& test, int64_t most, bool isCausal);
/// The same with sphereOf(q, k) as an input: a sum over rows is another kernel.
ClusterAttentionInputs clusterCaseOnSphere(Case& test, int64_t most, bool isCausal);

/// A recurrent network of any kind over up to `most` rows; often some of them do not count.
Scanned scanCase(Case& test, int64_t most);
/// A linear recurrence of real or complex numbers over up to `most` rows; often some of them do not count.
LinearScanned linearScanCase(Case& test, int64_t most);
/// A selective state space over up to `most` rows; often some of them do not count.
SelectivelyScanned selectiveScanCase(Case& test, int64_t most);
/// Rows of groups, of which some are empty and some rows are of none, times the matrices of the groups.
Tensor groupedCase(Case& test, int64_t most);
/// A convolution of one or two axes of up to `most` rows, in groups of any kind.
Tensor convolveCase(Case& test, int64_t most);
/// All numbers of several tensors in one.
Tensor together(std::span<const Tensor> tensors);
/// Cases of the ops that read sequences row after row, for the device's sweep.
void addSequenceBuilders(std::map<std::string, Builder>& all);
/// The same for the sweep of gradients.
void addSequenceGradients(std::map<std::string, Builder>& all);

/// Cases of the ops of gradients and training.
void addTrainingBuilders(std::map<std::string, Builder>& all);

/// The ops of tensor_ops.h with axes of up to `most` indices, for the device's sweep and, where a gradient flows, for
/// that of gradients: each returns what is compared.
std::map<std::string, std::function<Tensor(Case&)>> tensorCases(int64_t most);

} // namespace attn::test
