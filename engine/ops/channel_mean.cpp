#include "engine/ops/channel_mean.h"

#include "engine/host/channels.h"
#include "engine/ops/definitions.h"
#include "engine/ops/rules.h"
#include "engine/ops/tensor_ops.h"

#include <cmath>
#include <limits>

namespace attn {
namespace {

// Inputs: k, v, the table or its two factors, and q if the attribute "gated" is set.
enum Input : uint32_t { K, V, Table, QueryFactors = Table, KeyFactors };

bool hasTable(const Attributes& attributes) { return !attributes.flag("factors"); }
uint32_t gateOf(const Attributes& attributes) { return hasTable(attributes) ? 3 : 4; }

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
    constexpr std::string_view kOp = "channel_mean";
    const bool isGated = attributes.flag("gated");
    requireInputs(inputs, gateOf(attributes) + (isGated ? 1 : 0), kOp);
    requireWhole(inputs, kOp);
    const Shape &k = inputs[K].shape, &w = inputs[Table].shape;
    const int64_t T = attributes.integer("queries"), window = attributes.integer("window");
    require(k.rank() == 4 && inputs[V].shape == k, kOp,
            fmt::format("k {} and v {} must both be [B,H,S,D]", k.text(), inputs[V].shape.text()));
    const Shape out{k[0], k[1], T, k[3]};
    require(!isGated || inputs.back().shape == out, kOp,
            fmt::format("q {} is not {}", inputs.back().shape.text(), out.text()));
    if (hasTable(attributes))
        require(w.rank() == 3 && (w[0] == 1 || w[0] == k[1]) && (w[1] == 1 || w[1] == T) &&
                    w[2] == (window > 0 ? 2 * window - 1 : k[2]),
                kOp, fmt::format("the table {} does not fit k {}", w.text(), k.text()));
    else
        require(
            w.rank() == 2 && w[0] == T && inputs[KeyFactors].shape == Shape{k[2], w[1]}, kOp,
            fmt::format("the factors {} and {} do not fit k {}", w.text(), inputs[KeyFactors].shape.text(), k.text()));
    return {{.shape = out}};
}

/// The sizes and options of a node, without its data.
host::ChannelMean problemOf(const OpTypes& types) {
    const Shape &k = types.inputs[K].shape, &w = types.inputs[Table].shape;
    const bool isTable = hasTable(types.attributes);
    return {.B = k[0],
            .H = k[1],
            .T = types.attributes.integer("queries"),
            .S = k[2],
            .D = k[3],
            .stride = k.rowStride(),
            .tableHead = isTable && w[0] > 1 ? w[1] * w.rowStride() : 0,
            .tableRow = isTable && w[1] > 1 ? w.rowStride() : 0,
            .F = isTable ? 0 : w[1],
            .factorStride = isTable ? 0 : w.rowStride(),
            .window = types.attributes.integer("window"),
            .behind = types.attributes.integer("behind"),
            .ahead = types.attributes.integer("ahead")};
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor &k = call.inputs[K], &v = call.inputs[V], &w = call.inputs[Table], &z = call.outputs[0];
    const int64_t H = k.shape[1], S = k.shape[2], T = z.shape[2], window = call.attributes.integer("window"),
                  behind = call.attributes.integer("behind"), ahead = call.attributes.integer("ahead");
    const auto number = [&](int64_t h, int64_t t, int64_t s) {
        if (window > 0 && std::abs(s - t) >= window) return 0.0;
        if (hasTable(call.attributes))
            return w.row((w.shape[0] > 1 ? h : 0) * w.shape[1] +
                         (w.shape[1] > 1 ? t : 0))[window > 0 ? s - t + window - 1 : s];
        double sum = 0;
        for (int64_t f = 0; f < w.columns(); ++f) sum += w.row(t)[f] * call.inputs[KeyFactors].row(s)[f];
        return sum;
    };
    for (int64_t m = 0; m < k.shape[0] * H; ++m)
        for (int64_t t = 0; t < T; ++t) {
            const int64_t first = std::clamp<int64_t>(t - behind, 0, S), end = std::clamp<int64_t>(t + ahead + 1, 0, S);
            for (int64_t d = 0; d < z.columns() && first < end; ++d) {
                double most = -std::numeric_limits<double>::infinity(), top = 0, bottom = 0;
                for (int64_t s = first; s < end; ++s) most = std::max(most, k.row(m * S + s)[d] + number(m % H, t, s));
                for (int64_t s = first; s < end; ++s) {
                    const double weight = std::exp(k.row(m * S + s)[d] + number(m % H, t, s) - most);
                    top += weight * v.row(m * S + s)[d];
                    bottom += weight;
                }
                z.row(m * T + t)[d] = top / bottom;
                if (call.attributes.flag("gated"))
                    z.row(m * T + t)[d] /= 1 + std::exp(-call.inputs[gateOf(call.attributes)].row(m * T + t)[d]);
            }
        }
}

std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits&) {
    const host::ChannelMean of = problemOf(types);
    const bool isTable = hasTable(types.attributes);
    return {{.shader = "attention/channel_mean",
             .bindings = {load4(K), load4(V), readInput(isTable ? Table : K), load4(isTable ? K : QueryFactors),
                          load4(isTable ? K : KeyFactors),
                          load4(types.attributes.flag("gated") ? gateOf(types.attributes) : K), writeOutput(0)},
             .push = {u32(of.T), u32(of.S), u32(of.H), u32(of.stride / 4), u32(of.tableHead), u32(of.tableRow),
                      u32(of.factorStride / 4), u32(of.window), u32(of.behind), u32(of.ahead)},
             .specialisation = {isTable ? 1u : 0u, types.attributes.flag("gated") ? 1u : 0u},
             .x = groupsOf(of.T * of.stride / 4, 64),
             .y = GridAxis::fixed(u32(of.B * of.H))}};
}

