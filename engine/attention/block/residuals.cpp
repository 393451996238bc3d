#include "engine/attention/block/block_flow.h"
#include "engine/attention/parts.h"
#include "engine/attention/terms.h"
#include "engine/ops/ops.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace attn {
namespace {

using namespace terms;

Dense sumOf(const Dense& a, const Dense& b) {
    Dense y = a;
    for (size_t i = 0; i < y.data.size(); ++i) y.data[i] += b.data[i];
    return y;
}

// Before and after the sublayer ---------------------------------------------------------------------------------------

Tensor joinPreNorm(BlockFlow&, PartValues, const std::string&, Tensor x, const Sublayer& norm,
                   const Sublayer& sublayer) {
    return sublayer.onto(x, norm(x));
}
Dense referencePreNorm(const BlockReference&, PartValues, const std::string&, const Dense& x,
                       const ReferenceSublayer& norm, const ReferenceSublayer& sublayer) {
    return sumOf(x, sublayer(norm(x)));
}

Tensor joinPostNorm(BlockFlow&, PartValues, const std::string&, Tensor x, const Sublayer& norm,
                    const Sublayer& sublayer) {
    return norm(sublayer.onto(x, x));
}
Dense referencePostNorm(const BlockReference&, PartValues, const std::string&, const Dense& x,
                        const ReferenceSublayer& norm, const ReferenceSublayer& sublayer) {
    return norm(sumOf(x, sublayer(x)));
}

Tensor joinResidualPostNorm(BlockFlow&, PartValues, const std::string&, Tensor x, const Sublayer& norm,
                            const Sublayer& sublayer) {
    return add(x, norm(sublayer(x)));
}
Dense referenceResidualPostNorm(const BlockReference&, PartValues, const std::string&, const Dense& x,
                                const ReferenceSublayer& norm, const ReferenceSublayer& sublayer) {
    return sumOf(x, norm(sublayer(x)));
}

// None ---------------------------------------------------------------------------------------------------------------

Tensor joinNoResidual(BlockFlow&, PartValues, const std::string&, Tensor x, const Sublayer& norm,
                      const Sublayer& sublayer) {
    return sublayer(norm(x));
}
Dense referenceNoResidual(const BlockReference&, PartValues, const std::string&, const Dense& x,
                          const ReferenceSublayer& norm, const ReferenceSublayer& sublayer) {
    return sublayer(norm(x));
}

// GRU gate -----------------------------------------------------------------------------------------------------------

constexpr std::array<Param, 1> kGruParams{
    {{"b_g", "Bias", "Bias with which the gate begins; above 0 it begins nearly closed, and a block as the identity",
      Param::Kind::Real, -8, 8, 0.5, 2}}};

/// The stored b_g is the gate's bias minus the value with which it begins, so that it begins at zero like every bias.
Tensor joinGru(BlockFlow& flow, PartValues values, const std::string& name, Tensor x, const Sublayer& norm,
               const Sublayer& sublayer) {
    const int64_t C = flow.width;
    const InitialValue initial{InitialValue::Kind::Normal, 1 / std::sqrt(static_cast<double>(C))};
    const auto product = [&](const char* letter, Tensor of) {
        return matmul(of, flow.parameter(name + "." + letter, {C, C}, initial));
    };
    const Tensor y = unary(sublayer(norm(x)), Unary::Relu);
    const Tensor r = unary(add(product("W_r", y), product("U_r", x)), Unary::Sigmoid);
    const Tensor bias = reshape(flow.parameter(name + ".b_g", {C}, {}), {1, C});
    const Tensor z =
        unary(minus(add(product("W_z", y), product("U_z", x)), affine(bias, 1, values.real("b_g"))), Unary::Sigmoid);
    const Tensor candidate = unary(add(product("W_g", y), product("U_g", multiply(r, x))), Unary::Tanh);
    return add(x, multiply(z, minus(candidate, x))); // (1 - z) x + z candidate
}
Dense referenceGru(const BlockReference& flow, PartValues values, const std::string& name, const Dense& x,
                   const ReferenceSublayer& norm, const ReferenceSublayer& sublayer) {
    const auto product = [&](const char* letter, const Dense& of) {
        const Dense& w = flow.parameters.at(name + "." + letter);
        Dense result(of.extents);
        for (int64_t t = 0; t < of.extents[0]; ++t)
            for (int64_t n = 0; n < flow.width; ++n)
                for (int64_t k = 0; k < flow.width; ++k) result.at(t, n) += w.at(n, k) * of.at(t, k);
        return result;
    };
    const auto sigmoid = [](double value) { return 1 / (1 + std::exp(-value)); };
    Dense y = sublayer(norm(x));
    for (double& value : y.data) value = std::max(value, 0.0);
    Dense r = sumOf(product("W_r", y), product("U_r", x));
    for (size_t i = 0; i < r.data.size(); ++i) r.data[i] = sigmoid(r.data[i]) * x.data[i];
    const Dense z = sumOf(product("W_z", y), product("U_z", x)),
                candidate = sumOf(product("W_g", y), product("U_g", r));
    Dense result = x;
    for (size_t i = 0; i < x.data.size(); ++i) {
        const double bias =
            flow.parameters.at(name + ".b_g").data[i % static_cast<size_t>(flow.width)] + values.real("b_g");
        const double gate = sigmoid(z.data[i] - bias);
        result.data[i] = (1 - gate) * x.data[i] + gate * std::tanh(candidate.data[i]);
    }
    return result;
}

// Reversible ---------------------------------------------------------------------------------------------------------

/// Two concatenated streams take turns: (a, b) -> (b, a + f(b)). Attention and feed-forward, one after the
/// other, are the paper's y1 = x1 + F(x2), y2 = x2 + G(y1).
Tensor undoReversible(Tensor y, const std::function<Tensor(Tensor)>& f) {
    const int64_t width = y.shape().columns() / 2;
    const Tensor b = slice(y, -1, 0, width);
    return beside(minus(slice(y, -1, width, width), f(b)), b);
}
Tensor joinReversible(BlockFlow& flow, PartValues, const std::string&, Tensor x, const Sublayer& norm,
                      const Sublayer& sublayer) {
    const Tensor a = slice(x, -1, 0, flow.width), b = slice(x, -1, flow.width, flow.width);
    const Tensor added = sublayer(norm(b)), y = beside(b, add(a, added));
    if (flow.recomputed)
        flow.recomputed->push_back(
            {.nodes = {b.node + 1, added.node + 1}, .reversible = Reversible{x, y, b, added, undoReversible}});
    return y;
}
Dense referenceReversible(const BlockReference& flow, PartValues, const std::string&, const Dense& x,
                          const ReferenceSublayer& norm, const ReferenceSublayer& sublayer) {
    const int64_t rows = x.extents[0], C = flow.width;
    Dense b({rows, C});
    for (int64_t t = 0; t < rows; ++t)
        for (int64_t c = 0; c < C; ++c) b.at(t, c) = x.at(t, C + c);
    const Dense added = sublayer(norm(b));
    Dense y(x.extents);
    for (int64_t t = 0; t < rows; ++t)
        for (int64_t c = 0; c < C; ++c) {
            y.at(t, c) = b.at(t, c);
            y.at(t, C + c) = x.at(t, c) + added.at(t, c);
        }
    return y;
}

constexpr BlockHooks kPreNormHooks{.join = joinPreNorm, .joinReference = referencePreNorm};
constexpr BlockHooks kLayerScaleHooks{.join = joinPreNorm, .joinReference = referencePreNorm, .scalesOutput = true};
constexpr BlockHooks kParallelHooks{.join = joinPreNorm, .joinReference = referencePreNorm, .isParallel = true};
constexpr BlockHooks kPostNormHooks{.join = joinPostNorm, .joinReference = referencePostNorm, .isPostNorm = true};
constexpr BlockHooks kResidualPostNormHooks{.join = joinResidualPostNorm, .joinReference = referenceResidualPostNorm};
constexpr BlockHooks kNoResidualHooks{.join = joinNoResidual, .joinReference = referenceNoResidual};
constexpr BlockHooks kGruHooks{.join = joinGru, .joinReference = referenceGru};
constexpr BlockHooks kReversibleHooks{.join = joinReversible, .joinReference = referenceReversible, .streams = 2};
constexpr BlockHooks kStackedHooks{};
constexpr BlockHooks kSharedHooks{.sharesWeights = true};

} // namespace

