#include "engine/attention/position/dependency_tree.h"

#include "engine/attention/attention_spec.h"
#include "engine/attention/part.h"
#include "engine/attention/parts.h"
#include "engine/attention/position/sinusoid.h"
#include "engine/attention/terms.h"
#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <system_error>

// Positions in a dependency tree that is given with the sentence: the depth of a word, and where two words lie to one
// another.

namespace attn {

DependencyTree::DependencyTree(std::span<const double> parents, int64_t leading) : leading_(leading) {
    if (const auto problem = problemOf(parents))
        throw Error({.what = problem->sentence,
                     .where = "dependency tree",
                     .hint = fmt::format("the nearest tree is {}", fmt::join(problem->nearest, ", "))});
    for (int64_t token = 0; token < leading; ++token) parents_.push_back(token);
    for (const double parent : parents)
        parents_.push_back(parent > 0 ? leading + static_cast<int64_t>(parent) - 1 : std::ssize(parents_));
    for (int64_t word = 0; word < end(); ++word) {
        int64_t depth = 0;
        for (int64_t at = word; parentOf(at) != at; at = parentOf(at)) ++depth;
        depths_.push_back(depth);
    }
}

bool DependencyTree::isAbove(int64_t upper, int64_t lower) const {
    while (depthOf(lower) > depthOf(upper)) lower = parentOf(lower);
    return lower == upper;
}

int64_t DependencyTree::relative(int64_t i, int64_t j) const {
    if (isAbove(i, j) || isAbove(j, i)) return depthOf(i) - depthOf(j);
    const int64_t sum = depthOf(i) + depthOf(j);
    return i > j ? sum : -sum;
}

void DependencyTree::write(int64_t first, int64_t tokens, std::span<int32_t> depths,
                           std::span<int32_t> relations) const {
    const int64_t S = std::ssize(relations) / tokens;
    for (size_t to = 0; to < depths.size(); ++to) {
        const int64_t token = first + static_cast<int64_t>(to);
        depths[to] = holds(token) ? static_cast<int32_t>(depthOf(token)) : kNoDepth;
    }
    for (size_t to = 0; to < relations.size(); ++to) {
        const int64_t i = first + static_cast<int64_t>(to) / S, j = static_cast<int64_t>(to) % S;
        relations[to] = holds(i) && holds(j) ? static_cast<int32_t>(relative(i, j)) : kNoRelation;
    }
}

std::optional<TreeProblem> problemOf(std::span<const double> parents) {
    const int64_t size = std::ssize(parents);
    std::vector<double> nearest(parents.begin(), parents.end());
    const auto at = [&](int64_t word) -> double& { return nearest[static_cast<size_t>(word)]; };
    std::string sentence;
    const auto say = [&](std::string text) {
        if (sentence.empty()) sentence = std::move(text);
    };
    for (int64_t word = 0; word < size; ++word)
        if (at(word) > static_cast<double>(size)) {
            say(fmt::format("word {} depends on word {}, but the tree has {} word{}", word + 1, at(word), size,
                            size == 1 ? "" : "s"));
            at(word) = 0;
        } else if (at(word) == static_cast<double>(word + 1)) {
            say(fmt::format("word {} depends on itself; only the root depends on no word, which is written 0",
                            word + 1));
            at(word) = 0;
        }
    // A way up that is longer than the tree goes in a circle.
    for (int64_t word = 0; word < size; ++word) {
        int64_t up = word;
        for (int64_t steps = 0; steps < size && at(up) > 0; ++steps) up = static_cast<int64_t>(at(up)) - 1;
        if (at(up) == 0) continue;
        say(fmt::format("word {} depends on itself through other words: follow the numbers from word {}", up + 1,
                        up + 1));
        at(up) = 0;
    }
    const auto root = std::ranges::find(nearest, 0.0) - nearest.begin();
    for (int64_t word = root + 1; word < size; ++word)
        if (at(word) == 0) {
            say(fmt::format("words {} and {} are both roots (0), but a tree has one root", root + 1, word + 1));
            at(word) = static_cast<double>(root + 1);
        }
    if (sentence.empty()) return {};
    return TreeProblem{std::move(sentence), std::move(nearest)};
}

int64_t treeEnd(const AttentionSpec& spec) {
    const auto tree = spec.part(Slot::Position).position.tree;
    return tree ? tree(spec.values(Slot::Position)).end() : 0;
}

std::optional<std::vector<int32_t>> parentsFrom(std::string_view text) {
    std::vector<int32_t> parents;
    const auto skipSpaces = [&] { text.remove_prefix(std::min(text.find_first_not_of(' '), text.size())); };
    for (;;) {
        skipSpaces();
        int32_t number = -1;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc() || number < 0 || number > DependencyTree::kMostWords) return {};
        parents.push_back(number);
        text.remove_prefix(static_cast<size_t>(end - text.data()));
        skipSpaces();
        if (text.empty()) return parents;
        if (text.front() == ',') text.remove_prefix(1);
    }
}

