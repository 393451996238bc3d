#include "engine/analysis/head_circuits.h"

#include "engine/analysis/whole_run.h"
#include "engine/attention/part.h"
#include "engine/core/error.h"
#include "engine/inference/shared_parameters.h"
#include "engine/models/hook_names.h"
#include "engine/ops/tensor_ops.h"

#include <Eigen/Eigenvalues>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

/// The weight matrices of a model's heads in a separate graph, by layer and head.
class HeadWeights {
public:
    HeadWeights(RunningModel& model, Graph& graph) : model_(model), graph_(graph) {
        const ModelInfo& info = model.info();
        const auto refuse = [&](const char* what, const char* hint) {
            throw Error({.what = what, .where = info.name, .hint = hint});
        };
        if (info.structure.streams.size() > 1)
            refuse("circuits need one stream through all layers; this model merges its tokens",
                   "open a model without stages, such as a ViT");
        if (!info.readsPictures() && languageModel(model).config().postNorm)
            refuse("circuits need norms before the sublayers; this model has them behind",
                   "open a model that continues texts");
        for (int layer = 0; layer < info.layers; ++layer)
            if (const AttentionSpec& spec = model.attentionOf(layer).spec;
                spec.blockPart(Slot::Norm) || !spec.part(Slot::Mixer).usesQueriesKeys)
                refuse("circuits need queries, keys and a layer norm or RMS norm",
                       "open a model with standard attention");
    }

    Tensor parameter(int layer, const char* name, Shape shape) const {
        return graph_.parameter(parameterName(model_.store(), layer, name), std::move(shape));
    }
    /// [H,D,C]. A key/value head is repeated for each head that reads it.
    Tensor byHead(int layer, const char* letter) const {
        const LayerAttention& attention = model_.attentionOf(layer);
        const auto [heads, groups] = attention.heads();
        const bool isQuery = letter[0] == 'Q', isShared = letter[0] == 'K' && !has(layer, "attn.W_K");
        const int64_t H = heads, G = isQuery || isShared ? H : groups, D = attention.headWidth,
                      C = model_.info().modelWidth;
        const std::string name = fmt::format("attn.W_{}", isShared ? "Q" : letter);
        const Tensor all = reshape(parameter(layer, name.c_str(), {G * D, C}), {G, D, C});
        return G == H ? all : reshape(broadcast(reshape(all, {G, 1, D, C}), {G, H / G, D, C}), {H, D, C});
    }
    Tensor output(int layer) const { // [H,C,D]
        const LayerAttention& attention = model_.attentionOf(layer);
        const int64_t H = attention.heads().heads, D = attention.headWidth, C = model_.info().modelWidth;
        return permute(reshape(parameter(layer, "attn.W_O", {C, H * D}), {C, H, D}), {1, 0, 2});
    }

private:
    bool has(int layer, const char* name) const {
        return model_.store().contains(parameterName(model_.store(), layer, name));
    }

    RunningModel& model_;
    Graph& graph_;
};

/// The vocabulary at both ends of a language model.
class VocabularyWeights {
public:
    VocabularyWeights(const DecoderConfig& config, Graph& graph) : config_(config), graph_(graph) {}

    /// The rows after a norm, without its division.
    Tensor normed(Tensor rows, const std::string& norm) const {
        if (config_.norm == NormKind::None) return rows;
        if (config_.norm == NormKind::LayerNorm)
            rows = binary(rows, reduce(rows, Reduction::Mean, {1}), Binary::Subtract);
        return multiply(rows, reshape(graph_.parameter(norm + ".w", {config_.modelWidth}), {1, config_.modelWidth}));
    }
    Tensor embeddings() const { return graph_.parameter("embed.W_E", {config_.vocabulary, config_.modelWidth}); }
    /// [V,C]: the unembedding with the final norm folded in, which multiplies a row of the residual stream.
    Tensor unembeddings() const {
        const Tensor table = config_.tiedEmbedding
                                 ? embeddings()
                                 : graph_.parameter("unembed.W_U", {config_.vocabulary, config_.modelWidth});
        if (!config_.finalNorm || config_.norm == NormKind::None) return table;
        const Tensor weighted =
            multiply(table, reshape(graph_.parameter("ln_final.w", {config_.modelWidth}), {1, config_.modelWidth}));
        if (config_.norm != NormKind::LayerNorm) return weighted;
        return binary(weighted, reduce(weighted, Reduction::Mean, {1}),
                      Binary::Subtract); // centring is its own transpose
    }

private:
    const DecoderConfig& config_;
    Graph& graph_;
};

