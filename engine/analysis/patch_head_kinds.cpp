#include "engine/analysis/patch_head_kinds.h"

#include "engine/analysis/whole_run.h"
#include "engine/core/error.h"
#include "engine/core/rng.h"
#include "engine/inference/vision_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attn {
namespace {

constexpr double kNoSpread = 1e-12; ///< a variance below this share of the squares is rounding

/// The least weight with which an area names a head. It is a quarter, because patches attend more widely than words.
constexpr float kLeastOfAreas = 0.25f;
/// The entropy of an even distribution over 60 % of 200 patches.
constexpr float kLeastEntropy = 0.9f;

std::string offsetTitle(int down, int right) {
    const auto way = [](int by) { return by == 0 ? std::string("0") : fmt::format("{:+}", by); };
    return fmt::format("one offset ({}, {})", way(down), way(right));
}

constexpr std::array<HeadKind, kPatchHeadKinds> kKinds{{
    {.id = "itself",
     .title = "itself",
     .finding = "Patches attend to themselves. Score: the weight on the query's own token.",
     .source = ""},
    {.id = "class_token",
     .title = "CLS",
     .finding = "Patches attend to the class token or the distillation token. Score: the weight on them.",
     .source = ""},
    {.id = "registers",
     .title = "registers",
     .finding = "Patches attend to registers, which are tokens without a place in the picture. Score: the weight on "
                "them.",
     .source = "Darcet et al. 2024, arXiv:2309.16588"},
    {.id = "one_offset",
     .title = "one offset",
     .finding = "Patches attend to the patch at one offset (rows down, columns right). Score: the weight at the "
                "strongest offset.",
     .source = "Cordonnier et al. 2020, arXiv:1911.03584",
     .offsetTitle = offsetTitle},
    {.id = "neighbours",
     .title = "neighbours",
     .finding = "Patches attend to the eight adjacent patches. Score: the weight on them.",
     .source = "local heads of Raghu et al. 2021, arXiv:2108.08810",
     .least = kLeastOfAreas,
     .tier = 1},
    {.id = "row_and_column",
     .title = "row and column",
     .finding = "Patches attend along their row and column. Score: the weight there, without the adjacent patches.",
     .source = "",
     .least = kLeastOfAreas,
     .tier = 1},
    {.id = "positional",
     .title = "positional",
     .finding = "Patches attend to the same places whatever they show. Score: the share of the pattern that stays when "
                "the patches are shuffled.",
     .source = "",
     .least = kLeastOfAreas,
     .tier = 2},
    {.id = "content",
     .title = "content",
     .finding = "Patches attend to patches of similar pixels. Score: the correlation of weight and similarity over "
                "pairs of patches. Nearby patches are often similar, too.",
     .source = "",
     .least = kLeastOfAreas,
     .tier = 2},
    {.id = "whole_picture",
     .title = "whole picture",
     .finding = "Patches attend to the whole picture almost evenly. Score: the entropy of the weights, divided by the "
                "maximum.",
     .source = "global heads of Raghu et al. 2021, arXiv:2108.08810",
     .least = kLeastEntropy,
     .tier = 3},
}};

/// The relation of a key to the query.
enum class Role : uint8_t { Nothing, Itself, ClassToken, Register, Neighbour, Line, Elsewhere };

struct Key {
    Role role = Role::Nothing;
    size_t offset = 0;          ///< index of the offset, if the key is a patch with a place
    bool isPair = false;        ///< the key is another patch
    double even = 0;            ///< its weight in an even distribution over the visible tokens
    double pixelSimilarity = 0; ///< for pairs, minus the query's mean
};

/// Sums over the queries of one head.
struct Tally {
    std::array<double, 7> roles{}; ///< weight by role
    std::vector<double> offsets;   ///< weight by offset
    double entropy = 0;            ///< sum of entropies, each divided by its maximum
    double kept = 0, keptBeyond = 0;
    double covariance = 0, variance = 0, squares = 0; ///< over the weights of pairs
};

class LayerTally {
public:
    LayerTally(const SitePattern& pattern, const PatchHeadSite& layer)
        : pattern_(pattern), layer_(layer), columns_(2 * layer.grid.width - 1),
          heads_(static_cast<size_t>(pattern.heads)) {
        for (Tally& tally : heads_) tally.offsets.assign(offsets(), 0);
        even_.offsets.assign(offsets(), 0);
        pattern.layout.forRows([&](int64_t query, int64_t first, std::span<const int32_t> keys) {
            if (query >= pattern_.layout.prefix) add(query, first, keys);
        });
    }

