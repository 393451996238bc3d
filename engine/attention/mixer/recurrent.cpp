#include "engine/attention/parts.h"
#include "engine/attention/terms.h"
#include "engine/ops/scan.h"

#include <cmath>
#include <numeric>

// Recurrent networks in the place of attention: they read the rows of the stream one after another and keep a hidden
// state as wide as the stream, which is what they add to it.

namespace attn {
namespace {

using namespace terms;

/// One of the networks. Its arrays end with null.
struct Network {
    Recurrence kind;
    std::array<const char*, 5> biases; ///< of its gates, by name; those of a forget gate begin as 1
    std::array<const char*, 6> kept{}; ///< what views show of what scan() keeps of each row
};
constexpr Network kElman{.kind = Recurrence::Elman, .biases = {"b_h"}},
    kLstm{.kind = Recurrence::Lstm,
          .biases = {"b_i", "b_f", "b_g", "b_o"},
          .kept = {"input_gate", "forget_gate", "candidate", "output_gate", "cell"}},
    kGru{.kind = Recurrence::Gru, .biases = {"b_r", "b_z", "b_n"}, .kept = {"reset_gate", "update_gate", "candidate"}};

template <const Network& network> void build(AttentionFlow& flow, PartValues) {
    const int64_t B = flow.batch, T = flow.queries, C = flow.width;
    const InitialValue normal{InitialValue::Kind::Normal, 1 / std::sqrt(3 * static_cast<double>(C))};
    std::vector<Tensor> biases;
    for (const char* const* name = network.biases.data(); *name; ++name) {
        const bool isForget = network.kind == Recurrence::Lstm && biases.size() == 1;
        biases.push_back(flow.parameter(std::string("mixer.") + *name, {C},
                                        {isForget ? InitialValue::Kind::One : InitialValue::Kind::Zero}));
    }
    const int64_t gates = std::ssize(biases) * C;
    const Tensor rows = flow.isStep() ? flow.newValues : flow.v; // [B,1,T,C]
    const Tensor x = matmul(reshape(rows, {B * T, C}), flow.parameter("mixer.W_x", {gates, C}, normal),
                            {.bias = biases.size() == 1 ? biases.front() : concatenate(biases, 0)});
    const auto before = [&](const char* state) {
        return flow.isStep() ? flow.state(state, {B, C}) : fill(flow.graph, {B, C}, 0);
    };
    const bool isLstm = network.kind == Recurrence::Lstm;
    const Scanned scanned =
        scan(network.kind, {.gates = reshape(x, {B, T, gates}),
                            .recurrent = flow.parameter("mixer.W_h", {gates, C}, normal),
                            .state = before("hidden"),
                            .cell = isLstm ? before("cell") : Tensor(),
                            .bias = network.kind == Recurrence::Gru ? flow.parameter("mixer.b_s", {C}) : Tensor()});
    if (flow.isStep()) {
        flow.setState("hidden", scanned.state);
        if (isLstm) flow.setState("cell", scanned.cell);
    }
    const auto byToken = [&](Tensor units) { return reshape(units, {B, 1, T, C}); };
    flow.z = byToken(scanned.hidden);
    flow.showUnits("state", flow.z);
    for (int64_t at = 0; network.kept[static_cast<size_t>(at)]; ++at)
        flow.showUnits(network.kept[static_cast<size_t>(at)], byToken(slice(scanned.kept, 2, at * C, C)));
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

template <const Network& network> void reference(ReferenceFlow& flow, PartValues) {
    const int64_t C = flow.width;
    const Dense &input = flow.parameters.at("mixer.W_x"), &recurrent = flow.parameters.at("mixer.W_h");
    flow.z = Dense({1, flow.queries, C});
    std::vector<double> h(static_cast<size_t>(C)), c(h), next(h);
    for (int64_t t = 0; t < flow.queries; ++t) {
        for (int64_t unit = 0; unit < C; ++unit) {
            const auto at = static_cast<size_t>(unit);
            const auto fromInput = [&](size_t gate) {
                const int64_t row = static_cast<int64_t>(gate) * C + unit;
                double sum = flow.parameters.at(std::string("mixer.") + network.biases[gate]).at(unit);
                for (int64_t e = 0; e < C; ++e) sum += input.at(row, e) * flow.v.at(0, t, e);
                return sum;
            };
            const auto fromState = [&](size_t gate) {
                double sum = 0;
                for (int64_t k = 0; k < C; ++k)
                    sum += h[static_cast<size_t>(k)] * recurrent.at(static_cast<int64_t>(gate) * C + unit, k);
                return sum;
            };
            const auto both = [&](size_t gate) { return fromInput(gate) + fromState(gate); };
            if (network.kind == Recurrence::Elman) {
                next[at] = std::tanh(both(0));
            } else if (network.kind == Recurrence::Lstm) {
                c[at] = logistic(both(1)) * c[at] + logistic(both(0)) * std::tanh(both(2));
                next[at] = logistic(both(3)) * std::tanh(c[at]);
            } else {
                const double update = logistic(both(1)),
                             inner = fromState(2) + flow.parameters.at("mixer.b_s").at(unit);
                next[at] = (1 - update) * std::tanh(fromInput(2) + logistic(both(0)) * inner) + update * h[at];
            }
            flow.z.at(0, t, unit) = next[at];
        }
        h = next;
    }
}

constexpr std::string_view kTime = "O(T C^2), one token after another", kMemory = "O(T C + C^2)";

/// What the networks have in common.
template <const Network& network> Part partOf(Part part) {
    part.slot = Slot::Mixer;
    part.time = kTime;
    part.memory = kMemory;
    part.hooks = {{Stage::Normalise, build<network>, reference<network>}};
    part.mix.masks = MaskSupport::CausalOnly;
    part.mix.usesScores = false;
    part.mix.replacesAttention = true;
    part.mix.mixesStream = true;
    part.needsEqualLengths = true;
    part.mix.keepsState = true;
    part.mix.pairs = noPairs;
    return part;
}

} // namespace

const Part kElmanMixer = partOf<kElman>(
    {.id = "rnn",
     .title = "Elman network (RNN)",
     .idea = "A hidden state sums up the tokens so far. Each token replaces it by a function of the token and of the "
             "state before it, so what happened long ago fades soon. The state has the width of the stream, to which "
             "it is added.",
     .formula = "h_t = tanh(W x_t + R h_{t-1} + b)",
     .source = {"Elman", 1990, "Finding Structure in Time", "section 2", "doi:10.1207/s15516709cog1402_1"}});

const Part kLstmMixer = partOf<kLstm>(
    {.id = "lstm",
     .title = "LSTM",
     .idea = "A cell carries what is remembered from token to token. Gates between 0 and 1 decide how much of it is "
             "forgotten (f), how much of the new candidate is stored (i), and how much is shown as the state (o). The "
             "state has the width of the stream, to which it is added. The forget gate is that of Gers et al. 2000.",
     .formula = "c_t = f_t c_{t-1} + i_t tanh(W_g x_t + R_g h_{t-1} + b_g), h_t = o_t tanh(c_t), "
                "(i, f, o)_t = sigmoid(W x_t + R h_{t-1} + b)",
     .source = {"Hochreiter and Schmidhuber", 1997, "Long Short-Term Memory", "section 4",
                "doi:10.1162/neco.1997.9.8.1735"}});

const Part kGruMixer = partOf<kGru>(
    {.id = "gru",
     .title = "GRU",
     .idea = "One gate (z) mixes the state before a token with a new candidate, and another (r) decides how much of "
             "the state the candidate reads. There is no cell beside the state, which is added to the stream. "
             "Difference from the paper: r multiplies R h instead of h, as in PyTorch.",
     .formula = "h_t = (1 - z_t) n_t + z_t h_{t-1}, n_t = tanh(W_n x_t + b_n + r_t (R_n h_{t-1} + b_s)), "
                "(r, z)_t = sigmoid(W x_t + R h_{t-1} + b)",
     .source = {"Cho et al.", 2014,
                "Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine Translation",
                "section 2.3", "arXiv:1406.1078"}});

} // namespace attn