Tensor one(Tensor byHead, int head) { // [H,a,b] -> [a,b]
    return reshape(slice(byHead, 0, head, 1), {byHead.shape()[1], byHead.shape()[2]});
}

} // namespace

std::shared_ptr<AnalysisResult> HeadCircuitsAnalysis::run(RunningModel& running, const AnalysisContext& context) const {
    LanguageModel& model = languageModel(running);
    const auto& info = model.info();
    info.requireHead(site, head);
    const int layer = info.site(site).layer;
    auto result = std::make_shared<HeadCircuits>();
    result->site = site;
    result->head = head;
    result->choices = std::min(choices, info.vocabulary);
    for (int token : tokens.empty() ? context.input.tokens() : tokens)
        if (std::ranges::find(result->tokens, token) == result->tokens.end()) {
            resolved({.token = token}, std::vector<float>(static_cast<size_t>(info.vocabulary)));
            result->tokens.push_back(token);
        }
    if (result->tokens.empty())
        throw Error({.what = "there are no tokens to analyse", .where = "tokens", .hint = "enter a prompt"});
    const auto graph = std::make_shared<Graph>();
    const HeadWeights weights(model, *graph);
    const VocabularyWeights vocabulary(model.config(), *graph);
    const std::string norm = inBlock(layer, "ln1");
    const auto n = static_cast<int64_t>(result->tokens.size());
    const Tensor ids = graph->input("tokens", {.shape = {n}, .dtype = DType::I32});
    const Tensor all = vocabulary.normed(vocabulary.embeddings(), norm); // [V,C]
    const Tensor asked = take(all, ids);                                 // [n,C]
    const auto times = [](Tensor rows, Tensor matrix) { return batchedMatmul(rows, matrix, {.transposeB = true}); };
    const Tensor wq = one(weights.byHead(layer, "Q"), head), wk = one(weights.byHead(layer, "K"), head),
                 wv = one(weights.byHead(layer, "V"), head), wo = one(weights.output(layer), head); // [D,C]; [C,D]
    const double factor = model.attentionOf(layer).scoreScale();
    const Tensor reads = affine(times(times(asked, wq), times(all, wk)), factor, 0); // [n,D].[V,D] -> [n,V]
    const Tensor out = batchedMatmul(vocabulary.unembeddings(), wo);                 // [V,C].[C,D] -> [V,D]
    const Tensor writes = times(times(asked, wv), out);                              // [n,V]
    const TopK read = topK(reads, result->choices), write = topK(writes, result->choices);
    // The circuit W_U W_O W_V E is V x V; its eigenvalues that are not 0 are those of W_V E W_U W_O.
    const Tensor core = batchedMatmul(times(all, wv), out, {.transposeA = true}); // [D,V].[V,D]
    const auto executor = weightRun(model, graph,
                                    {{"reads", read.values},
                                     {"read_ids", read.indices},
                                     {"writes", write.values},
                                     {"write_ids", write.indices},
                                     {"core", core}});
    std::ranges::copy(result->tokens, executor->inputIntegers("tokens").begin());
    executor->run({});
    const auto stride = static_cast<size_t>(Shape{result->choices}.rowStride());
    const auto pairsOf = [&](const char* values, const char* indices) {
        HeadCircuits::Pairs pairs{.ids = {}, .values = denseResult(*executor, values)};
        const auto padded = executor->resultIntegers(indices);
        for (size_t row = 0; row < result->tokens.size(); ++row)
            for (size_t choice = 0; choice < static_cast<size_t>(result->choices); ++choice)
                pairs.ids.push_back(padded[row * stride + choice]);
        return pairs;
    };
    result->reads = pairsOf("reads", "read_ids");
    result->writes = pairsOf("writes", "write_ids");
    const std::vector<float> values = denseResult(*executor, "core");
    const auto D = static_cast<Eigen::Index>(core.shape()[0]);
    Eigen::MatrixXd matrix(D, D);
    for (Eigen::Index row = 0; row < D; ++row)
        for (Eigen::Index column = 0; column < D; ++column)
            matrix(row, column) = static_cast<double>(values[static_cast<size_t>(row * D + column)]);
    const Eigen::VectorXcd eigenvalues = Eigen::EigenSolver<Eigen::MatrixXd>(matrix, false).eigenvalues();
    const double sizes = eigenvalues.cwiseAbs().sum();
    result->copyingScore = sizes > 0 ? static_cast<float>(eigenvalues.sum().real() / sizes) : 0.0f;
    return result;
}

