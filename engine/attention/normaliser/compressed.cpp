#include "engine/attention/parts.h"
#include "engine/attention/terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

using namespace terms;

constexpr std::array<Param, 1> kCompressedParams{
    {{"stride", "Stride", "Tokens that a convolution turns into one key and one value", Param::Kind::Integer, 2, 64, 1,
      3}}};

/// The blocks of tokens that become one key each: complete ones under a causal mask, else also the last, with zeros.
int64_t blocksOf(int64_t keys, int64_t stride, bool isCausal) { return (keys + (isCausal ? 0 : stride - 1)) / stride; }

/// Whether the query's own block has no key yet, because it is not complete, and the key lies in it.
bool isRest(int64_t t, int64_t s, int64_t stride) { return s <= t && s >= (t + 1) / stride * stride; }

/// A convolution whose stride is the length of its kernel. @param x [B,H,S,D]  @return [B,H,blocks,D]
Tensor convolved(AttentionFlow& flow, Tensor x, const char* name, int64_t stride, int64_t blocks) {
    const int64_t B = flow.batch, H = flow.heads, S = flow.keys, D = flow.width, wide = stride * D;
    const Tensor kernel = flow.parameter(std::string("normaliser.") + name, {H, D, wide},
                                         {InitialValue::Kind::Normal, 1 / std::sqrt(static_cast<double>(wide))});
    const Tensor rows = blocks * stride > S ? pad(x, 2, 0, blocks * stride - S) : slice(x, 2, 0, blocks * stride);
    return product(reshape(rows, {B, H, blocks, wide}), kernel);
}

/// Scores of the complete blocks, and of the tokens of a query's own block before it is complete.
void buildCompressed(AttentionFlow& flow, PartValues values) {
    const int64_t B = flow.batch, H = flow.heads, T = flow.queries, S = flow.keys, D = flow.width,
                  stride = values.integer("stride");
    const bool isCausal = flow.isCausal();
    const int64_t blocks = blocksOf(S, stride, isCausal);
    const double scale = 1 / std::sqrt(static_cast<double>(D));
    const Tensor hidden = fill(flow.graph, {1, 1}, kMasked);
    std::vector<Tensor> scores, rows; // of the blocks, then of single tokens
    if (blocks > 0) {
        Tensor each = batchedMatmul(flow.q, convolved(flow, flow.k, "K", stride, blocks),
                                    {.transposeB = true, .scale = scale}); // [B,H,T,blocks]
        if (isCausal) {
            const Tensor complete =
                flow.byPosition(fmt::format("normaliser.complete{}", blocks), T, blocks,
                                [stride](int64_t t, int64_t b) { return (b + 1) * stride <= t + 1 ? 1.0 : 0.0; });
            each = select(complete, each, hidden);
        }
        scores.push_back(each);
        rows.push_back(convolved(flow, flow.v, "V", stride, blocks));
    }
    // In a whole sequence a query meets single tokens of its own block alone.
    const int64_t all = (T + stride - 1) / stride;
    const auto inBlocks = [&](Tensor x) {
        return reshape(pad(x, 2, 0, all * stride - T), {B * H, all, stride, x.shape()[3]});
    };
    if (isCausal && flow.isStep()) {
        const Tensor rest =
            flow.byCell("normaliser.rest", [stride](int64_t t, int64_t s) { return isRest(t, s, stride) ? 1.0 : 0.0; });
        scores.push_back(select(rest, affine(product(flow.q, flow.k), scale, 0), hidden));
    } else if (isCausal) {
        const Tensor rest = flow.constant("normaliser.rest_of_block", {stride, stride}, [stride] {
            std::vector<float> cells;
            for (int64_t t = 0; t < stride; ++t)
                for (int64_t s = 0; s < stride; ++s) cells.push_back(isRest(t, s, stride) ? 1.0f : 0.0f);
            return cells;
        });
        const Tensor own = select(rest, affine(product(inBlocks(flow.q), inBlocks(flow.k)), scale, 0),
                                  hidden); // [BH,all,stride,stride]
        scores.push_back(slice(reshape(own, {B, H, all * stride, stride}), 2, 0, T));
    }
    const Tensor weights = softmax(scores.size() == 1 ? scores.front() : concatenate(scores, -1));
    flow.show("compressed.weights", weights);
    Tensor z;
    if (blocks > 0) z = batchedMatmul(slice(weights, 3, 0, blocks), rows.front());
    if (isCausal) {
        const Tensor rest = slice(weights, 3, blocks, weights.shape()[3] - blocks);
        const Tensor own =
            flow.isStep()
                ? batchedMatmul(rest, flow.v)
                : slice(reshape(batchedMatmul(inBlocks(rest), inBlocks(flow.v)), {B, H, all * stride, D}), 2, 0, T);
        z = z ? plus(z, own) : own;
    }
    flow.z = z;
}

