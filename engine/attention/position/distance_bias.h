#pragma once

#include "engine/attention/terms.h"

#include <functional>
#include <string>

namespace attn {

/// Numbers from a learned table [rows, H] by distance of the key from the query. @return [H, T + S - 1]
inline Tensor learnedByDistance(AttentionFlow& flow, const char* name, int64_t rows,
                                const std::function<int64_t(int64_t)>& row) {
    using namespace terms;
    const Tensor table = flow.parameter(name, {rows, flow.heads}, {InitialValue::Kind::Normal, 0.2});
    const Tensor ids =
        indices(flow.byDistance(std::string(name) + ".rows", 1, [row](int64_t d, int64_t) { return row(d); }));
    return permute(take(table, ids), {1, 0}); // [T+S-1,H] -> [H,T+S-1]
}

/// Adds numbers by head and distance. @param byHead [H, T + S - 1]
inline void addByDistance(AttentionFlow& flow, Tensor byHead) {
    using namespace terms;
    const int64_t H = flow.heads, T = flow.queries, count = T + flow.keys - 1;
    const Tensor bias = diagonals(broadcast(reshape(byHead, {H, 1, count}), {H, T, count}), flow.keys); // [H,T,S]
    flow.show("position.bias", bias);
    flow.addToScores("position.bias", bias);
}

/// The same in the reference. @param bias the number for a head and a distance
template <class Bias> void addReference(ReferenceFlow& flow, Bias&& bias) {
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t)
            for (int64_t s = 0; s < flow.keys; ++s) flow.scores.at(h, t, s) += bias(h, t - s);
}

} // namespace attn