const Part kPreNormResidual{
    .id = "pre_norm",
    .slot = Slot::Residual,
    .title = "Norm before the sublayer",
    .idea = "A sublayer adds its result to a residual stream that no norm touches, so gradients reach every layer "
            "undiminished. GPT-2 and nearly all later models are built this way.",
    .formula = "y = x + f(norm(x))",
    .source = {"Xiong et al.", 2020, "On Layer Normalization in the Transformer Architecture", "section 3",
               "arXiv:2002.04745"},
    .time = "O(T C)",
    .memory = "O(T C)",
    .block = &kPreNormHooks};

const Part kLayerScaleResidual{
    .id = "layer_scale",
    .slot = Slot::Residual,
    .title = "Layer scale, CaiT",
    .idea = "A learned factor for each feature multiplies what a sublayer adds to the residual stream. The factors "
            "begin small, so a deep model begins near the identity, and each layer finds how much it should say.",
    .formula = "y = x + s f(norm(x)), one s for each feature",
    .source = {"Touvron et al.", 2021, "Going deeper with Image Transformers", "section 2", "arXiv:2103.17239"},
    .time = "O(T C)",
    .memory = "O(C) parameters a sublayer",
    .block = &kLayerScaleHooks};

const Part kParallelResidual{
    .id = "parallel",
    .slot = Slot::Residual,
    .title = "Attention beside feed-forward",
    .idea = "Attention and feed-forward layer read the same rows, each through a norm of its own, and both results "
            "are added at once. Large models train faster this way, and lose little. GPT-J and GPT-NeoX are built so.",
    .formula = "y = x + attention(norm_1(x)) + mlp(norm_2(x))",
    .source = {"Black et al.", 2022, "GPT-NeoX-20B: An Open-Source Autoregressive Language Model", "section 2.2",
               "arXiv:2204.06745"},
    .time = "O(T C)",
    .memory = "O(T C)",
    .block = &kParallelHooks};

