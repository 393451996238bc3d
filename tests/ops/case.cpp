#include "tests/ops/case.h"

#include "engine/ops/tensor_ops.h"

#include <cmath>
#include <numeric>

namespace attn::test {
namespace {

std::mt19937 randomEngine(7);

std::vector<double> normals(int64_t count, double scale) {
    std::normal_distribution<double> normal(0, scale);
    std::vector<double> list;
    for (int64_t i = 0; i < count; ++i) list.push_back(static_cast<double>(static_cast<float>(normal(randomEngine))));
    return list;
}

} // namespace

int64_t randomSize(int64_t most) { return std::uniform_int_distribution<int64_t>(1, most)(randomEngine); }

Tensor Case::real(const std::string& name, Shape shape, std::optional<StepScalar> live, double scale) {
    values[name] = normals(shape.elements(), scale);
    return graph->input(name, {.shape = shape, .liveRows = live});
}

Tensor Case::integers(const std::string& name, Shape shape, int64_t below, std::optional<StepScalar> live) {
    for (int64_t i = 0; i < shape.elements(); ++i) values[name].push_back(static_cast<double>(randomSize(below) - 1));
    return graph->input(name, {.shape = shape, .dtype = DType::I32, .liveRows = live});
}

Tensor Case::stored(const std::string& name, Shape shape) {
    values[name] = normals(shape.elements(), 1);
    return name.starts_with("parameter") ? graph->parameter(name, shape) : graph->state(name, {.shape = shape});
}

AttentionInputs attentionCase(Case& test, int64_t T, int64_t S, int64_t heads, int64_t groups, int64_t D, bool live) {
    const auto queryLive = live ? std::optional(StepScalar::QueryLength) : std::nullopt;
    const auto keyLive = live ? std::optional(StepScalar::KeyLength) : std::nullopt;
    test.step[StepScalar::QueryLength] = static_cast<uint32_t>(randomSize(T));
    test.step[StepScalar::KeyLength] = static_cast<uint32_t>(randomSize(S));
    return {.q = test.real("q", {T, heads, D}, queryLive),
            .k = test.real("k", {S, groups, D}, keyLive),
            .v = test.real("v", {S, groups, D}, keyLive),
            .queryPosition = test.integers("qPos", {T}, S + 4),
            .keyPosition = test.integers("kPos", {S}, S + 4)};
}

AttentionInputs wholeAttention(Case& t, AttentionRule& rule) {
    const int64_t groups = randomSize(3), heads = groups * randomSize(3),
                  D = randomSize(3) == 1 ? randomSize(40) : 4 * randomSize(20);
    rule = {.scale = 0.3, .causal = randomSize(3) > 1, .window = randomSize(2) == 1 ? randomSize(20) : 0};
    int64_t T = randomSize(3) == 1 ? 1 : randomSize(70), S = randomSize(90);
    if (randomSize(2) == 1) {
        rule.sequence = 4 * randomSize(10);
        T = S = rule.sequence * randomSize(4);
    }
    AttentionInputs inputs = attentionCase(t, T, S, heads, groups, D, false);
    if (rule.sequence != 0)
        for (const char* name : {"qPos", "kPos"})
            for (size_t i = 0; i < t.values[name].size(); ++i)
                t.values[name][i] = static_cast<double>(static_cast<int64_t>(i) % rule.sequence);
    return inputs;
}

TileCase tileCase(Case& t, int64_t most) {
    const int64_t B = randomSize(2), G = randomSize(2), H = G * randomSize(2), T = randomSize(most),
                  S = randomSize(most),
                  D = randomSize(3) == 1 ? randomSize(9) : std::min<int64_t>(4 * randomSize(20), most);
    const int64_t lists = randomSize(2) == 1 ? 1 : H, down = (T + 7) / 8, across = (S + 31) / 32;
    // Tiles of every list by queries, then the same by keys.
    struct Tile {
        int64_t list, row, column, bits;
    };
    std::vector<Tile> all;
    std::vector<double> bits(16, 65535);
    const int64_t firsts = randomSize(2) == 1 ? randomSize(T) : 0; // rows of z that are given: they see nothing
    for (int64_t list = 0; list < lists; ++list)
        for (int64_t row = 0; row < down; ++row)
            for (int64_t column = 0; column < across; ++column) {
                const int64_t kind = firsts > row * 8 ? 3 : randomSize(3);
                if (kind == 1 || firsts >= row * 8 + 8) continue;
                all.push_back({list, row, column, kind == 2 ? 0 : static_cast<int64_t>(bits.size()) / 16});
                for (int64_t i = 0; kind == 3 && i < 16; ++i)
                    bits.push_back(row * 8 + i % 8 < firsts || randomSize(4) == 1
                                       ? 0
                                       : static_cast<double>(randomSize(65536) - 1));
            }
    const auto write = [&](const char* begins, const char* tiles, int64_t count, auto place, auto other) {
        std::vector<double>&to = t.values[begins], &pairs = t.values[tiles];
        for (int64_t list = 0; list < lists; ++list) {
            for (int64_t block = 0; block < count; ++block) {
                to.push_back(static_cast<double>(pairs.size() / 2));
                for (const Tile& tile : all)
                    if (tile.list == list && place(tile) == block)
                        pairs.insert(pairs.end(), {static_cast<double>(other(tile)), static_cast<double>(tile.bits)});
            }
            to.push_back(static_cast<double>(pairs.size() / 2));
        }
        if (pairs.empty()) pairs.assign(2, 0);
        return std::pair{t.graph->input(begins, {.shape = {lists, count + 1}}),
                         t.graph->input(tiles, {.shape = {static_cast<int64_t>(pairs.size())}})};
    };
    const auto row = [](const Tile& tile) { return tile.row; };
    const auto column = [](const Tile& tile) { return tile.column; };
    const auto [begins, tiles] = write("begins", "tiles", down, row, column);
    const auto [columnBegins, columnTiles] = write("column begins", "column tiles", across, column, row);
    t.values["bits"] = bits;
    const int64_t patterns = static_cast<int64_t>(bits.size()) / 16;
    TileCase test{
        {.q = t.real("q", {B, H, T, D}),
         .k = t.real("k", {B, G, S, D}),
         .v = t.real("v", {B, G, S, D}),
         .lists = {begins, tiles, columnBegins, columnTiles, t.graph->input("bits", {.shape = {patterns, 16}})},
         .bias = randomSize(2) == 1 ? t.real("bias", {H, T + S - 1}) : Tensor()}};
    if (firsts > 0) test.inputs.first = t.real("first", {B, H, firsts, D});
    if (randomSize(2) == 1) {
        const int64_t labels = randomSize(70);
        for (int64_t i = 0; i < patterns * 256; ++i)
            t.values["labels"].push_back(static_cast<double>(randomSize(labels) - 1));
        test.inputs.lists.labels = t.graph->input("labels", {.shape = {patterns, 256}});
        test.inputs.labelVectors = t.real("vectors", {H, labels, D});
    }
    return test;
}

Tensor channelMeanCase(Case& t, int64_t most) {
    const int64_t B = randomSize(2), H = randomSize(2), T = randomSize(most), S = randomSize(most),
                  D = randomSize(std::min<int64_t>(most, 40)), F = randomSize(9);
    ChannelMeanInputs in{.k = t.real("k", {B, H, S, D}),
                         .v = t.real("v", {B, H, S, D}),
                         .window = randomSize(2) == 1 ? randomSize(most) : 0,
                         .behind = randomSize(2) == 1 ? most : randomSize(most),
                         .ahead = randomSize(2) == 1 ? most : randomSize(most) - 1,
                         .gradientRows = randomSize(most)};
    if (randomSize(2) == 1) {
        in.queryFactors = t.real("u", {T, F});
        in.keyFactors = t.real("w", {S, F});
    } else {
        in.table = t.real(
            "w", {randomSize(2) == 1 ? 1 : H, randomSize(2) == 1 ? 1 : T, in.window > 0 ? 2 * in.window - 1 : S});
    }
    if (randomSize(2) == 1) in.q = t.real("q", {B, H, T, D});
    return channelMean(in, T);
}

BucketAttentionInputs bucketCase(Case& t, int64_t most) {
    const int64_t B = randomSize(2), H = randomSize(2), R = randomSize(3), T = randomSize(most),
                  D = randomSize(3) == 1 ? randomSize(9) : std::min<int64_t>(4 * randomSize(20), most),
                  chunk = 8 * randomSize(3), chunks = (T + chunk - 1) / chunk;
    const Tensor bucket = toReal(t.integers("buckets", {B, H, R, T}, randomSize(4)));
    const Tensor order = sortOrder(bucket), place = toReal(inverseOrder(order));
    const double each = 1 / static_cast<double>(chunk);
    const Tensor code = binary(affine(bucket, static_cast<double>(chunks + 1), 0),
                               unary(affine(place, each, each / 2), Unary::Floor), Binary::Add);
    return {.q = t.real("q", {B, H, T, D}),
            .k = t.real("k", {B, H, T, D}),
            .v = t.real("v", {B, H, T, D}),
            .order = order,
            .code = toInteger(code),
            .chunk = chunk};
}

ClusterAttentionInputs clusterCase(Case& t, int64_t most, bool isCausal) {
    const int64_t B = randomSize(2), H = randomSize(2), T = randomSize(most), c = randomSize(5), w = (T + c - 1) / c,
                  D = randomSize(3) == 1 ? 2 + randomSize(8) : std::min<int64_t>(4 * randomSize(20), most);
    const Tensor one = fill(*t.graph, {B, H, T}, 1);
    const auto draw = [&](const char* name) {
        return largestColumns(toReal(t.integers(name, {B, H, c, T}, 1000)), one, w);
    };
    ClusterAttentionInputs in{
        .q = t.real("q", {B, H, T, D}), .k = t.real("k", {B, H, T, D}), .v = t.real("v", {B, H, T, D})};
    in.sphere = sphereOf(in.q, in.k);
    in.queryIds = draw("queries");
    in.keyIds = isCausal ? in.queryIds : draw("keys");
    return in;
}

ClusterAttentionInputs clusterCaseOnSphere(Case& t, int64_t most, bool isCausal) {
    ClusterAttentionInputs in = clusterCase(t, most, isCausal);
    const Shape& q = in.q.shape();
    const int64_t T = q[2], D = q[3];
    in.sphere = t.real("sphere", {q[0], q[1], 4, T});
    std::vector<double>& sphere = t.values["sphere"];
    for (int64_t m = 0; m < q[0] * q[1]; ++m)
        for (int64_t which = 0; which < 2; ++which)
            for (int64_t token = 0; token < T; ++token) {
                const auto row = t.values.at(which == 0 ? "q" : "k").begin() + (m * T + token) * D;
                const double mean = std::accumulate(row, row + D, 0.0) / static_cast<double>(D);
                double square = 0;
                for (auto at = row; at != row + D; ++at) square += (*at - mean) * (*at - mean);
                const auto at = static_cast<size_t>((m * 4 + 2 * which) * T + token);
                sphere[at] = static_cast<double>(static_cast<float>(mean));
                sphere[at + static_cast<size_t>(T)] = static_cast<double>(static_cast<float>(1 / std::sqrt(square)));
            }
    return in;
}

} // namespace attn::test