HostKernel hostKernel(const OpTypes& types) {
    return [problem = problemOf(types), isTable = hasTable(types.attributes), gate = gateOf(types.attributes),
            isGated = types.attributes.flag("gated")](const HostRun& run) {
        host::ChannelMean of = problem;
        of.k = run.inputs[K];
        of.v = run.inputs[V];
        if (isTable)
            of.table = run.inputs[Table];
        else
            of.queryFactors = run.inputs[QueryFactors], of.keyFactors = run.inputs[KeyFactors];
        if (isGated) of.q = run.inputs[gate];
        host::channelMean(of, run.outputs[0], run.pool);
    };
}

/// The number of operations of the processor's kernel. Each block of queries weighs its near keys again, and far blocks
/// are summed once.
double operations(const OpTypes& types) {
    const host::ChannelMean of = problemOf(types);
    const auto D = static_cast<double>(of.D);
    constexpr int64_t kKeys = host::ChannelMean::kKeys;
    double count = static_cast<double>(of.S) * D * (of.window > 0 ? 6 : 1); // maximum; difference, e^k, e^k v, two sums
    for (int64_t query = 0; query < of.T; query += host::ChannelMean::kQueries) {
        const int64_t queryEnd = std::min(query + host::ChannelMean::kQueries, of.T), end = of.endKey(queryEnd);
        bool hasFar = false;
        for (int64_t block = of.firstKey(query) / kKeys * kKeys; block < end; block += kKeys) {
            const int64_t key = std::max(block, of.firstKey(query)), keyEnd = std::min(block + kKeys, end);
            if (of.isFar(query, queryEnd, block, std::min(block + kKeys, of.S))) {
                hasFar = true;
                count += 7 * D; // maximum, difference, exponential, two products and sums
                continue;
            }
            count += static_cast<double>(keyEnd - key) * 3 * D;
            for (int64_t row = query; row < queryEnd; row += host::ChannelMean::kStrip) {
                const int64_t last = std::min(row + host::ChannelMean::kStrip, queryEnd),
                              seen = std::max<int64_t>(std::min(of.endKey(last), keyEnd) - key, 0);
                count += static_cast<double>((last - row) * seen) * (4 * D + 3 + 2 * static_cast<double>(of.F));
            }
        }
        if (hasFar) count += static_cast<double>(queryEnd - query) * 6 * D;
    }
    return static_cast<double>(of.B * of.H) * count +
           static_cast<double>(of.B * of.H * of.T * of.D) * (types.attributes.flag("gated") ? 4 : 1);
}

/// The derivatives for `rows` queries, beginning with the query `first`.
class QueriesGradient {
public:
    QueriesGradient(const GradientCall& call, int64_t first, int64_t rows)
        : call_(call), first_(first), rows_(rows), keys_(call.inputs[K].shape()[2]) {}