    HeadScores scoresOf(int head) const {
        const Tally& tally = heads_[static_cast<size_t>(head)];
        HeadScores found(0, head, kKinds);
        const auto set = [&](PatchHeadKind kind, double score, double beyond) {
            found.scores[static_cast<size_t>(kind)] = static_cast<float>(std::clamp(score, 0.0, 1.0));
            found.beyond[static_cast<size_t>(kind)] = static_cast<float>(std::clamp(beyond, 0.0, 1.0));
        };
        const auto setShare = [&](PatchHeadKind kind, double sum, double evenSum) {
            const double share = sum / queries_, even = evenSum / queries_;
            set(kind, share, even < 1 ? (share - even) / (1 - even) : 0);
        };
        const auto setRole = [&](PatchHeadKind kind, Role role) {
            setShare(kind, tally.roles[static_cast<size_t>(role)], even_.roles[static_cast<size_t>(role)]);
        };
        if (queries_ == 0) return found;
        setRole(PatchHeadKind::Itself, Role::Itself);
        if (layer_.classTokens > 0) setRole(PatchHeadKind::ClassToken, Role::ClassToken);
        if (pattern_.layout.prefix > layer_.classTokens) setRole(PatchHeadKind::Registers, Role::Register);
        if (layer_.grid.area() > 0) {
            setRole(PatchHeadKind::Neighbours, Role::Neighbour);
            setRole(PatchHeadKind::RowAndColumn, Role::Line);
            const auto largest = std::ranges::max_element(tally.offsets);
            setShare(PatchHeadKind::OneOffset, *largest, std::ranges::max(even_.offsets));
            const int64_t at = largest - tally.offsets.begin();
            found.down = static_cast<int>(at / columns_ - (layer_.grid.height - 1));
            found.right = static_cast<int>(at % columns_ - (layer_.grid.width - 1));
        }
        if (!layer_.shuffled.empty())
            set(PatchHeadKind::Positional, tally.kept / queries_, spread_ > 0 ? tally.keptBeyond / spread_ : 0);
        if (similarityVariance_ > kNoSpread * similaritySquares_) {
            const double correlation = tally.variance > kNoSpread * tally.squares
                                           ? tally.covariance / std::sqrt(tally.variance * similarityVariance_)
                                           : 0;
            set(PatchHeadKind::Content, correlation, correlation);
        }
        if (spread_ > 0) set(PatchHeadKind::WholePicture, tally.entropy / spread_, tally.entropy / spread_);
        // The rest of almost even weights may correlate with similarity by chance.
        if (found.of(PatchHeadKind::WholePicture) >= kLeastEntropy && !std::isnan(found.of(PatchHeadKind::Content)))
            found.beyond[static_cast<size_t>(PatchHeadKind::Content)] = 0;
        return found;
    }

private:
    size_t offsets() const {
        return layer_.grid.area() > 0 ? static_cast<size_t>(columns_ * (2 * layer_.grid.height - 1)) : 0;
    }

    void add(int64_t query, int64_t first, std::span<const int32_t> tokens) {
        const size_t seen = describe(query, first, tokens);
        ++queries_;
        if (seen > 1) ++spread_;
        std::vector<double> row(keys_.size());
        for (int head = 0; head < pattern_.heads; ++head) {
            const size_t at = pattern_.at(head, first);
            for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<double>(pattern_.values[at + i]);
            Tally& tally = heads_[static_cast<size_t>(head)];
            addPlaces(tally, row);
            addSpread(tally, row, seen);
            if (!layer_.shuffled.empty()) addKept(tally, row, layer_.shuffled.subspan(at, row.size()), seen);
            addPairs(tally, row);
        }
        for (size_t i = 0; i < row.size(); ++i) row[i] = keys_[i].even;
        addPlaces(even_, row);
    }