DependencyTree treeOfText(const AttentionSpec& spec, std::span<const int32_t> parents) {
    DependencyTree own = spec.part(Slot::Position).position.tree(spec.values(Slot::Position));
    if (parents.empty()) return own;
    if (std::ssize(parents) > DependencyTree::kMostWords)
        throw Error({.what = fmt::format("the tree has {} words", parents.size()),
                     .where = "dependency tree",
                     .hint = fmt::format("choose at most {}", DependencyTree::kMostWords)});
    return DependencyTree(std::vector<double>(parents.begin(), parents.end()), own.leading());
}

void requireWords(const AttentionSpec& spec, int64_t tokens, std::string_view where) {
    if (spec.part(Slot::Position).position.tree) requireWords(treeOfText(spec, {}), tokens, where);
}

void requireWords(const DependencyTree& tree, int64_t tokens, std::string_view where) {
    const int64_t end = tree.end();
    if (tokens >= end) return;
    throw Error({.what = fmt::format("the tree ends at token {}, but the text has {} token{}", end, tokens,
                                     tokens == 1 ? "" : "s"),
                 .where = std::string(where),
                 .hint = "give a token for each word of the tree, or the tree of this text, such as tree = 2, 0, 2 for "
                         "three words"});
}

namespace {

using namespace terms;

constexpr std::array kParams{
    Param{"clip", "Clip", "Larger relative positions share the row of this one", Param::Kind::Integer, 1, 64, 1, 4},
    Param{"depth", "Depth", "Adds the sinusoid of a word's depth in the tree to the word", Param::Kind::Toggle, 0, 1, 1,
          1},
    Param{"leading", "Leading tokens", "Tokens before the first word, such as [CLS]: they are not in the tree",
          Param::Kind::Integer, 0, 64, 1, 0},
    Param{"tree", "Tree",
          "For each word, the number of the word it depends on, counted from 1; 0 for the root. This is the column "
          "HEAD of "
          "CoNLL-U",
          Param::Kind::Integer, 0, DependencyTree::kMostWords, 1, 0}};

constexpr const char *kKeys = "position.keys", *kValues = "position.values";

DependencyTree treeOf(PartValues values) { return DependencyTree(values.list("tree"), values.integer("leading")); }

/// Feature of the sinusoid of a token's depth; 0 outside of the tree.
double depthFeature(const DependencyTree& tree, int64_t token, int64_t feature, int64_t width) {
    return tree.holds(token) ? sinusoid(tree.depthOf(token), feature, width, 10000) : 0;
}
/// Row of the tables for a query and a key; -1 if one of them is not in the tree.
int64_t rowOf(const DependencyTree& tree, int64_t clip, int64_t t, int64_t s) {
    return tree.holds(t) && tree.holds(s) ? std::clamp(tree.relative(t, s), -clip, clip) + clip : -1;
}

void buildDepth(AttentionFlow& flow, PartValues values) {
    if (flow.layer > 0 || !values.flag("depth")) return;
    const int64_t width = flow.stream.shape()[-1];
    if (!flow.treeDepths) {
        flow.stream = plus(flow.stream, flow.byPosition("position.depth", flow.stream.shape()[-2], width,
                                                        [tree = treeOf(values), width](int64_t token, int64_t d) {
                                                            return depthFeature(tree, token, d, width);
                                                        }));
        return;
    }
    constexpr int64_t kDepths = DependencyTree::kMostWords;
    const Tensor sinusoids = flow.table(flow.prefix + ".position.depths#", {kDepths, width}, [width] {
        std::vector<float> numbers;
        for (int64_t depth = 0; depth < kDepths; ++depth)
            for (int64_t d = 0; d < width; ++d) numbers.push_back(static_cast<float>(sinusoid(depth, d, width, 10000)));
        return numbers;
    });
    flow.stream = plus(flow.stream, reshape(take(sinusoids, flow.treeDepths), flow.stream.shape()));
}
void referenceDepth(ReferenceFlow& flow, PartValues values) {
    if (flow.layer > 0 || !values.flag("depth")) return;
    const DependencyTree tree = treeOf(values);
    for (int64_t i = 0; i < flow.stream.extents[0]; ++i)
        for (int64_t d = 0; d < flow.stream.extents[1]; ++d)
            flow.stream.at(i, d) += depthFeature(tree, i, d, flow.stream.extents[1]);
}

/// The row of a learned table for every cell; zeros outside of the tree. @return [B T,S,D]
Tensor rowsByCell(AttentionFlow& flow, const char* name, PartValues values) {
    const int64_t clip = values.integer("clip"), B = flow.batch, T = flow.queries, S = flow.keys;
    const Tensor table = flow.parameter(name, {2 * clip + 1, flow.width}, {InitialValue::Kind::Normal});
    Tensor rows;
    if (flow.treeRelations) {
        const Tensor relations = toReal(flow.treeRelations);
        const Tensor isKnown = binary(relations, fill(flow.graph, {1}, DependencyTree::kNoRelation), Binary::Less);
        const auto reach = static_cast<double>(clip);
        rows = select(isKnown, affine(clamp(relations, -reach, reach), 1, reach), fill(flow.graph, {1}, -1));
    } else {
        const Tensor cells = flow.byCell("position.tree_rows", [tree = treeOf(values), clip](int64_t t, int64_t s) {
            return static_cast<double>(rowOf(tree, clip, t, s));
        });
        rows = broadcast(reshape(cells, {1, T, S}), {B, T, S});
    }
    return reshape(take(table, indices(rows)), {B * T, S, flow.width});
}
/// Products that differ from query to query. @param x [B,H,T,K]  @param mix of [B T,H,K]  @return [B,H,T,N]
Tensor byQuery(Tensor x, const std::function<Tensor(Tensor)>& mix) {
    const int64_t B = x.shape()[0], H = x.shape()[1], T = x.shape()[2];
    const Tensor mixed = mix(reshape(permute(x, {0, 2, 1, 3}), {B * T, H, x.shape()[3]}));
    return permute(reshape(mixed, {B, T, H, mixed.shape()[-1]}), {0, 2, 1, 3});
}

void buildKeys(AttentionFlow& flow, PartValues values) {
    const Tensor rows = rowsByCell(flow, kKeys, values);
    const Tensor term = affine(byQuery(flow.q, [&](Tensor q) { return product(q, rows); }), flow.scoreScale(), 0);
    flow.show("tree.keys", term);
    flow.addToScores("tree.keys", term);
}
void buildValues(AttentionFlow& flow, PartValues values) {
    const Tensor rows = rowsByCell(flow, kValues, values);
    flow.z = plus(flow.z, byQuery(flow.pattern, [&](Tensor weights) { return batchedMatmul(weights, rows); }));
}

/// Calls `add` for every cell in the tree and every feature, with the row of the tables.
template <class Add> void forCells(const ReferenceFlow& flow, PartValues values, Add&& add) {
    const DependencyTree tree = treeOf(values);
    const int64_t clip = values.integer("clip");
    for (int64_t t = 0; t < flow.queries; ++t)
        for (int64_t s = 0; s < flow.keys; ++s)
            if (const int64_t row = rowOf(tree, clip, t, s); row >= 0)
                for (int64_t h = 0; h < flow.heads; ++h)
                    for (int64_t d = 0; d < flow.width; ++d) add(h, t, s, d, row);
}
void referenceKeys(ReferenceFlow& flow, PartValues values) {
    const Dense& table = flow.parameters.at(kKeys);
    forCells(flow, values, [&](int64_t h, int64_t t, int64_t s, int64_t d, int64_t row) {
        flow.scores.at(h, t, s) += flow.scoreScale() * flow.q.at(h, t, d) * table.at(row, d);
    });
}
void referenceValues(ReferenceFlow& flow, PartValues values) {
    const Dense& table = flow.parameters.at(kValues);
    forCells(flow, values, [&](int64_t h, int64_t t, int64_t s, int64_t d, int64_t row) {
        flow.z.at(h, t, d) += flow.pattern.at(h, t, s) * table.at(row, d);
    });
}

} // namespace