const Part kPostNormResidual{
    .id = "post_norm",
    .slot = Slot::Residual,
    .title = "Norm after the sum",
    .idea = "The residual stream itself is normalised after every sublayer, as in the first transformer. Gradients "
            "near the output are large at first, which is why such models need a warm-up.",
    .formula = "y = norm(x + f(x))",
    .source = {"Vaswani et al.", 2017, "Attention Is All You Need", "section 3.1", "arXiv:1706.03762"},
    .time = "O(T C)",
    .memory = "O(T C)",
    .block = &kPostNormHooks};

const Part kResidualPostNorm{
    .id = "residual_post_norm",
    .slot = Slot::Residual,
    .title = "Norm of the sublayer's result, Swin V2",
    .idea =
        "The result of a sublayer is normalised before it is added to the residual stream. The stream then grows by "
        "about the same amount in every layer, which keeps deep and wide models stable.",
    .formula = "y = x + norm(f(x))",
    .source = {"Liu et al.", 2022, "Swin Transformer V2: Scaling Up Capacity and Resolution", "section 3.2",
               "arXiv:2111.09883"},
    .time = "O(T C)",
    .memory = "O(T C)",
    .block = &kResidualPostNormHooks};

const Part kNoResidual{
    .id = "none",
    .slot = Slot::Residual,
    .title = "No residual",
    .idea = "A sublayer's result replaces the rows instead of being added to them. Without the sum, attention alone "
            "makes all rows alike, and ever faster with depth; this part shows what residuals are for.",
    .formula = "y = f(norm(x))",
    .source = {"Dong et al.", 2021,
               "Attention is Not All You Need: Pure Attention Loses Rank Doubly Exponentially with Depth", "section 2",
               "arXiv:2103.03404"},
    .time = "O(T C)",
    .memory = "O(T C)",
    .block = &kNoResidualHooks};

const Part kGruGateResidual{
    .id = "gru_gate",
    .slot = Slot::Residual,
    .title = "GRU gate, GTrXL",
    .idea = "A gated recurrent unit decides how much of a sublayer's result replaces the residual stream. Its bias "
            "keeps it nearly closed at first, so the model begins as the identity and reinforcement learning stays "
            "stable.",
    .formula = "y = (1 - z) x + z h, z = sigma(W_z u + U_z x - b_g), h = tanh(W_g u + U_g (r x)), "
               "r = sigma(W_r u + U_r x), u = max(0, f(norm(x)))",
    .source = {"Parisotto et al.", 2020, "Stabilizing Transformers for Reinforcement Learning", "section 3.2",
               "arXiv:1910.06764"},
    .params = kGruParams,
    .time = "O(T C^2)",
    .memory = "O(C^2) parameters a sublayer",
    .block = &kGruHooks};

const Part kReversibleResidual{
    .id = "reversible",
    .slot = Slot::Residual,
    .title = "Reversible, Reformer",
    .idea = "Two residual streams take turns: attention reads one and adds to the other, and the feed-forward layer "
            "does the reverse. Training computes every block's input from its output instead of keeping it, so its "
            "memory of activations does not grow with depth.",
    .formula = "y1 = x1 + F(norm(x2)), y2 = x2 + G(norm(y1)); back: x2 = y2 - G(norm(y1)), x1 = y1 - F(norm(x2))",
    .source = {"Kitaev et al.", 2020, "Reformer: The Efficient Transformer", "section 3", "arXiv:2001.04451"},
    .time = "O(T C), and every sublayer twice in training",
    .memory = "O(T C) for all layers",
    .block = &kReversibleHooks};

const Part kStackedLayers{
    .id = "stacked",
    .slot = Slot::Layers,
    .title = "Separate layers",
    .idea = "Every layer has its own parameters. No layer can reuse what another one has learned.",
    .formula = "x_{l+1} = block(x_l; W_l)",
    .source = {"Vaswani et al.", 2017, "Attention Is All You Need", "section 3.1", "arXiv:1706.03762"},
    .time = "O(L)",
    .memory = "O(L C^2) parameters",
    .block = &kStackedHooks};

const Part kSharedLayers{
    .id = "shared",
    .slot = Slot::Layers,
    .title = "Shared layers, Universal",
    .idea = "One layer is applied again and again: depth becomes time. The model has the parameters of one layer and "
            "learns steps that can be repeated.",
    .formula = "x_{l+1} = block(x_l; W)",
    .source = {"Dehghani et al.", 2019, "Universal Transformers", "section 2.1", "arXiv:1807.03819"},
    .time = "O(L)",
    .memory = "O(C^2) parameters",
    .block = &kSharedHooks};

} // namespace attn
