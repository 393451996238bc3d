#include "engine/playground/position_lab.h"

#include "engine/attention/flow.h"
#include "engine/attention/head_counts.h"
#include "engine/attention/part.h"
#include "engine/core/random_rows.h"
#include "engine/core/rng.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace attn {
namespace {

const std::string kPrefix = "attention";
constexpr double kStraight = 1e-5; ///< largest relative deviation of a straight line
constexpr size_t kMostPlanes = 8;

/// Only the position part, with the heads, and with the mask of the query.
AttentionSpec positionOf(const AttentionSpec& spec, int64_t tokens) {
    AttentionSpec alone;
    for (const Slot slot : {Slot::Heads, Slot::Position}) alone.parts.at(slot) = spec.parts.at(slot);
    const MaskSight shown =
        spec.mask.sight({.queries = tokens, .keys = tokens, .heads = static_cast<int>(headCounts(spec).heads)});
    if (shown == MaskSight::Past || shown == MaskSight::Back) alone.mask = MaskExpression::causal();
    return alone;
}

/// Runs the functions of the position part with CPU references.
class Lab {
public:
    explicit Lab(const PositionQuery& query)
        : spec_(positionOf(query.spec, query.tokens)), tokens_(query.tokens), width_(query.width),
          heads_(headCounts(spec_).heads) {
        begin(query.seed);
    }

    int64_t heads() const { return heads_; }
    bool isLearned() const { return isLearned_; }

    bool acts(Stage stage) const {
        return std::ranges::any_of(spec_.part(Slot::Position).hooks,
                                   [&](const Hook& hook) { return hook.stage == stage; });
    }

    ReferenceFlow flow() const {
        const Dense zeros({heads_, tokens_, width_});
        return {.spec = spec_,
                .heads = heads_,
                .queries = tokens_,
                .keys = tokens_,
                .width = width_,
                .stream = Dense({tokens_, width_}),
                .q = zeros,
                .k = zeros,
                .v = zeros,
                .mask = std::vector<char>(static_cast<size_t>(heads_ * tokens_ * tokens_), 1),
                .scores = Dense({heads_, tokens_, tokens_}),
                .pattern = {},
                .z = {},
                .parameters = parameters_};
    }

    void run(ReferenceFlow& flow, Slot slot, Stage stage) const {
        for (const Hook& hook : spec_.part(slot).hooks)
            if (hook.stage == stage) hook.reference(flow, spec_.values(slot));
    }
    /// Runs Stage::Inputs on q and k, for attentions without a residual stream.
    void addEncodings(ReferenceFlow& flow) const {
        for (Dense* x : {&flow.q, &flow.k})
            for (int64_t h = 0; h < heads_; ++h) {
                const auto begin = x->data.begin() + h * tokens_ * width_;
                std::copy_n(begin, tokens_ * width_, flow.stream.data.begin());
                run(flow, Slot::Position, Stage::Inputs);
                std::ranges::copy(flow.stream.data, begin);
            }
    }

    /// The last row of each head, by distance from its own position.
    PlaygroundMap byDistance(std::string name, const Dense& scores) const {
        PlaygroundMap map{
            .name = std::move(name), .heads = heads_, .planes = 1, .rows = 1, .columns = tokens_, .values = {}};
        for (int64_t h = 0; h < heads_; ++h)
            for (int64_t distance = 0; distance < tokens_; ++distance)
                map.values.push_back(static_cast<float>(scores.at(h, tokens_ - 1, tokens_ - 1 - distance)));
        return map;
    }

private:
    /// The learned tensors and tables that the graph of the part needs.
    void begin(uint64_t seed) {
        Graph graph;
        AttentionFlow flow{.graph = graph,
                           .spec = spec_,
                           .prefix = kPrefix,
                           .heads = heads_,
                           .groups = headCounts(spec_).groups,
                           .queries = tokens_,
                           .keys = tokens_,
                           .width = width_};
        flow.q = graph.input("q", {.shape = {1, heads_, tokens_, width_}});
        flow.k = graph.input("k", {.shape = {1, flow.groups, tokens_, width_}});
        flow.v = graph.input("v", {.shape = {1, flow.groups, tokens_, width_}});
        buildAttention(flow);
        const auto keep = [&](const std::string& name, const Shape& shape, const std::vector<float>& values) {
            Dense dense(shape.extents());
            std::ranges::copy(values, dense.data.begin());
            parameters_[name.substr(kPrefix.size() + 1)] = std::move(dense);
        };
        for (const FlowParameter& parameter : flow.parameters) {
            keep(parameter.name, parameter.shape, initialNumbers(parameter, streamSeed(seed, parameter.name)));
            isLearned_ = isLearned_ || parameter.name.starts_with(kPrefix + ".position"); // others belong to the heads
        }
        for (const FlowConstant& constant : flow.constants) keep(constant.name, constant.shape, constant.values());
    }