    /// The numbers of the cells, by key: [1 or H, rows, S].
    Tensor numbers() const {
        const Tensor table = call_.inputs[Table];
        if (!hasTable(call_.attributes)) {
            Tensor all = reshape(batchedMatmul(rowsOf(table, 0), call_.inputs[KeyFactors], {.transposeB = true}),
                                 {1, rows_, keys_});
            return window() > 0 ? binary(all, band(window() - 1, window() - 1), Binary::Multiply) : all;
        }
        const Tensor own = table.shape()[1] > 1 ? rowsOf(table, 1) : table;
        if (window() == 0) return own;
        return diagonals(spread(broadcast(own, {own.shape()[0], rows_, 2 * window() - 1}), window() - 1, window() - 1),
                         keys_);
    }
    /// e to the power of the numbers; 0 for hidden cells.
    Tensor cells() const {
        const Tensor own = numbers();
        const Tensor all = unary(broadcast(own, {own.shape()[0], rows_, keys_}), Unary::Exponential);
        const int64_t behind = call_.attributes.integer("behind"), ahead = call_.attributes.integer("ahead");
        return behind >= farthestBehind() && ahead >= farthestAhead()
                   ? all
                   : binary(all, band(behind, ahead), Binary::Multiply);
    }
    /// Turns derivatives by the cells' numbers into derivatives by these rows of the table. @param d [1 or H, rows, S]
    Tensor ofTable(Tensor d) const {
        if (window() > 0) d = gathered(undiagonals(d), window() - 1);
        return call_.inputs[Table].shape()[1] == 1 && rows_ > 1 ? reduce(d, Reduction::Sum, {1}) : d;
    }
    /// Turns derivatives by the cells' numbers into derivatives by the factors of these queries and of all keys.
    std::pair<Tensor, Tensor> ofFactors(Tensor d) const {
        if (window() > 0) d = binary(d, band(window() - 1, window() - 1), Binary::Multiply);
        d = reshape(d, {rows_, keys_});
        return {batchedMatmul(d, call_.inputs[KeyFactors]),
                batchedMatmul(d, rowsOf(call_.inputs[QueryFactors], 0), {.transposeA = true})};
    }
    Tensor rowsOf(Tensor x, int axis) const { return slice(x, axis, first_, rows_); }

private:
    int64_t window() const { return call_.attributes.integer("window"); }
    // Distances of keys from these queries run from -farthestBehind() to farthestAhead().
    int64_t farthestBehind() const { return first_ + rows_ - 1; }
    int64_t farthestAhead() const { return keys_ - 1 - first_; }
    /// Turns columns for the distances -back to on into columns for all distances that occur.
    Tensor spread(Tensor x, int64_t back, int64_t on) const {
        const int64_t before = farthestBehind() - back, after = farthestAhead() - on;
        if (before < 0) x = slice(x, -1, -before, x.shape()[-1] + before);
        if (after < 0) x = slice(x, -1, 0, x.shape()[-1] + after);
        return pad(x, -1, std::max<int64_t>(before, 0), std::max<int64_t>(after, 0));
    }
    /// Turns columns for all distances that occur into columns for the distances -reach to reach.
    Tensor gathered(Tensor x, int64_t reach) const {
        const int64_t before = farthestBehind() - reach, after = farthestAhead() - reach;
        const int64_t begin = std::max<int64_t>(before, 0), end = x.shape()[-1] - std::max<int64_t>(after, 0);
        return pad(slice(x, -1, begin, end - begin), -1, std::max<int64_t>(-before, 0), std::max<int64_t>(-after, 0));
    }
    /// 1 for the cells of these distances, else 0: [1, rows, S].
    Tensor band(int64_t back, int64_t on) const {
        back = std::min(back, farthestBehind());
        on = std::min(on, farthestAhead());
        return reshape(diagonals(spread(fill(call_.graph, {rows_, back + on + 1}, 1), back, on), keys_),
                       {1, rows_, keys_});
    }

    const GradientCall& call_;
    int64_t first_, rows_, keys_;
};

Tensor sumOf(const Tensor& sum, const Tensor& part) { return sum ? binary(sum, part, Binary::Add) : part; }

