#include "app/scope/random_subject.h"

#include "engine/core/error.h"
#include "engine/core/random_rows.h"

#include <fmt/format.h>

#include <cmath>

namespace attn::scope {
namespace {

int64_t bytesOf(const RandomSubject::Size& size) { return 2 * size.tokens * size.heads * size.width * 4; }

void requireRoom(const Device& device, const RandomSubject::Size& size) {
    const auto free = static_cast<int64_t>(device.freeBytes());
    if (bytesOf(size) <= free / 2) return;
    const int64_t perToken = bytesOf(size) / size.tokens;
    throw Error({.what = fmt::format("queries and keys of {} tokens take {} MiB, but {} has only {} MiB free",
                                     size.tokens, bytesOf(size) >> 20, device.name(), free >> 20),
                 .where = "--random",
                 .hint = fmt::format("use at most {} tokens", free / 2 / perToken)});
}

} // namespace

RandomSubject::RandomSubject(std::shared_ptr<Device> device, const Size& size, int head)
    : device_(std::move(device)), size_(size) {
    name_ = fmt::format("random queries and keys, {} heads of {}", size.heads, size.width);
    if (head < 0 || head >= size.heads)
        throw Error({.what = fmt::format("head {} does not exist: there are {}", head, size.heads),
                     .where = "--head",
                     .hint = rangeOf(static_cast<int>(size.heads))});
    head_ = head;
    requireRoom(*device_, size);
    store_ = std::make_unique<TensorStore>(*device_);
    const Shape shape{size.tokens, size.heads, size.width};
    store_->reserve({{"q", shape}, {"k", shape}});
    store_->writeDense("q", gaussianRows(size.tokens * size.heads, size.width, 1, 1));
    store_->writeDense("k", gaussianRows(size.tokens * size.heads, size.width, 1, 2));
    longPattern_ = std::make_unique<LongPatternView>(
        *device_, *store_,
        LongPatternSource{.q = "q",
                          .k = "k",
                          .positions = {},
                          .rule = {.scale = 1 / std::sqrt(static_cast<double>(size.width)), .causal = true},
                          .slopes = {},
                          .capacity = size.tokens,
                          .heads = size.heads,
                          .groups = size.heads,
                          .width = size.width});
    for (int64_t token = 0; token < size.tokens; ++token) labels_.push_back(std::to_string(token));
}

RandomSubject::~RandomSubject() = default;

std::string RandomSubject::facts() const { return fmt::format("{} tokens", size_.tokens); }

} // namespace attn::scope