    /// Fills keys_. @return the number of tokens that the query sees
    size_t describe(int64_t query, int64_t first, std::span<const int32_t> tokens) {
        const LayerLayout& layout = pattern_.layout;
        keys_.assign(tokens.size(), {});
        const auto isSeen = [&](size_t i) {
            if (!layout.windows) return true;
            const auto place = static_cast<size_t>(first / layout.windows->length());
            const size_t window = place / tokens.size() * tokens.size();
            return layout.windows->regions[window + i] == layout.windows->regions[place];
        };
        size_t seen = 0, pairs = 0;
        double pixelSimilarity = 0;
        for (size_t i = 0; i < tokens.size(); ++i) {
            Key& key = keys_[i];
            place(key, query, tokens[i]);
            if (!isSeen(i)) continue;
            ++seen;
            key.even = 1;
            key.isPair = !layer_.pixelSimilarity.empty() && tokens[i] >= layout.prefix && tokens[i] != query;
            if (!key.isPair) continue;
            key.pixelSimilarity = static_cast<double>(layer_.pixelSimilarity[static_cast<size_t>(first) + i]);
            pixelSimilarity += key.pixelSimilarity;
            ++pairs;
        }
        for (Key& key : keys_) {
            key.even /= static_cast<double>(seen);
            if (!key.isPair) continue;
            similaritySquares_ += key.pixelSimilarity * key.pixelSimilarity;
            key.pixelSimilarity -= pixelSimilarity / static_cast<double>(pairs);
            similarityVariance_ += key.pixelSimilarity * key.pixelSimilarity;
        }
        return seen;
    }

    void place(Key& key, int64_t query, int64_t token) const {
        const int64_t prefix = pattern_.layout.prefix, width = layer_.grid.width;
        if (token < 0) return;
        key.role = token == query               ? Role::Itself
                   : token < layer_.classTokens ? Role::ClassToken
                   : token < prefix             ? Role::Register
                                                : Role::Elsewhere;
        if (key.role != Role::Elsewhere || layer_.grid.area() == 0) return;
        const int64_t down = (token - prefix) / width - (query - prefix) / width;
        const int64_t right = (token - prefix) % width - (query - prefix) % width;
        if (std::max(std::abs(down), std::abs(right)) == 1)
            key.role = Role::Neighbour;
        else if (down == 0 || right == 0)
            key.role = Role::Line;
        key.offset = static_cast<size_t>((down + layer_.grid.height - 1) * columns_ + right + width - 1);
    }

    void addPlaces(Tally& tally, std::span<const double> row) const {
        for (size_t i = 0; i < row.size(); ++i) {
            const Key& key = keys_[i];
            tally.roles[static_cast<size_t>(key.role)] += row[i];
            if (key.role >= Role::Neighbour && !tally.offsets.empty()) tally.offsets[key.offset] += row[i];
        }
    }

    static void addSpread(Tally& tally, std::span<const double> row, size_t seen) {
        if (seen < 2) return;
        double entropy = 0;
        for (const double weight : row) entropy -= weight > 0 ? weight * std::log(weight) : 0;
        tally.entropy += entropy / std::log(static_cast<double>(seen));
    }

    void addKept(Tally& tally, std::span<const double> row, std::span<const float> shuffled, size_t seen) const {
        double apart = 0, beyond = 0;
        for (size_t i = 0; i < row.size(); ++i) {
            const double other = static_cast<double>(shuffled[i]);
            apart += std::abs(row[i] - other) / 2;
            beyond += std::max(0.0, std::min(row[i], other) - keys_[i].even);
        }
        tally.kept += 1 - apart;
        if (seen > 1) tally.keptBeyond += beyond / (1 - 1 / static_cast<double>(seen));
    }

    void addPairs(Tally& tally, std::span<const double> row) const {
        double sum = 0, pairs = 0;
        for (size_t i = 0; i < row.size(); ++i)
            if (keys_[i].isPair) {
                sum += row[i];
                ++pairs;
            }
        for (size_t i = 0; i < row.size(); ++i) {
            if (!keys_[i].isPair) continue;
            const double weight = row[i] - sum / pairs;
            tally.squares += row[i] * row[i];
            tally.variance += weight * weight;
            tally.covariance += weight * keys_[i].pixelSimilarity;
        }
    }

    const SitePattern& pattern_;
    const PatchHeadSite& layer_;
    int64_t columns_; ///< number of horizontal offsets
    std::vector<Tally> heads_;
    Tally even_;            ///< tally of an even distribution
    std::vector<Key> keys_; ///< keys of the current query
    double queries_ = 0;    ///< number of patches
    double spread_ = 0;     ///< number of patches that see more than one token
    double similarityVariance_ = 0, similaritySquares_ = 0;
};

/// The patches, permuted by shuffledOrder().
std::vector<float> shuffledPatches(std::span<const float> patches, int count, uint64_t seed) {
    const size_t width = patches.size() / static_cast<size_t>(count);
    std::vector<float> shuffled;
    shuffled.reserve(patches.size());
    for (const int from : shuffledOrder(count, seed)) {
        const auto patch = patches.subspan(static_cast<size_t>(from) * width, width);
        shuffled.insert(shuffled.end(), patch.begin(), patch.end());
    }
    return shuffled;
}

} // namespace

