#include "engine/attention/normaliser/normalisers.h"
#include "engine/attention/terms.h"

#include <cmath>

namespace attn {
namespace {

void build(AttentionFlow& flow, PartValues) { flow.pattern = softmax(flow.scores); }

void fuse(AttentionFlow&, PartValues, FusedScores&) {} // the kernel's own

void reference(ReferenceFlow& flow, PartValues) {
    flow.pattern = Dense({flow.heads, flow.queries, flow.keys});
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t) {
            double maximum = kMasked, sum = 0;
            for (int64_t s = 0; s < flow.keys; ++s) maximum = std::max(maximum, flow.scores.at(h, t, s));
            if (maximum <= kMasked) continue;
            for (int64_t s = 0; s < flow.keys; ++s)
                if (flow.scores.at(h, t, s) > kMasked)
                    sum += flow.pattern.at(h, t, s) = std::exp(flow.scores.at(h, t, s) - maximum);
            for (int64_t s = 0; s < flow.keys; ++s) flow.pattern.at(h, t, s) /= sum;
        }
}

} // namespace

const Part kSoftmaxNormaliser{
    .id = "softmax",
    .slot = Slot::Normaliser,
    .title = "Softmax",
    .idea = "Turns the scores of each query into weights that are positive and sum to one. Every additional unit of "
            "score multiplies a key's weight by the same factor.",
    .formula = "A(i,j) = e^(s(i,j)) / sum_j' e^(s(i,j'))",
    .source = {"Vaswani et al.", 2017, "Attention Is All You Need", "section 3.2.1", "arXiv:1706.03762"},
    .time = "O(T S D)",
    .memory = "O(T S), or O(T D) fused",
    .hooks = {{Stage::Normalise, build, reference, fuse}},
    .isSoftmax = true};

} // namespace attn
