#include "engine/ops/attention_reference.h"
#include "engine/ops/definitions.h"
#include "engine/ops/gradient_ops.h"
#include "engine/ops/mixed_precision.h"
#include "engine/ops/tensor_ops.h"
#include "engine/ops/training_ops.h"
#include "tests/ops/case.h"

#include <fmt/format.h>

namespace attn::test {
namespace {

/// A node by its op and inputs, for ops that only gradient rules make.
Tensor node(const Op& op, std::vector<Tensor> inputs, Attributes attributes = {}) {
    return inputs[0].graph->add(op, inputs, std::move(attributes));
}

/// Of the gradients of block attention, z being its first output.
std::vector<Tensor> gradientInputs(const BlockAttentionInputs& in, Tensor z, Tensor dz) {
    std::vector<Tensor> inputs{in.q,
                               in.k,
                               in.v,
                               in.lists.begins,
                               in.lists.tiles,
                               in.lists.columnBegins,
                               in.lists.columnTiles,
                               in.lists.bits,
                               z,
                               {z.graph, z.node, 1},
                               dz};
    for (const Tensor other : {in.bias, in.lists.labels, in.labelVectors})
        if (other) inputs.push_back(other);
    return inputs;
}
Attributes gradientAttributes(const BlockAttentionInputs& in, double scale) {
    return {{"scale", scale}, {"bias", in.bias ? 1 : 0}, {"labels", in.labelVectors ? 1 : 0}, {"first", 0}};
}

} // namespace

void addTrainingBuilders(std::map<std::string, Builder>& all) {
    const auto matrix = [](Case& t, const char* name, int64_t most = 90) {
        const int64_t M = randomSize(40), N = randomSize(most);
        return t.real(name, {M, N});
    };
    all["scale"] = [=](Case& t) { t.expect("out", scale(matrix(t, "x"), -0.7)); };
    all["sum"] = [](Case& t) { // of up to 12,000 terms, whose partial sums may be far larger than the whole
        t.expect("out", sum(t.real("x", {randomSize(40), randomSize(300)}, {}, 0.3)));
    };
    const auto narrowed = [=](Case& t) {
        const Tensor x = matrix(t, "x", 300);
        t.expect("out", widen(narrow(x, randomSize(2) == 1 ? DType::F16 : DType::BF16)));
    };
    all["narrow"] = all["widen"] = narrowed;
    all["expand"] = [](Case& t) {
        const Shape shape{randomSize(9), randomSize(30)};
        t.expect("out", randomSize(2) == 1 ? expand(t.real("x", {1}), shape) : fill(*t.graph, shape, 0.3));
    };
    all["matmul_plain"] = [](Case& t) {
        const int64_t M = randomSize(70), N = randomSize(140), K = randomSize(150);
        const Tensor x = t.real("x", {M, K}, {}, 0.3), w = t.real("w", {K, N}, {}, 0.3);
        PlainOptions options{.scale = 0.5, .activation = static_cast<Activation>(randomSize(5) - 1)};
        if (options.activation != Activation::None) options.argument = t.real("argument", {M, N});
        if (randomSize(2) == 1) options.residual = t.real("r", {M, N});
        Tensor out = matmulPlain(x, w, options);
        for (int64_t more = randomSize(3) - 1; options.activation == Activation::None && more > 0; --more) {
            const int64_t K1 = randomSize(100);
            out = addTo(out, matmulPlain(t.real(fmt::format("x{}", more), {M, K1}, {}, 0.3),
                                         t.real(fmt::format("w{}", more), {K1, N}, {}, 0.3), {.scale = 0.5}));
            REQUIRE(t.graph->node(out.node).attributes.integer("pairs") > 1);
        }
        t.expect("out", out);
    };
    all["matmul_transposed"] = [](Case& t) {
        const int64_t M = randomSize(70), N = randomSize(140), K = randomSize(150);
        const auto [product, sums] = matmulTransposed(t.real("x", {K, M}, {}, 0.3), t.real("w", {K, N}, {}, 0.3), 0.5);
        t.expect("product", product);
        t.expect("sums", sums);
    };
    all["activate_gradient"] = [=](Case& t) {
        const Tensor x = matrix(t, "x");
        t.expect("out", activateGradient(x, t.real("dy", x.shape()), static_cast<Activation>(randomSize(5) - 1)));
    };
    all["swiglu_gradient"] = [=](Case& t) {
        const Tensor gate = matrix(t, "gate"),
                     out = node(kSwigluGradient, {gate, t.real("up", gate.shape()), t.real("dy", gate.shape())});
        t.expect("gate", out);
        t.expect("up", {out.graph, out.node, 1});
    };
    all["norm_gradient"] = [=](Case& t) {
        const Tensor x = matrix(t, "x", 300);
        std::vector<Tensor> inputs{x, t.real("w", {x.shape()[1]}), t.real("statistics", {x.shape()[0], 4}),
                                   t.real("dy", x.shape())};
        const bool hasResidual = randomSize(2) == 1;
        if (hasResidual) inputs.push_back(t.real("r", x.shape()));
        t.expect("dx", node(kNormGradient, inputs,
                            {{"centres", static_cast<double>(randomSize(2) - 1)}, {"residual", hasResidual ? 1 : 0}}));
    };
    all["norm_weight_gradient"] = [=](Case& t) {
        const Tensor x = matrix(t, "x", 300);
        const Tensor out =
            node(kNormWeightGradient, {x, t.real("statistics", {x.shape()[0], 4}), t.real("dy", x.shape())});
        t.expect("dw", out);
        t.expect("db", {out.graph, out.node, 1});
    };
    all["softmax_gradient"] = [=](Case& t) {
        const Tensor y = matrix(t, "y", 200);
        t.expect("out", node(kSoftmaxGradient, {y, t.real("dy", y.shape())}));
    };
    all["embedding_gradient"] = [](Case& t) {
        const int64_t T = randomSize(60), V = randomSize(30), C = randomSize(130);
        std::vector<Tensor> inputs{t.integers("ids", {T}, V), t.real("dy", {T, C})};
        const bool hasResidual = randomSize(2) == 1;
        if (hasResidual) inputs.push_back(t.real("r", {V, C}));
        t.expect("out", node(kEmbeddingGradient, inputs,
                             {{"vocabulary", static_cast<double>(V)}, {"residual", hasResidual ? 1 : 0}}));
    };
    all["attention_mix_transposed"] = [](Case& t) {
        const int64_t groups = randomSize(3), heads = groups * randomSize(3), T = randomSize(30), S = randomSize(40);
        t.expect("out", attentionMixTransposed(t.real("p", {heads, T, S}, {}, 0.3),
                                               t.real("x", {T, heads, randomSize(20)}), groups));
    };
    all["block_attention_gradient"] = [](Case& t) {
        const auto [in, scale] = tileCase(t, 100);
        const Tensor z = blockAttention(in, scale);
        const std::vector<Tensor> inputs = gradientInputs(in, z, t.real("dz", in.q.shape()));
        const Tensor out = node(kBlockAttentionGradient, inputs, gradientAttributes(in, scale));
        for (uint32_t i = 0; i < 3; ++i) t.expect(std::string{"qkv"[i]}, {out.graph, out.node, i});
        if (in.labelVectors) t.expect("labels", {out.graph, out.node, 4});
    };
    all["block_attention_bias_gradient"] = [](Case& t) {
        auto [in, scale] = tileCase(t, 100);
        if (!in.bias) in.bias = t.real("bias", {in.q.shape()[1], in.q.shape()[2] + in.k.shape()[2] - 1});
        const Tensor z = blockAttention(in, scale), dz = t.real("dz", in.q.shape());
        std::vector<Tensor> inputs = gradientInputs(in, z, dz);
        const Attributes attributes = gradientAttributes(in, scale);
        const Tensor dq = node(kBlockAttentionGradient, inputs, attributes);
        inputs.resize(8);
        inputs.insert(inputs.end(), {{dq.graph, dq.node, 3}, dz, in.bias});
        if (in.labelVectors) inputs.insert(inputs.end(), {in.lists.labels, in.labelVectors});
        t.expect("bias", node(kBlockAttentionBiasGradient, inputs, attributes));
    };
    all["cluster_attention_gradient"] = [](Case& t) {
        const bool isCausal = randomSize(2) == 1;
        const ClusterAttentionInputs in = clusterCaseOnSphere(t, 150, isCausal);
        const Tensor z = clusterAttention(in, 3, isCausal);
        std::vector<Tensor> inputs = t.graph->node(z.node).inputs;
        inputs.insert(inputs.end(), {{z.graph, z.node, 1}, {z.graph, z.node, 2}, t.real("dz", in.q.shape())});
        const Tensor dq = node(kClusterAttentionGradient, inputs, t.graph->node(z.node).attributes);
        t.expect("dq", dq);
        t.expect("dk", {dq.graph, dq.node, 1});
        t.expect("dv", {dq.graph, dq.node, 2});
    };
    all["bucket_attention_gradient"] = [](Case& t) {
        const BucketAttentionInputs in = bucketCase(t, 150);
        const Tensor z = bucketAttention(in, 0.3, randomSize(2) == 1), dz = t.real("dz", in.q.shape());
        const Shape& shape = in.q.shape(); // any numbers do for z . dz: a sum over rows is another kernel
        const Tensor out = node(kBucketAttentionGradient,
                                {in.q,
                                 in.k,
                                 in.v,
                                 in.order,
                                 in.code,
                                 {z.graph, z.node, 1},
                                 t.real("products", {shape[0], shape[1], shape[2], 1}),
                                 dz},
                                t.graph->node(z.node).attributes);
        for (uint32_t i = 0; i < 3; ++i) t.expect(std::string{"qkv"[i]}, {out.graph, out.node, i});
    };
    all["fused_attention_gradient"] = [](Case& t) {
        AttentionRule rule;
        const AttentionInputs in = wholeAttention(t, rule);
        const Tensor gates = t.real("gates", {in.q.shape()[1]}), z = fusedAttention(in, gates, rule);
        const Tensor out = node(kFusedAttentionGradient,
                                {in.q,
                                 in.k,
                                 in.v,
                                 in.queryPosition,
                                 in.keyPosition,
                                 gates,
                                 z,
                                 {z.graph, z.node, 1},
                                 t.real("dz", in.q.shape())},
                                ruleAttributes(rule, in));
        for (uint32_t i = 0; i < 3; ++i) t.expect(std::string{"qkv"[i]}, {out.graph, out.node, i});
    };
    const auto loss = [](Case& t, Tensor& logits, Tensor& targets, Tensor& weights) {
        const int64_t M = randomSize(40), V = randomSize(200);
        logits = t.real("logits", {M, V}, {}, 2);
        targets = t.integers("targets", {M}, V);
        for (double& target : t.values["targets"])
            if (randomSize(4) == 1) target = -1;
        weights = t.real("weights", {M});
        return randomSize(2) == 1 ? 0.0 : 0.1;
    };
    all["cross_entropy"] = [=](Case& t) {
        Tensor logits, targets, weights;
        const double smoothing = loss(t, logits, targets, weights);
        t.expect("out", crossEntropy(logits, targets, weights, smoothing));
    };
    all["cross_entropy_gradient"] = [=](Case& t) {
        Tensor logits, targets, weights;
        const double smoothing = loss(t, logits, targets, weights);
        t.expect("out", node(kCrossEntropyGradient, {logits, targets, weights, t.real("d", {logits.shape()[0]})},
                             {{"smoothing", smoothing}}));
    };
    all["dropout"] = [=](Case& t) {
        t.step[StepScalar::Step] = static_cast<uint32_t>(randomSize(1000));
        t.step[StepScalar::Seed] = static_cast<uint32_t>(randomSize(1000));
        t.expect("out", dropout(matrix(t, "x"), 0.25, static_cast<uint32_t>(randomSize(100))));
    };
    all["square_norms"] = [=](Case& t) {
        std::vector<Tensor> tensors{matrix(t, "a"), matrix(t, "b", 300), t.real("c", {randomSize(9)})};
        for (int64_t i = randomSize(40); i > 0; --i) // often more than one dispatch takes
            tensors.push_back(t.real("x" + std::to_string(i), {randomSize(9), randomSize(9)}));
        t.expect("out", squareNorms(tensors));
    };
    all["clip_factor"] = [](Case& t) {
        const Tensor squares = squareNorms(std::vector{t.real("a", {randomSize(60)}), t.real("b", {randomSize(60)})});
        const Clip clip = clipFactor(squares, static_cast<double>(randomSize(8) - 1), randomSize(2) == 1);
        t.expect("norm", clip.norm);
        t.expect("factor", clip.factor);
    };
    // Tensors for up to three dispatches.
    const auto updated = [](Case& t, const std::vector<std::string>& kinds, std::vector<Tensor>& states,
                            std::vector<Tensor>& gradients) {
        t.step.setNumber(StepScalar::LearningRate, 0.01);
        t.step.setNumber(StepScalar::MomentCorrection, 5);
        t.step.setNumber(StepScalar::VarianceCorrection, 7);
        t.step[StepScalar::MicroStep] = static_cast<uint32_t>(randomSize(3) - 1);
        for (int64_t i = randomSize(17); i > 0; --i) {
            const Shape shape = randomSize(3) == 1 ? Shape{randomSize(30)} : Shape{randomSize(60), randomSize(200)};
            const std::string suffix = i == 1 ? "" : std::to_string(i);
            for (const std::string& kind : kinds) states.push_back(t.stored(kind + suffix, shape));
            gradients.push_back(t.real("g" + suffix, shape));
        }
    };
    const auto expectAll = [](Case& t, const std::vector<Tensor>& states) {
        for (size_t i = 0; i < states.size(); ++i) t.expect(std::to_string(i), states[i]);
    };
    all["adam"] = [=](Case& t) {
        std::vector<Tensor> states, gradients;
        updated(t, {"parameter", "moment", "variance"}, states, gradients);
        for (auto& [name, values] : t.values)
            if (name.starts_with("variance"))
                for (double& value : values) value = std::abs(value);
        expectAll(t, adamUpdate(states, gradients, t.real("factor", {1}),
                                {.decay = 0.1, .isDecoupled = randomSize(2) == 1, .rateFactor = 0.4}));
    };
    all["sgd"] = [=](Case& t) {
        std::vector<Tensor> states, gradients;
        updated(t, {"parameter", "moment"}, states, gradients);
        expectAll(t, sgdUpdate(states, gradients, t.real("factor", {1}), 0.9, 0.1, 0.4));
    };
    all["accumulate"] = [=](Case& t) {
        std::vector<Tensor> states, gradients;
        updated(t, {"moment"}, states, gradients);
        expectAll(t, accumulate(states, gradients));
    };
}

} // namespace attn::test