std::span<const HeadKind> patchHeadKinds() { return kKinds; }

std::vector<HeadScores> patchHeadScores(const SitePattern& pattern, const PatchHeadSite& layer) {
    pattern.requireWhole();
    const LayerTally tally(pattern, layer);
    std::vector<HeadScores> scores;
    for (int head = 0; head < pattern.heads; ++head) scores.push_back(tally.scoresOf(head));
    return scores;
}

std::vector<float> patchSimilarity(const LayerLayout& layout, std::span<const float> patches) {
    const size_t width = patches.size() / layout.tokenOf.size(), tokens = static_cast<size_t>(layout.tokens);
    std::vector<float> means(tokens * width, 0), members(tokens, 0);
    for (const int32_t token : layout.tokenOf) ++members[static_cast<size_t>(token)];
    for (size_t patch = 0; patch < layout.tokenOf.size(); ++patch) {
        const auto token = static_cast<size_t>(layout.tokenOf[patch]);
        for (size_t i = 0; i < width; ++i) means[token * width + i] += patches[patch * width + i] / members[token];
    }
    std::vector<float> pixelSimilarity(static_cast<size_t>(layout.cells()), 0);
    layout.forRows([&](int64_t query, int64_t first, std::span<const int32_t> keys) {
        const auto own = std::span(means).subspan(static_cast<size_t>(query) * width, width);
        for (size_t i = 0; query >= layout.prefix && i < keys.size(); ++i) {
            if (keys[i] < layout.prefix) continue;
            const float* other = means.data() + static_cast<size_t>(keys[i]) * width;
            float sum = 0;
            for (size_t at = 0; at < width; ++at) sum += (own[at] - other[at]) * (own[at] - other[at]);
            pixelSimilarity[static_cast<size_t>(first) + i] = -std::sqrt(sum / static_cast<float>(width));
        }
    });
    return pixelSimilarity;
}

std::vector<int> shuffledOrder(int count, uint64_t seed) {
    std::vector<int> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    for (size_t left = order.size(); left > 1; --left)
        std::swap(order[left - 1], order[static_cast<size_t>(uniform(seed, left) * static_cast<double>(left))]);
    return order;
}

HeadDetection detectOnPatches(VisionModel& model, const Input& picture, uint64_t seed,
                              const std::function<void(float share)>& report) {
    const ModelSpec& config = model.config();
    const std::vector<SitePattern> patterns = wholePatterns(model, picture);
    report(0.3f);
    const std::vector<SitePattern> shuffled =
        wholePatterns(model, shuffledPatches(picture.patches(), static_cast<int>(config.patches.grid().area()), seed));
    HeadDetection result;
    result.kinds = kKinds;
    result.leastAlike = 0.9f; // a lower limit would put all wide heads of few patches in one group
    std::vector<float> pixelSimilarity;
    for (size_t layer = 0; layer < patterns.size(); ++layer) {
        report(0.6f + 0.4f * static_cast<float>(layer) / static_cast<float>(patterns.size()));
        const SitePattern& pattern = patterns[layer];
        if (pattern.values.empty()) continue;
        const ImageSize own = config.patches.gridOf(static_cast<int64_t>(layer));
        // Tokens that were merged differ from picture to picture.
        const bool isPooled = pattern.layout.tokens != pattern.layout.prefix + own.area();
        const ImageSize grid = isPooled ? ImageSize{} : own;
        const bool isAsBefore = layer > 0 && !pixelSimilarity.empty() && !pattern.layout.windows &&
                                !patterns[layer - 1].layout.windows &&
                                patterns[layer - 1].layout.tokenOf == pattern.layout.tokenOf;
        if (!isAsBefore) pixelSimilarity = patchSimilarity(pattern.layout, picture.patches());
        result.add(patchHeadScores(pattern, {.grid = grid,
                                             .classTokens = config.patches.positioned(),
                                             .pixelSimilarity = pixelSimilarity,
                                             .shuffled = isPooled ? std::span<const float>()
                                                                  : std::span<const float>(shuffled[layer].values)}),
                   patchHeadPrints(pattern, config.patches.grid(), grid, config.patches.positioned()),
                   model.info().structure, static_cast<int>(layer));
    }
    return result;
}

} // namespace attn
