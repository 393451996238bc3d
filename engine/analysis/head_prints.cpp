#include "engine/analysis/head_prints.h"

#include "engine/analysis/overlap.h"

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr int64_t kOffsetSide = 2 * HeadPrint::kReach + 1;
constexpr int64_t kFurther = kOffsetSide * kOffsetSide;

/// [from][to]: the share of each of `from` equal intervals that lies in each of `to` intervals. Rows sum to 1.
std::vector<std::vector<double>> sharesOf(int64_t from, int64_t to) {
    std::vector<std::vector<double>> shares(static_cast<size_t>(from), std::vector<double>(static_cast<size_t>(to), 0));
    for (int64_t part = 0; part < from; ++part)
        for (int64_t into = 0; into < to;
             ++into) { // units in which each source interval has length `to` and each target interval length `from`
            const int64_t both = std::min((part + 1) * to, (into + 1) * from) - std::max(part * to, into * from);
            shares[static_cast<size_t>(part)][static_cast<size_t>(into)] =
                static_cast<double>(std::max<int64_t>(0, both)) / static_cast<double>(to);
        }
    return shares;
}

/// The shares for the cells of grids: [from, to].
std::vector<std::vector<double>> sharesOf(ImageSize from, ImageSize to) {
    const auto down = sharesOf(from.height, to.height), right = sharesOf(from.width, to.width);
    std::vector<std::vector<double>> shares;
    for (const auto& y : down)
        for (const auto& x : right) {
            auto& row = shares.emplace_back();
            for (const double a : y)
                for (const double b : x) row.push_back(a * b);
        }
    return shares;
}

/// The weights, pooled into areas of at least their present size.
std::vector<float> inAreas(const HeadPrint& print, ImageSize areas) {
    if (print.areas == areas) return print.weights;
    const auto from = static_cast<size_t>(print.areas.area()), to = static_cast<size_t>(areas.area());
    const auto shares = sharesOf(print.areas, areas);
    std::vector<double> sums(to * (to + 2), 0), queries(to, 0);
    for (size_t query = 0; query < from; ++query)
        for (size_t row = 0; row < to; ++row) {
            const double part = shares[query][row];
            if (part == 0) continue;
            queries[row] += part;
            for (size_t key = 0; key < from + 2; ++key) {
                const double weight = part * static_cast<double>(print.weights[query * (from + 2) + key]);
                if (key >= from)
                    sums[row * (to + 2) + to + key - from] += weight;
                else
                    for (size_t column = 0; column < to; ++column)
                        sums[row * (to + 2) + column] += weight * shares[key][column];
            }
        }
    std::vector<float> weights;
    for (size_t at = 0; at < sums.size(); ++at)
        weights.push_back(static_cast<float>(sums[at] / queries[at / (to + 2)]));
    return weights;
}

} // namespace

std::vector<HeadPrint> textHeadPrints(const SitePattern& pattern) {
    const int64_t tokens = pattern.layout.tokens;
    std::vector<HeadPrint> prints;
    for (int head = 0; head < pattern.heads; ++head) {
        const auto cells = pattern.values.begin() + head * tokens * tokens;
        prints.push_back(
            {.areas = {.height = 1, .width = tokens}, .weights = {cells, cells + tokens * tokens}, .offsets = {}});
    }
    return prints;
}