/// Forms the cells of some queries at a time. @source the derivatives of the paper's equation 2
std::vector<Tensor> gradient(const GradientCall& call) {
    const Tensor k = call.inputs[K], v = call.inputs[V];
    const bool isGated = call.attributes.flag("gated"), isTable = hasTable(call.attributes);
    Tensor z = call.outputs[0], dz = call.outputGradients[0], dGate;
    if (isGated) {
        const size_t gate = gateOf(call.attributes);
        Attributes attributes = call.attributes;
        attributes.set("gated", 0);
        z = call.graph.add(kChannelMean, {call.inputs.begin(), call.inputs.begin() + static_cast<std::ptrdiff_t>(gate)},
                           attributes);
        const Tensor open = unary(call.inputs[gate], Unary::Sigmoid);
        dGate = binary(binary(dz, call.outputs[0], Binary::Multiply), affine(open, -1, 1), Binary::Multiply);
        dz = binary(dz, open, Binary::Multiply);
    }
    const int64_t H = k.shape()[1], S = k.shape()[2], T = z.shape()[2];
    const Tensor most = stopGradient(reduce(k, Reduction::Maximum, {2})),
                 weight = unary(binary(k, most, Binary::Subtract), Unary::Exponential);
    const auto times = [](Tensor a, Tensor b) { return binary(a, b, Binary::Multiply); };
    const Tensor weighed = times(weight, v);
    const bool byHead = isTable && call.inputs[Table].shape()[0] > 1,
               hasRows = !isTable || call.inputs[Table].shape()[1] > 1;
    // If there are more queries than keys, some distances have no key, so all queries are computed at once.
    const int64_t atOnce = T <= S ? call.attributes.integer("gradient_rows") : T;
    Tensor ofValues, ofMeans, ofTable, ofKeyFactors;
    std::vector<Tensor> byRow; // derivatives by the table or the queries' factors
    for (int64_t first = 0; first < T; first += atOnce) {
        const int64_t rows = std::min(atOnce, T - first);
        const QueriesGradient part(call, first, rows);
        const Tensor cells = part.cells(), whole = affine(batchedMatmul(cells, weight), 1, 1e-30),
                     share = binary(part.rowsOf(dz, 2), whole, Binary::Divide), own = times(share, part.rowsOf(z, 2));
        ofValues = sumOf(ofValues, batchedMatmul(cells, share, {.transposeA = true}));
        ofMeans = sumOf(ofMeans, batchedMatmul(cells, own, {.transposeA = true}));
        // [B,H,rows,S] -> the axes of the numbers
        Tensor d = times(cells, binary(batchedMatmul(share, weighed, {.transposeB = true}),
                                       batchedMatmul(own, weight, {.transposeB = true}), Binary::Subtract));
        d = reshape(reduce(d, Reduction::Sum, byHead ? std::vector{0} : std::vector{0, 1}), {byHead ? H : 1, rows, S});
        if (!isTable) {
            const auto [ofQueries, ofKeys] = part.ofFactors(d);
            byRow.push_back(ofQueries);
            ofKeyFactors = sumOf(ofKeyFactors, ofKeys);
        } else if (hasRows) {
            byRow.push_back(part.ofTable(d));
        } else {
            ofTable = sumOf(ofTable, part.ofTable(d));
        }
    }
    std::vector<Tensor> result{times(weight, binary(times(v, ofValues), ofMeans, Binary::Subtract)),
                               times(weight, ofValues)};
    if (hasRows) ofTable = byRow.size() == 1 ? byRow.front() : concatenate(byRow, isTable ? 1 : 0);
    result.push_back(ofTable);
    if (!isTable) result.push_back(ofKeyFactors);
    if (isGated) result.push_back(dGate);
    return result;
}

} // namespace

const Op kChannelMean{.name = "channel_mean",
                      .infer = infer,
                      .reference = reference,
                      .dispatch = dispatch,
                      .host = hostKernel,
                      .gradient = gradient,
                      .operations = operations};

Tensor channelMean(const ChannelMeanInputs& in, int64_t queries) {
    std::vector<Tensor> inputs{in.k, in.v};
    if (in.table)
        inputs.push_back(in.table);
    else
        inputs.insert(inputs.end(), {in.queryFactors, in.keyFactors});
    if (in.q) inputs.push_back(in.q);
    const int64_t most = std::max(queries, in.k.shape()[2]);
    return in.k.graph->add(kChannelMean, inputs,
                           {{"queries", static_cast<double>(queries)},
                            {"window", static_cast<double>(in.window)},
                            {"factors", in.table ? 0 : 1},
                            {"gated", in.q ? 1 : 0},
                            {"gradient_rows", static_cast<double>(in.gradientRows)},
                            {"behind", static_cast<double>(std::min(in.behind, most))},
                            {"ahead", static_cast<double>(std::min(in.ahead, most))}});
}

} // namespace attn
