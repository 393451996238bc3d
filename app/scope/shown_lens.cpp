#include "app/scope/shown_lens.h"

#include "engine/attention/random_features.h"
#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace attn::scope {
namespace {

constexpr double kFrameMs = 30; // of work for a picture, between two frames

int64_t bytesOf(const ShownLens::Size& size) { return 2 * size.tokens * size.heads * size.width * 4; }

void requireRoom(const gpu::Context& context, const ShownLens::Size& size) {
    const auto free = static_cast<int64_t>(context.freeBytes());
    if (bytesOf(size) <= free / 2) return;
    const int64_t perToken = bytesOf(size) / size.tokens;
    throw Error({.what = fmt::format("queries and keys of {} tokens take {} MiB and {} has {} MiB free", size.tokens,
                                     bytesOf(size) >> 20, context.traits().name, free >> 20),
                 .where = "--random",
                 .hint = fmt::format("{} tokens would fit", free / 2 / perToken)});
}

} // namespace

ShownLens::ShownLens(std::unique_ptr<gpu::Context> context, const Size& size, int head)
    : context_(std::move(context)), size_(size), head_(head),
      name_(fmt::format("random queries and keys, {} heads of {}", size.heads, size.width)) {
    if (head < 0 || head >= size.heads)
        throw Error({.what = fmt::format("head {} does not exist: there are {}", head, size.heads),
                     .where = "--head",
                     .hint = fmt::format("choose 0 to {}", size.heads - 1)});
    requireRoom(*context_, size);
    kernels_ = std::make_unique<KernelLibrary>(*context_);
    store_ = std::make_unique<TensorStore>(*context_);
    const Shape shape{size.tokens, size.heads, size.width};
    store_->reserve({{"q", shape}, {"k", shape}});
    store_->writeDense("q", gaussianRows(size.tokens * size.heads, size.width, 1, 1));
    store_->writeDense("k", gaussianRows(size.tokens * size.heads, size.width, 1, 2));
    lens_ = std::make_unique<AttentionLens>(
        *context_, *kernels_, *store_,
        LensSource{.q = "q",
                   .k = "k",
                   .positions = {},
                   .rule = {.scale = 1 / std::sqrt(static_cast<double>(size.width)), .causal = true},
                   .slopes = {},
                   .capacity = size.tokens,
                   .heads = size.heads,
                   .groups = size.heads,
                   .width = size.width});
    pixels_ = gpu::Buffer(*context_, {.sizeBytes = sizeof(float) * LensView::kMostSide * LensView::kMostSide,
                                      .placement = gpu::Placement::Upload,
                                      .name = "lens pixels"});
    for (int64_t token = 0; token < size.tokens; ++token) labels_.push_back(std::to_string(token));
}

ShownLens::~ShownLens() = default;

void ShownLens::select(int, int head) {
    head_ = std::clamp(head, 0, heads() - 1);
    lastProbability_ = std::nullopt;
}

std::string ShownLens::facts() const {
    const LensPicture& picture = lens_->picture();
    const auto exact = std::ranges::count_if(picture.isExact, [](uint8_t row) { return row != 0; });
    const int64_t cells = int64_t{1} << picture.view.level;
    return fmt::format("{} tokens  ·  {}{}", size_.tokens,
                       cells == 1 ? std::string("cell by cell") : fmt::format("{0} × {0} cells a pixel", cells),
                       picture.isWhole()
                           ? std::string()
                           : fmt::format(", {} % exact", exact * 100 / std::max<int64_t>(picture.view.rows, 1)));
}

LensView ShownLens::viewOf(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) const {
    int level = 0; // a pixel of the lens is never larger than one of the screen
    while (level < LensBand::kMostLevel && static_cast<float>(2 << level) * cellPixels <= 1) ++level;
    const auto span = [&](std::pair<int, int> range) {
        return (((range.second - 1) >> level) - (range.first >> level)) + 1;
    };
    while (level < LensBand::kMostLevel && std::max(span(queries), span(keys)) > LensView::kMostSide) ++level;
    return {.head = head_,
            .level = level,
            .row = queries.first >> level,
            .column = keys.first >> level,
            .rows = std::clamp(span(queries), 1, LensView::kMostSide),
            .columns = std::clamp(span(keys), 1, LensView::kMostSide)};
}

bool ShownLens::isPatternReady(std::pair<int, int> queries, std::pair<int, int> keys, float cellPixels) const {
    return pattern_.buffer != VK_NULL_HANDLE && viewOf(queries, keys, cellPixels) == lens_->picture().view &&
           lens_->picture().isWhole();
}

const LanguageModel::DevicePattern& ShownLens::pattern(std::pair<int, int> queries, std::pair<int, int> keys,
                                                       float cellPixels) {
    if (isPatternReady(queries, keys, cellPixels)) return pattern_;
    const LensView view = viewOf(queries, keys, cellPixels);
    const bool isOther = view != lens_->picture().view;
    if (isOther) lens_->show(view);
    if (!isOther || view.level == 0) lens_->work(kFrameMs); // else the coarse picture first
    const LensPicture& picture = lens_->picture();
    std::ranges::copy(picture.pixels, pixels_.mappedAs<float>().begin());
    std::vector<float> seen;
    std::ranges::copy_if(picture.pixels, std::back_inserter(seen), [](float pixel) { return pixel > 0; });
    if (!seen.empty()) {
        const auto at = seen.begin() + static_cast<std::ptrdiff_t>(seen.size() * 199 / 200);
        std::ranges::nth_element(seen, at);
        largest_ = *at;
    }
    const auto cells = [&](int64_t pixel) { return static_cast<int>(pixel << view.level); };
    pattern_ = {.buffer = pixels_.get(),
                .byteOffset = 0,
                .byteSize = picture.pixels.size() * sizeof(float),
                .rowStride = view.columns,
                .tile = {.layer = 0,
                         .head = head_,
                         .rows = view.rows,
                         .columns = view.columns,
                         .queryBegin = cells(view.row),
                         .queryEnd = cells(view.row + view.rows),
                         .keyBegin = cells(view.column),
                         .keyEnd = cells(view.column + view.columns),
                         .values = {}}};
    return pattern_;
}

float ShownLens::probability(const Cell& cell) {
    if (!lastProbability_ || lastProbability_->first != cell)
        lastProbability_ = {cell, lens_->cell(head_, cell.query, cell.key)};
    return lastProbability_->second;
}

} // namespace attn::scope
