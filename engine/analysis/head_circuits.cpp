#include "engine/analysis/head_circuits.h"

#include "engine/analysis/whole_run.h"
#include "engine/attention/parts.h"
#include "engine/core/error.h"
#include "engine/inference/shared_parameters.h"
#include "engine/inference/vision_model.h"
#include "engine/models/head_name.h"
#include "engine/models/hook_names.h"
#include "engine/models/weight_recipe.h"
#include "engine/ops/tensor_ops.h"

#include <Eigen/Eigenvalues>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace attn {
namespace {

Tensor one(Tensor byHead, int head) { // [H,a,b] -> [a,b]
    return reshape(slice(byHead, 0, head, 1), {byHead.shape()[1], byHead.shape()[2]});
}

/// Why products of weight matrices do not give what the heads of a layer read and write; empty: they do.
/// @param usual the residual unless the attention names another
std::string problemOf(const AttentionSpec& spec, const Part& usual) {
    const auto problem = [](const char* needs, const Part& part) {
        return fmt::format("circuits need {}; this model has: {}", needs, part.title);
    };
    const Part& residual = spec.blockPart(Slot::Residual) ? *spec.blockPart(Slot::Residual) : usual;
    if (&residual != &kPreNormResidual && &residual != &kLayerScaleResidual && &residual != &kParallelResidual)
        return problem("norms before the sublayers, whose results are added to one stream", residual);
    if (const Part* norm = spec.blockPart(Slot::Norm)) return problem("the norm of the model's family", *norm);
    if (const Part& mixer = spec.part(Slot::Mixer); &mixer != &kAttentionMixer)
        return problem("queries and keys that meet in attention", mixer);
    if (const Part& heads = spec.part(Slot::Heads); heads.mixesHeads) return problem("heads on their own", heads);
    if (const Part& heads = spec.part(Slot::Heads); heads.sharesQueryKey) // they are brought to length one
        return problem("keys with a projection of their own", heads);
    if (const Part& projections = spec.part(Slot::Projections); &projections != &kOneProjection)
        return problem("the same projections for every token", projections);
    if (const Part& score = spec.part(Slot::Score); !score.score.dotScale)
        return problem("scores that are products of queries and keys", score);
    if (const Part& position = spec.part(Slot::Position);
        position.position.multipliesScores || !position.position.addedToValues.empty())
        return problem("positions that only add to scores or turn queries and keys", position);
    if (const Part& normaliser = spec.part(Slot::Normaliser); &normaliser != &kSoftmaxNormaliser)
        return problem("a softmax over the scores of single keys", normaliser);
    if (const Part& memory = spec.part(Slot::Memory); &memory != &kNoMemory)
        return problem("heads that read only the tokens before them", memory);
    if (const Part& output = spec.part(Slot::Output); &output != &kPlainOutput)
        return problem("outputs that W_O alone changes", output);
    return {};
}

/// The weight matrices of a model's heads in a separate graph, by layer and head.
class HeadWeights {
public:
    HeadWeights(RunningModel& model, Graph& graph) : model_(model), graph_(graph) {
        const ModelInfo& info = model.info();
        const auto refuse = [&](const char* what, const char* hint) {
            throw Error({.what = what, .where = info.name, .hint = hint});
        };
        if (info.readsSource)
            refuse("circuits need one stack of layers; this model has an encoder and a decoder",
                   "use the other lenses, or open a model that continues texts");
        if (info.structure.streams.size() > 1)
            refuse("circuits need one stream through all layers; this model merges its tokens",
                   "open a model without stages, such as a ViT");
        for (int layer = 0; layer < info.layers; ++layer)
            if (const std::string problem = problemOf(model.attentionOf(layer).spec, *model.config().residual);
                !problem.empty())
                refuse(problem.c_str(), "use the other lenses, or open a model with standard attention");
    }

    Tensor parameter(int layer, const char* name, Shape shape) const {
        return graph_.parameter(parameterName(model_.store(), layer, name), std::move(shape));
    }
    /// [H,D,C]. A key/value head is repeated for each head that reads it.
    Tensor byHead(int layer, const char* letter) const {
        const LayerAttention& attention = model_.attentionOf(layer);
        const auto [heads, groups] = attention.heads();
        const int64_t H = heads, G = letter[0] == 'Q' ? H : groups, D = attention.headWidth,
                      C = model_.info().modelWidth;
        const std::string name = fmt::format("attn.W_{}", letter);
        const Tensor all = reshape(parameter(layer, name.c_str(), {G * D, C}), {G, D, C});
        return G == H ? all : reshape(broadcast(reshape(all, {G, 1, D, C}), {G, H / G, D, C}), {H, D, C});
    }
    Tensor output(int layer) const { // [H,C,D]
        const LayerAttention& attention = model_.attentionOf(layer);
        const int64_t H = attention.heads().heads, D = attention.headWidth, C = model_.info().modelWidth;
        return permute(reshape(parameter(layer, "attn.W_O", {C, H * D}), {C, H, D}), {1, 0, 2});
    }