    AttentionSpec spec_;
    int64_t tokens_, width_, heads_;
    std::map<std::string, Dense> parameters_;
    bool isLearned_ = false;
};

/// Pairs of features of an encoding that move on a circle (cosine and sine). A later position rotates the pair.
std::vector<PositionPictures::Plane> circlesOf(const PlaygroundMap& encodings) {
    std::vector<PositionPictures::Plane> planes;
    for (int64_t sine = 0; sine + 1 < encodings.columns && planes.size() < kMostPlanes; sine += 2) {
        PositionPictures::Plane plane{.first = sine + 1, .second = sine, .x = {}, .y = {}};
        bool isCircle = true;
        for (int64_t place = 0; place < encodings.rows; ++place) {
            const float* code = encodings.values.data() + place * encodings.columns;
            plane.x.push_back(code[sine + 1]);
            plane.y.push_back(code[sine]);
            isCircle = isCircle && std::abs(std::hypot(plane.x.back(), plane.y.back()) - 1) < 1e-4f;
        }
        if (isCircle) planes.push_back(std::move(plane));
    }
    return planes;
}

/// The plane of each feature that moves, the fastest one first.
std::vector<PositionPictures::Plane> planesOf(const Lab& lab, const PositionQuery& query) {
    std::vector<PositionPictures::Plane> planes;
    std::vector<bool> isSeen(static_cast<size_t>(query.width));
    for (int64_t first = 0; first < query.width && planes.size() < kMostPlanes; ++first) {
        if (isSeen[static_cast<size_t>(first)]) continue;
        ReferenceFlow flow = lab.flow();
        for (int64_t i = 0; i < query.tokens; ++i) flow.q.at(0, i, first) = 1;
        lab.run(flow, Slot::Position, Stage::QueriesKeys);
        // The second axis is the feature with the largest value apart from the first.
        int64_t second = first;
        double most = 1e-9;
        for (int64_t d = 0; d < query.width; ++d)
            for (int64_t i = 0; i < query.tokens && d != first; ++i)
                if (std::abs(flow.q.at(0, i, d)) > most) {
                    most = std::abs(flow.q.at(0, i, d));
                    second = d;
                }
        if (second == first) continue;
        isSeen[static_cast<size_t>(second)] = true;
        PositionPictures::Plane plane{.first = first, .second = second, .x = {}, .y = {}};
        for (int64_t i = 0; i < query.tokens; ++i) {
            plane.x.push_back(static_cast<float>(flow.q.at(0, i, first)));
            plane.y.push_back(static_cast<float>(flow.q.at(0, i, second)));
        }
        planes.push_back(std::move(plane));
    }
    return planes;
}

void addBiases(PositionPictures& pictures, const Lab& lab) {
    ReferenceFlow none = lab.flow(), one = lab.flow();
    std::ranges::fill(one.scores.data, 1.0);
    lab.run(none, Slot::Position, Stage::Bias);
    lab.run(one, Slot::Position, Stage::Bias);
    if (std::ranges::any_of(none.scores.data, [](double value) { return value != 0; }))
        pictures.added = lab.byDistance("added", none.scores);
    for (size_t i = 0; i < one.scores.data.size(); ++i) one.scores.data[i] -= none.scores.data[i];
    if (std::ranges::any_of(one.scores.data, [](double value) { return std::abs(value - 1) > 1e-9; }))
        pictures.factor = lab.byDistance("factor", one.scores);
}

/// The slopes of all heads; empty unless all are straight lines.
std::vector<float> slopesOf(const PlaygroundMap& added) {
    std::vector<float> slopes;
    if (added.columns < 3) return {};
    for (int64_t h = 0; h < added.heads; ++h) {
        const auto line = added.at(h);
        const float slope = (line.back() - line.front()) / static_cast<float>(line.size() - 1);
        const auto size = static_cast<double>(std::abs(line.back() - line.front()));
        for (size_t d = 0; d < line.size(); ++d)
            if (std::abs(static_cast<double>(line[d] - line.front() - slope * static_cast<float>(d))) >
                kStraight * std::max(size, 1.0))
                return {};
        slopes.push_back(slope);
    }
    return slopes;
}

} // namespace

PositionPictures positionPictures(const PositionQuery& query) {
    const Lab lab(query);
    PositionPictures pictures{.query = query,
                              .isLearned = lab.isLearned(),
                              .encodings = {},
                              .planes = {},
                              .added = {},
                              .factor = {},
                              .slopes = {},
                              .similarity = {}};
    if (const auto tree = query.spec.part(Slot::Position).position.tree)
        pictures.tree = tree(query.spec.values(Slot::Position));
    if (lab.acts(Stage::Inputs)) {
        ReferenceFlow flow = lab.flow();
        lab.run(flow, Slot::Position, Stage::Inputs);
        pictures.encodings = PlaygroundMap{.name = "encodings",
                                           .heads = 1,
                                           .planes = 1,
                                           .rows = query.tokens,
                                           .columns = query.width,
                                           .values = {flow.stream.data.begin(), flow.stream.data.end()}};
    }
    if (pictures.encodings) pictures.planes = circlesOf(*pictures.encodings);
    if (lab.acts(Stage::QueriesKeys)) pictures.planes = planesOf(lab, query);
    if (lab.acts(Stage::Bias)) addBiases(pictures, lab);
    if (pictures.added) pictures.slopes = slopesOf(*pictures.added);

    ReferenceFlow equal = lab.flow();
    const std::vector<float> vector = gaussianRows(lab.heads(), query.width, 1, streamSeed(query.seed, "equal"));
    for (Dense* x : {&equal.q, &equal.k})
        for (int64_t h = 0; h < lab.heads(); ++h)
            for (int64_t i = 0; i < query.tokens; ++i)
                for (int64_t d = 0; d < query.width; ++d)
                    x->at(h, i, d) = static_cast<double>(vector[static_cast<size_t>(h * query.width + d)]);
    lab.addEncodings(equal);
    lab.run(equal, Slot::Position, Stage::QueriesKeys);
    lab.run(equal, Slot::Score, Stage::Scores);
    lab.run(equal, Slot::Position, Stage::Bias);
    pictures.similarity = lab.byDistance("similarity", equal.scores);
    return pictures;
}

} // namespace attn
