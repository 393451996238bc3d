#include "engine/attention/position/rotary.h"
#include "engine/attention/parts.h"
#include "engine/attention/terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attn {
namespace {

using namespace terms;

constexpr std::array<Param, 7> kParams{
    {{"base", "Base", "Wavelengths grow from 2 pi to nearly this number times 2 pi", Param::Kind::Real, 2, 1e7, 1,
      10000},
     {"fraction", "Fraction", "Share of each head's features that is rotated", Param::Kind::Real, 0.1, 1, 0.1, 1},
     {"interleaved", "Interleaved", "Rotates pairs (2m, 2m+1) as in the paper, not (m, m + R/2) as in most code",
      Param::Kind::Toggle, 0, 1, 1, 0},
     {"stretch", "Stretch", "Divides the angles, so that a longer text turns as far as the trained length did",
      Param::Kind::Real, 1, 64, 0.5, 1},
     {"original", "Original length",
      "The trained length in tokens: pairs that turn often over it are not stretched; 0 stretches all pairs",
      Param::Kind::Integer, 0, 131072, 1, 0},
     {"low", "Low turns", "Pairs with fewer turns over the original length are stretched in full", Param::Kind::Real, 0,
      3, 0.1, 1},
     {"high", "High turns", "Pairs with more turns over the original length are not stretched", Param::Kind::Real, 3.5,
      64, 0.5, 4}}};

/// @source of an odd share of the features: transformers since 4.48, whose frequencies are those of int(D fraction)
///         features and whose pairs are as many as they need; stretch of all pairs: Chen et al. 2023, arXiv:2306.15595;
///         by their turns: apply_scaling in Meta's llama-models
Rotation rotationOf(PartValues values, int64_t width) {
    const int64_t rotated = rotatedFeatures(values.real("fraction"), width), pairs = (rotated + 1) / 2;
    const double stretch = values.real("stretch"), original = values.real("original"), low = values.real("low"),
                 high = values.real("high");
    Rotation rotation{.frequencies = {}, .isInterleaved = values.flag("interleaved")};
    for (int64_t pair = 0; pair < pairs; ++pair) {
        double frequency = std::pow(values.real("base"), -static_cast<double>(2 * pair) / static_cast<double>(rotated));
        const double turns = original * frequency / (2 * std::numbers::pi);
        const double kept = original > 0 ? std::clamp((turns - low) / (high - low), 0.0, 1.0) : 0;
        if (stretch != 1) frequency *= (1 - kept) / stretch + kept;
        rotation.frequencies.push_back(frequency);
    }
    return rotation;
}

/// The rotated pairs of features.
struct Pairs : Rotation {
    Pairs(int64_t width, PartValues values) : Rotation(rotationOf(values, width)) {}

    int64_t count() const { return std::ssize(frequencies); }
    /// The pair of a feature; -1 for features that are not rotated.
    int64_t pairOf(int64_t feature) const {
        if (feature >= 2 * count()) return -1;
        return isInterleaved ? feature / 2 : feature % count();
    }
    int64_t first(int64_t pair) const { return isInterleaved ? 2 * pair : pair; }
    int64_t second(int64_t pair) const { return isInterleaved ? 2 * pair + 1 : pair + count(); }
    double angle(int64_t position, int64_t pair) const {
        return static_cast<double>(position) * frequencies[static_cast<size_t>(pair)];
    }
};

/// x cos + (x with its pairs turned by a quarter) sin. @param x [B,H,rows,D]
Tensor rotated(AttentionFlow& flow, Tensor x, const Pairs& rotation) {
    const int64_t rows = x.shape()[2], D = flow.width;
    std::vector<float> quarter(static_cast<size_t>(D * D), 0); // [D,D]: rows are outputs
    for (int64_t pair = 0; pair < rotation.count(); ++pair) {
        const auto a = static_cast<size_t>(rotation.first(pair)), b = static_cast<size_t>(rotation.second(pair));
        quarter[a * static_cast<size_t>(D) + b] = -1;
        quarter[b * static_cast<size_t>(D) + a] = 1;
    }
    const auto wave = [&](const char* name, double (*of)(double), double unrotated) {
        return flow.byPosition(name, rows, D, [=](int64_t position, int64_t feature) {
            const int64_t pair = rotation.pairOf(feature);
            return pair < 0 ? unrotated : of(rotation.angle(position, pair));
        });
    };
    const Tensor turned = product(x, flow.constant("position.quarter", {D, D}, std::move(quarter)));
    return plus(times(x, wave("position.cosines", std::cos, 1)), times(turned, wave("position.sines", std::sin, 0)));
}

void build(AttentionFlow& flow, PartValues values) {
    const Pairs rotation(flow.width, values);
    if (rotation.count() == 0) return;
    flow.q = rotated(flow, flow.q, rotation);
    flow.k = rotated(flow, flow.k, rotation);
}

void reference(ReferenceFlow& flow, PartValues values) {
    const Pairs rotation(flow.width, values);
    for (Dense* x : {&flow.q, &flow.k})
        for (int64_t h = 0; h < x->extents[0]; ++h)
            for (int64_t i = 0; i < x->extents[1]; ++i)
                for (int64_t pair = 0; pair < rotation.count(); ++pair) {
                    double &a = x->at(h, i, rotation.first(pair)), &b = x->at(h, i, rotation.second(pair));
                    const double angle = rotation.angle(i, pair), before = a;
                    a = before * std::cos(angle) - b * std::sin(angle);
                    b = b * std::cos(angle) + before * std::sin(angle);
                }
}

std::optional<PartProblem> checkPairs(PartValues values, int64_t headWidth) {
    if (rotatedFeatures(values.real("fraction"), headWidth) > 0) return {};
    return PartProblem{
        .sentence =
            fmt::format("rope rotates pairs of features, but this fraction of {} features leaves no pair", headWidth),
        .param = "fraction",
        .value = 1};
}

} // namespace

int64_t rotatedFeatures(double fraction, int64_t width) {
    return std::min(static_cast<int64_t>(fraction * static_cast<double>(width)), width / 2 * 2);
}

const Part kRotaryPosition{
    .id = "rope",
    .slot = Slot::Position,
    .title = "Rotary (RoPE)",
    .idea = "Rotates pairs of features of queries and keys by angles that grow with the position. Their dot product "
            "depends only on the difference of the two angles, so the score depends on the distance.",
    .formula = "s(i,j) = Re[q_i conj(k_j) e^(I (i - j) theta_m)] summed over pairs m, theta_m = N^(-2m/R)",
    .source = {"Su et al.", 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding", "section 3.2 to 3.4",
               "arXiv:2104.09864"},
    .params = kParams,
    .time = "O(T D)",
    .memory = "O(T D)",
    .hooks = {{Stage::QueriesKeys, build, reference}},
    .position = {.isRelative = true, .rotation = rotationOf},
    .checkValues = checkPairs};

} // namespace attn