    /// [C,D]: the output matrix of a head times the layer's LayerScale, if it has one.
    Tensor scaledOutput(int layer, int head) const {
        const Tensor own = one(output(layer), head);
        const int64_t C = own.shape()[0];
        return has(layer, "scale1") ? multiply(own, reshape(parameter(layer, "scale1", {C}), {C, 1})) : own;
    }

private:
    bool has(int layer, const char* name) const {
        return model_.store().contains(parameterName(model_.store(), layer, name));
    }

    RunningModel& model_;
    Graph& graph_;
};

/// The embeddings and the readout, at both ends of a model.
class EndWeights {
public:
    EndWeights(RunningModel& model, Graph& graph) : graph_(graph), width_(model.info().modelWidth) {
        const ModelSpec& config = model.config();
        norm_ = config.norm;
        isFinalNormed_ = config.finalNorm && config.norm != &kNoNormPart;
        if (config.axis == AxisKind::Patches) {
            readout_ = {"head.W_H",
                        {config.classReadout().classes, config.pooledWidth()}}; // first the columns that read CLS
            if (config.classReadout().distillationHead) share_ = 0.5;
        } else {
            vocabulary_ = config.tokens.vocabulary;
            const bool isPooled = readsOneRow(config.readout()) && isEncoder(config); // by a layer that is not linear
            if (attn::predictsTokens(config.readout()))
                readout_ = {config.tokenReadout().tiedEmbedding ? "embed.W_E" : "unembed.W_U",
                            {config.tokens.vocabulary, width_}};
            else if (config.readout() != TextReadout::None && !isPooled)
                readout_ = {"classifier.W", {std::ssize(config.classReadout().labels), width_}};
        }
    }

    /// Rows as a norm changes them, but without its division.
    Tensor normed(Tensor rows, const std::string& norm) const {
        if (norm_ == &kNoNormPart) return rows;
        return weighted(norm_ == &kLayerNormPart ? centred(rows) : rows, norm);
    }
    Tensor embeddings() const { return graph_.parameter("embed.W_E", {vocabulary_, width_}); } ///< [V,C], for a text
    bool predictsTokens() const { return vocabulary_ > 0 && vocabulary_ == choices(); }
    int64_t choices() const { return readout_.second[0]; }
    /// [V,C], or [classes,C]: the readout with the final norm folded in, which multiplies a row of the residual stream.
    Tensor readout() const {
        const Tensor table = affine(slice(graph_.parameter(readout_.first, readout_.second), 1, 0, width_), share_, 0);
        if (!isFinalNormed_) return table;
        const Tensor rows = weighted(table, "ln_final");
        return norm_ == &kLayerNormPart ? centred(rows) : rows; // centring is its own transpose
    }

private:
    Tensor weighted(Tensor rows, const std::string& norm) const {
        return multiply(rows, reshape(graph_.parameter(norm + ".w", {width_}), {1, width_}));
    }
    static Tensor centred(Tensor rows) { return binary(rows, reduce(rows, Reduction::Mean, {1}), Binary::Subtract); }

    Graph& graph_;
    int64_t width_, vocabulary_ = 0; ///< 0: the model reads a picture
    const Part* norm_{};
    bool isFinalNormed_ = false;
    double share_ = 1;                               ///< of the logits, which may be the mean of two classifiers
    std::pair<std::string, Shape> readout_{{}, {0}}; ///< no rows if there is no readout or it is not linear
};

/// The distinct tokens of a text. @throws Error if there are none, or one is outside the vocabulary
std::vector<int> distinct(const std::vector<int>& tokens, const ModelInfo& model) {
    std::vector<int> found;
    for (const int token : tokens)
        if (std::ranges::find(found, token) == found.end()) {
            resolved({.token = token}, std::vector<float>(static_cast<size_t>(model.vocabulary)), model);
            found.push_back(token);
        }
    if (found.empty())
        throw Error({.what = "there are no tokens to analyse", .where = "tokens", .hint = "enter a prompt"});
    return found;
}

/// The sum of the eigenvalues of a matrix [D,D] divided by the sum of their absolute values.
float copyingScoreOf(const std::vector<float>& values, Eigen::Index D) {
    const Eigen::MatrixXd matrix =
        Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(values.data(), D, D)
            .cast<double>();
    const Eigen::VectorXcd eigenvalues = Eigen::EigenSolver<Eigen::MatrixXd>(matrix, false).eigenvalues();
    const double sizes = eigenvalues.cwiseAbs().sum();
    return sizes > 0 ? static_cast<float>(eigenvalues.sum().real() / sizes) : 0.0f;
}

} // namespace