std::vector<HeadPrint> patchHeadPrints(const SitePattern& pattern, ImageSize patches, ImageSize grid,
                                       int64_t classTokens) {
    pattern.requireWhole();
    const LayerLayout& layout = pattern.layout;
    const ImageSize areas{.height = std::min(patches.height, HeadPrint::kMostAreas),
                          .width = std::min(patches.width, HeadPrint::kMostAreas)};
    const auto count = static_cast<size_t>(areas.area());
    // The number of patches of each token in each area.
    struct Piece {
        size_t area = 0;
        double patches = 0;
    };
    const auto shares = sharesOf(patches, areas);
    std::vector<std::vector<Piece>> partsOf(static_cast<size_t>(layout.tokens));
    std::vector<double> members(static_cast<size_t>(layout.tokens), 0), inArea(count, 0);
    for (size_t patch = 0; patch < layout.tokenOf.size(); ++patch) {
        const auto token = static_cast<size_t>(layout.tokenOf[patch]);
        ++members[token];
        for (size_t area = 0; area < count; ++area) {
            const double share = shares[patch][area];
            if (share == 0) continue;
            inArea[area] += share;
            const auto part = std::ranges::find(partsOf[token], area, &Piece::area);
            if (part == partsOf[token].end())
                partsOf[token].push_back({area, share});
            else
                part->patches += share;
        }
    }
    struct Sums {
        std::vector<double> weights, offsets;
    };
    std::vector<Sums> heads(static_cast<size_t>(pattern.heads),
                            {std::vector<double>(count * (count + 2), 0),
                             std::vector<double>(grid.area() > 0 ? static_cast<size_t>(kFurther + 1) : 0, 0)});
    double queries = 0;
    layout.forRows([&](int64_t query, int64_t first, std::span<const int32_t> keys) {
        if (query < layout.prefix) return;
        ++queries;
        std::vector<size_t> offset(keys.size(), static_cast<size_t>(kFurther));
        for (size_t i = 0; grid.area() > 0 && i < keys.size(); ++i) {
            if (keys[i] < layout.prefix) continue;
            const int64_t from = query - layout.prefix, to = keys[i] - layout.prefix;
            const int64_t down = to / grid.width - from / grid.width, right = to % grid.width - from % grid.width;
            if (std::max(std::abs(down), std::abs(right)) <= HeadPrint::kReach)
                offset[i] = static_cast<size_t>((down + HeadPrint::kReach) * kOffsetSide + right + HeadPrint::kReach);
        }
        std::vector<double> row(count + 2);
        for (int head = 0; head < pattern.heads; ++head) {
            Sums& sums = heads[static_cast<size_t>(head)];
            std::ranges::fill(row, 0);
            const size_t at = pattern.at(head, first);
            for (size_t i = 0; i < keys.size(); ++i) {
                const double weight = static_cast<double>(pattern.values[at + i]);
                if (!sums.offsets.empty()) sums.offsets[offset[i]] += weight;
                if (keys[i] < layout.prefix) {
                    row[count + (keys[i] >= 0 && keys[i] < classTokens ? 0 : 1)] += weight;
                    continue;
                }
                const auto key = static_cast<size_t>(keys[i]);
                for (const Piece& part : partsOf[key]) row[part.area] += weight * part.patches / members[key];
            }
            for (const Piece& part : partsOf[static_cast<size_t>(query)])
                for (size_t column = 0; column < row.size(); ++column)
                    sums.weights[part.area * row.size() + column] += part.patches * row[column];
        }
    });
    std::vector<HeadPrint> prints;
    for (const Sums& sums : heads) {
        HeadPrint& print = prints.emplace_back();
        print.areas = areas;
        for (size_t at = 0; at < sums.weights.size(); ++at)
            print.weights.push_back(static_cast<float>(sums.weights[at] / inArea[at / (count + 2)]));
        for (const double sum : sums.offsets) print.offsets.push_back(static_cast<float>(sum / queries));
    }
    return prints;
}

float similarity(const HeadPrint& a, const HeadPrint& b) {
    const ImageSize areas{.height = std::min(a.areas.height, b.areas.height),
                          .width = std::min(a.areas.width, b.areas.width)};
    const double places = overlap(inAreas(a, areas), inAreas(b, areas)) / static_cast<double>(areas.area());
    if (a.offsets.empty() || b.offsets.empty()) return static_cast<float>(places);
    return static_cast<float>((places + overlap(a.offsets, b.offsets)) / 2);
}

} // namespace attn