void referenceCompressed(ReferenceFlow& flow, PartValues values) {
    const int64_t stride = values.integer("stride"), D = flow.width;
    const bool isCausal = flow.isCausal();
    const int64_t blocks = blocksOf(flow.keys, stride, isCausal);
    const double scale = 1 / std::sqrt(static_cast<double>(D));
    flow.z = Dense({flow.heads, flow.queries, D});
    for (int64_t h = 0; h < flow.heads; ++h) {
        const auto convolve = [&](const Dense& x, const char* name, int64_t block, int64_t d) {
            const Dense& kernel = flow.parameters.at(std::string("normaliser.") + name);
            double sum = 0;
            for (int64_t i = 0; i < stride && block * stride + i < flow.keys; ++i)
                for (int64_t e = 0; e < D; ++e) sum += kernel.at(h, d, i * D + e) * x.at(h, block * stride + i, e);
            return sum;
        };
        for (int64_t t = 0; t < flow.queries; ++t) {
            std::vector<double> weights;
            std::vector<std::vector<double>> rows;
            const auto add = [&](const auto& key, const auto& value) {
                double score = 0;
                std::vector<double> row;
                for (int64_t d = 0; d < D; ++d) {
                    score += flow.q.at(h, t, d) * key(d);
                    row.push_back(value(d));
                }
                weights.push_back(std::exp(score * scale));
                rows.push_back(std::move(row));
            };
            for (int64_t block = 0; block < blocks; ++block)
                if (!isCausal || (block + 1) * stride <= t + 1)
                    add([&](int64_t d) { return convolve(flow.k, "K", block, d); },
                        [&](int64_t d) { return convolve(flow.v, "V", block, d); });
            for (int64_t s = 0; isCausal && s <= t; ++s)
                if (isRest(t, s, stride))
                    add([&](int64_t d) { return flow.k.at(h, s, d); }, [&](int64_t d) { return flow.v.at(h, s, d); });
            double sum = 0;
            for (const double weight : weights) sum += weight;
            for (size_t i = 0; i < rows.size(); ++i)
                for (int64_t d = 0; d < D; ++d)
                    flow.z.at(h, t, d) += weights[i] / sum * rows[i][static_cast<size_t>(d)];
        }
    }
}

double compressedPairs(PartValues values, int64_t tokens, bool isCausal) {
    const double T = static_cast<double>(tokens), stride = values.real("stride");
    return isCausal ? T * (T / stride + stride) / 2 : T * std::ceil(T / stride);
}

} // namespace

const Part kCompressedNormaliser{
    .id = "memory_compressed",
    .slot = Slot::Normaliser,
    .title = "Memory-compressed attention",
    .idea = "A learned convolution turns every few keys into one, and their values into one, so that the softmax has "
            "fewer columns. Layers with local blocks alternate with it, as in its paper.",
    .formula =
        "z_i = softmax(q_i . [K', k_rest] / sqrt(D)) [V', v_rest], K' = conv(K), V' = conv(V), kernel = stride = 3",
    .source = {"Liu et al.", 2018, "Generating Wikipedia by Summarizing Long Sequences", "section 4.2.3",
               "arXiv:1801.10198"},
    .params = kCompressedParams,
    .time = "O(T^2 / stride D)",
    .memory = "O(T^2 / stride) and O(stride D^2) parameters",
    .hooks = {{Stage::Normalise, buildCompressed, referenceCompressed}},
    .mix = {.masks = MaskSupport::FullOrCausal, .usesScores = false, .pairs = compressedPairs},
    .needsEqualLengths = true};

} // namespace attn