std::shared_ptr<AnalysisResult> HeadCircuitsAnalysis::run(RunningModel& model, const AnalysisContext& context) const {
    const ModelInfo& info = model.info();
    info.requireHead(site, head);
    const int layer = info.site(site).layer;
    const auto graph = std::make_shared<Graph>();
    const HeadWeights weights(model, *graph);
    const EndWeights ends(model, *graph);
    auto result = std::make_shared<HeadCircuits>();
    result->site = site;
    result->head = head;
    result->isOfTokens = model.config().axis == AxisKind::Tokens;
    std::vector<float> picture; // the rows of the picture before the first layer
    if (result->isOfTokens) {
        result->tokens = distinct(tokens.empty() ? context.input.tokens() : tokens, info);
    } else {
        picture = model.capture(context.input, "hook_embed").front().values;
        result->tokens.resize(picture.size() / static_cast<size_t>(info.modelWidth));
        std::iota(result->tokens.begin(), result->tokens.end(), 0);
    }
    const Shape rows{std::ssize(result->tokens), info.modelWidth};
    const auto normed = [&](Tensor x) { return ends.normed(x, inBlock(layer, "ln1")); };
    const Tensor all = normed(result->isOfTokens ? ends.embeddings() : graph->input("rows", {.shape = rows}));
    const Tensor asked = // [n,C]
        result->isOfTokens ? take(all, graph->input("tokens", {.shape = {rows[0]}, .dtype = DType::I32})) : all;
    const auto times = [](Tensor x, Tensor matrix) { return batchedMatmul(x, matrix, {.transposeB = true}); };
    const Tensor wq = one(weights.byHead(layer, "Q"), head), wk = one(weights.byHead(layer, "K"), head),
                 wv = one(weights.byHead(layer, "V"), head), wo = weights.scaledOutput(layer, head); // [D,C]; [C,D]
    const double factor = model.attentionOf(layer).scoreScale();
    const Tensor reads = affine(times(times(asked, wq), times(all, wk)), factor, 0); // [n,D].[N,D] -> [n,N]
    std::map<std::string, Tensor> outputs;
    const auto most = [&](const std::string& name, Tensor of, HeadCircuits::Pairs& pairs) {
        pairs.choices = static_cast<size_t>(std::min<int64_t>(choices, of.shape()[1]));
        const TopK found = topK(of, static_cast<int64_t>(pairs.choices));
        outputs.insert({{name, found.values}, {name + "_ids", found.indices}});
    };
    most("reads", reads, result->reads);
    if (!result->isOfTokens) outputs.emplace("scores", reads);
    if (ends.choices() > 0) {
        const Tensor out = batchedMatmul(ends.readout(), wo); // [V,C].[C,D] -> [V,D]
        most("writes", times(times(asked, wv), out), result->writes);
        // The circuit W_U W_O W_V E is V x V. Its nonzero eigenvalues equal those of W_V E W_U W_O.
        if (ends.predictsTokens())
            outputs.emplace("core", batchedMatmul(times(all, wv), out, {.transposeA = true})); // [D,V].[V,D]
    }
    const auto executor = weightRun(model, graph, outputs);
    if (result->isOfTokens)
        std::ranges::copy(result->tokens, executor->inputIntegers("tokens").begin());
    else
        writeRows(picture, rows, [&](const auto& fill) { fill(0, executor->input("rows")); });
    executor->run({});
    const auto read = [&](const std::string& name, HeadCircuits::Pairs& pairs) {
        if (pairs.choices == 0) return;
        pairs.values = denseResult(*executor, name);
        const auto stride = static_cast<size_t>(Shape{static_cast<int64_t>(pairs.choices)}.rowStride());
        const auto padded = executor->resultIntegers(name + "_ids");
        for (size_t row = 0; row < result->tokens.size(); ++row)
            for (size_t choice = 0; choice < pairs.choices; ++choice)
                pairs.ids.push_back(padded[row * stride + choice]);
    };
    read("reads", result->reads);
    read("writes", result->writes);
    if (!result->isOfTokens) result->scores = denseResult(*executor, "scores");
    if (outputs.contains("core")) result->copyingScore = copyingScoreOf(denseResult(*executor, "core"), wq.shape()[0]);
    return result;
}