const Part kDependencyTreePosition{
    .id = "dependency_tree",
    .slot = Slot::Position,
    .title = "Positions in a dependency tree",
    .idea =
        "A position is a place in the tree of a sentence, which is given: the sinusoid of a word's depth is added "
        "to the word, and a learned row for where two words lie to one another is added to key and value, as in "
        "Shaw. On one path to the root this is the difference of their depths, elsewhere the sum, with the sign of "
        "their order. Differences from the paper: the tree alone says positions, not beside the order of words, and "
        "the depth is added, not mixed in by a learned layer.",
    .formula = "s(i,j) = q_i . (k_j + aK[clip(r_ij)]) / sqrt(D); z_i = sum_j A(i,j) (v_j + aV[clip(r_ij)]); "
               "r_ij = d_i - d_j on one path; else sign(i - j) (d_i + d_j)",
    .source = {"Wang et al.", 2019, "Self-Attention with Structural Position Representations", "section 3",
               "arXiv:1909.00383"},
    .params = kParams,
    .time = "O(T S D)",
    .memory = "O(T S D) and O(clip D) parameters",
    .whole = "heads=multi_head(2), position=dependency_tree",
    .hooks = {{Stage::Inputs, buildDepth, referenceDepth},
              {Stage::Bias, buildKeys, referenceKeys},
              {Stage::Output, buildValues, referenceValues}},
    .position = {.tree = treeOf},
    .takesList = true,
    .initialList = kExampleTree,
    .checkValues = [](PartValues values, int64_t) -> std::optional<PartProblem> {
        auto problem = problemOf(values.list("tree"));
        if (!problem) return {};
        return PartProblem{
            .sentence = std::move(problem->sentence), .param = "tree", .list = std::move(problem->nearest)};
    },
    .actsOnScores = true};

} // namespace attn