std::shared_ptr<AnalysisResult> CompositionScoresAnalysis::run(RunningModel& model,
                                                               const AnalysisContext& context) const {
    const auto& info = model.info();
    const auto graph = std::make_shared<Graph>();
    const HeadWeights weights(model, *graph);
    const int64_t H = info.heads;
    const auto gram = [](Tensor x) { return batchedMatmul(x, x, {.transposeB = true}); }; // [H,D,C] -> [H,D,D]
    const auto total = [&](Tensor x, Tensor y) { // sum of the products of [..,D,D]
        return reduce(multiply(x, y), Reduction::Sum, {-1, -2});
    };
    struct Layer {
        Tensor q, k, v, o;                  // [H,D,C]
        Tensor qq, kk, vv, oo, read, wrote; // grams [H,D,D], and squares of the norms of Q K and O V [H,1,1]
    };
    std::vector<Layer> layers;
    for (int layer = 0; layer < info.layers; ++layer) {
        Layer each{.q = weights.byHead(layer, "Q"),
                   .k = weights.byHead(layer, "K"),
                   .v = weights.byHead(layer, "V"),
                   .o = permute(weights.output(layer), {0, 2, 1})};
        each.qq = gram(each.q);
        each.kk = gram(each.k);
        each.vv = gram(each.v);
        each.oo = gram(each.o);
        each.read = total(each.qq, each.kk); // |Q^T K|^2 = tr(Q Q^T K K^T)
        each.wrote = total(each.oo, each.vv);
        layers.push_back(each);
    }
    std::map<std::string, Tensor> outputs;
    for (size_t later = 0; later < layers.size(); ++later)
        for (size_t earlier = 0; earlier < later; ++earlier) {
            const Layer &b = layers[later], &a = layers[earlier];
            const auto spread = [&](Tensor x) { return reshape(x, {H, 1, x.shape()[1], x.shape()[2]}); }; // later heads
            /// |L^T (r O) V|^2 with M = r O^T: tr(gram(L) M gram(V) M^T)
            const auto score = [&](Tensor reader, Tensor other, Tensor size) {
                const Tensor m =
                    batchedMatmul(spread(reader), a.o, {.transposeB = true}); // [H,1,D,C].[H,C,D] -> [H,H,D,D]
                const Tensor square = total(batchedMatmul(spread(other), m), batchedMatmul(m, a.vv));
                const Tensor norms = multiply(spread(size), reshape(a.wrote, {1, H, 1, 1}));
                return unary(clamp(binary(square, norms, Binary::Divide), 0, 1e9), Unary::SquareRoot);
            };
            const auto name = [&](int kind) { return fmt::format("{}.{}.{}", kind, later, earlier); };
            outputs.emplace(name(0), score(b.q, b.kk, b.read));
            outputs.emplace(name(1), score(b.k, b.qq, b.read));
            outputs.emplace(name(2), score(b.v, b.oo, b.wrote));
        }
    auto result = std::make_shared<CompositionScores>();
    result->sites = info.layers;
    result->heads = info.heads;
    const auto all = static_cast<size_t>(info.layers) * static_cast<size_t>(H);
    result->values.assign(3 * all * all, 0);
    if (outputs.empty()) return result;
    if (context.report) context.report(0.1f, "composition");
    const auto executor = weightRun(model, graph, outputs);
    executor->run({});
    for (size_t kind = 0; kind < 3; ++kind)
        for (size_t later = 0; later < layers.size(); ++later)
            for (size_t earlier = 0; earlier < later; ++earlier) {
                const auto scores = denseResult(*executor, fmt::format("{}.{}.{}", kind, later, earlier)); // [H,H,1,1]
                for (size_t head = 0; head < static_cast<size_t>(H); ++head)
                    std::copy_n(
                        scores.begin() + static_cast<std::ptrdiff_t>(head * static_cast<size_t>(H)), H,
                        result->values.begin() +
                            static_cast<std::ptrdiff_t>((kind * all + later * static_cast<size_t>(H) + head) * all +
                                                        earlier * static_cast<size_t>(H)));
            }
    return result;
}

} // namespace attn