std::shared_ptr<AnalysisResult> CompositionScoresAnalysis::run(RunningModel& model,
                                                               const AnalysisContext& context) const {
    const auto& info = model.info();
    const auto graph = std::make_shared<Graph>();
    const HeadWeights weights(model, *graph);
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
            const auto spread = [](Tensor x) { // later heads
                return reshape(x, {x.shape()[0], 1, x.shape()[1], x.shape()[2]});
            };
            /// |L^T (r O) V|^2 with M = r O^T: tr(gram(L) M gram(V) M^T)
            const auto score = [&](Tensor reader, Tensor other, Tensor size) {
                const Tensor m =
                    batchedMatmul(spread(reader), a.o, {.transposeB = true}); // [H,1,D,C].[H,C,D] -> [H,H,D,D]
                const Tensor square = total(batchedMatmul(spread(other), m), batchedMatmul(m, a.vv));
                const Tensor norms = multiply(spread(size), reshape(a.wrote, {1, a.wrote.shape()[0], 1, 1}));
                return unary(clamp(binary(square, norms, Binary::Divide), 0, 1e9), Unary::SquareRoot);
            };
            const auto name = [&](int kind) { return fmt::format("{}.{}.{}", kind, later, earlier); };
            outputs.emplace(name(0), score(b.q, b.kk, b.read));
            outputs.emplace(name(1), score(b.k, b.qq, b.read));
            outputs.emplace(name(2), score(b.v, b.oo, b.wrote));
        }
    for (size_t layer = 0; layer < layers.size() && !outputs.empty(); ++layer) {
        outputs.emplace(fmt::format("read.{}", layer), layers[layer].read);
        outputs.emplace(fmt::format("wrote.{}", layer), layers[layer].wrote);
    }
    auto result = std::make_shared<CompositionScores>();
    result->sites = info.layers;
    result->heads = info.heads;
    const auto H = static_cast<size_t>(info.heads); // the largest number of heads in a layer
    const auto headsOf = [&](size_t layer) { return static_cast<size_t>(info.site(static_cast<int>(layer)).heads); };
    const auto all = static_cast<size_t>(info.layers) * H;
    result->values.assign(3 * all * all, 0);
    if (outputs.empty()) return result;
    if (context.report) context.report(0.1f, "composition");
    const auto executor = weightRun(model, graph, outputs);
    executor->run({});
    result->read.assign(all, 0);
    result->wrote.assign(all, 0);
    for (size_t layer = 0; layer < layers.size(); ++layer) {
        const auto to = static_cast<std::ptrdiff_t>(layer * H);
        std::ranges::copy(denseResult(*executor, fmt::format("read.{}", layer)), result->read.begin() + to);
        std::ranges::copy(denseResult(*executor, fmt::format("wrote.{}", layer)), result->wrote.begin() + to);
    }
    for (size_t kind = 0; kind < 3; ++kind)
        for (size_t later = 0; later < layers.size(); ++later)
            for (size_t earlier = 0; earlier < later; ++earlier) {
                const auto scores = denseResult(*executor, fmt::format("{}.{}.{}", kind, later, earlier)); // [H,H,1,1]
                const size_t own = headsOf(later), others = headsOf(earlier);
                for (size_t head = 0; head < own; ++head)
                    std::copy_n(scores.begin() + static_cast<std::ptrdiff_t>(head * others), others,
                                result->values.begin() +
                                    static_cast<std::ptrdiff_t>((kind * all + later * H + head) * all + earlier * H));
            }
    // Devices do not agree on what 0 / 0 is.
    for (size_t kind = 0; kind < 3; ++kind)
        for (size_t later = H; later < all; ++later)
            for (size_t earlier = 0; earlier < later / H * H; ++earlier)
                if ((kind == 2 ? result->wrote : result->read)[later] * result->wrote[earlier] == 0)
                    result->values[(kind * all + later) * all + earlier] = std::numeric_limits<float>::quiet_NaN();
    return result;
}

std::string CompositionScores::whyUndefined(Kind kind, int site, int head, int earlierSite, int earlierHead) const {
    const auto at = [&](int of, int which) { return static_cast<size_t>(of * heads + which); };
    if (wrote[at(earlierSite, earlierHead)] == 0) return headName(earlierSite, earlierHead) + " writes nothing";
    if (kind == Kind::Value && wrote[at(site, head)] == 0) return headName(site, head) + " writes nothing";
    if (kind != Kind::Value && read[at(site, head)] == 0)
        return headName(site, head) + " has only zeros as queries or keys";
    return "the weights are too small for numbers of 32 bits";
}

} // namespace attn
