#include "engine/inference/memory.h"

#include "engine/attention/step_memory.h"
#include "engine/inference/graph_sources.h"
#include "engine/runtime/tensor_store.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {
namespace {

/// Running states, with copies of them after earlier tokens.
class RecurrentMemory : public MemoryKind {
public:
    RecurrentMemory(TensorStore& store, Memory::States states) : store_(store), states_(std::move(states)) {
        slots_ = std::clamp<size_t>(kMostBytes / std::max<size_t>(paddedBytes(states_), 1), 1, kMostSlots);
    }

    size_t reachable(size_t length) const override {
        const auto after = std::ranges::upper_bound(copies_, length, {}, &Copy::length);
        return after == copies_.begin() ? 0 : std::prev(after)->length;
    }

    void goBack(size_t length) override {
        while (!copies_.empty() && copies_.back().length > length) copies_.pop_back();
        if (!copies_.empty()) store_.copy(pairs(copies_.back().slot, false)); // a text begins with other numbers
    }

    void kept(size_t length) override {
        if (copies_.size() == slots_) removeOne(length);
        size_t slot = 0;
        while (std::ranges::find(copies_, slot, &Copy::slot) != copies_.end()) ++slot;
        Memory::States room = states_;
        for (auto& [name, shape] : room) name = nameOf(name, slot);
        store_.reserve(room);
        store_.copy(pairs(slot, true));
        copies_.push_back({length, slot});
    }

private:
    static constexpr size_t kMostSlots = 16, kMostBytes = size_t{64} << 20;
    struct Copy {
        size_t length = 0, slot = 0;
    };

    static std::string nameOf(const std::string& state, size_t slot) { return fmt::format("{}@{}", state, slot); }
    std::vector<std::pair<std::string, std::string>> pairs(size_t slot, bool toSlot) const {
        std::vector<std::pair<std::string, std::string>> all;
        for (const auto& [name, shape] : states_)
            all.emplace_back(toSlot ? name : nameOf(name, slot), toSlot ? nameOf(name, slot) : name);
        return all;
    }

    /// Removes the copy without which the gaps between the others are smallest, compared with how far back they are.
    void removeOne(size_t length) {
        const auto gap = [&](size_t i) {
            const size_t before = i == 0 ? 0 : copies_[i - 1].length,
                         after = i + 1 < copies_.size() ? copies_[i + 1].length : length;
            return static_cast<double>(after - before) / static_cast<double>(length - before);
        };
        size_t least = 0;
        for (size_t i = 1; i < copies_.size(); ++i)
            if (gap(i) < gap(least)) least = i;
        copies_.erase(copies_.begin() + static_cast<std::ptrdiff_t>(least));
    }

    TensorStore& store_;
    Memory::States states_;
    std::vector<Copy> copies_; ///< in the order of their lengths
    size_t slots_ = 1;
};

} // namespace

Memory::Memory(TensorStore& store) : store_(store) {}

Memory::~Memory() = default;

void Memory::allocate(const States& states, int64_t rows) {
    store_.reserve(states);
    rows_ = rows;
    States running;
    for (const auto& [name, shape] : states) {
        if (const StateKind kind = stateKind(name); kind == StateKind::Running)
            running.emplace_back(name, shape);
        else if (kind == StateKind::Rows)
            perToken_.emplace_back(name, shape);
    }
    if (!running.empty()) kinds_.push_back(std::make_unique<RecurrentMemory>(store_, std::move(running)));
}

void Memory::grow(int64_t rows) {
    States larger = withRows(perToken_, rows);
    store_.resize(larger);
    perToken_ = std::move(larger);
    rows_ = rows;
    branches_.clear();
}

uint64_t Memory::rowBytes() const { return rows_ == 0 ? 0 : paddedBytes(perToken_) / static_cast<uint64_t>(rows_); }

uint64_t Memory::largestRow() const {
    uint64_t largest = 0;
    for (const auto& state : perToken_)
        largest = std::max(largest, paddedBytes({state}) / static_cast<uint64_t>(rows_));
    return largest;
}

size_t Memory::reachable(size_t length) const {
    for (size_t before = length + 1; before != length;) { // until every kind can
        before = length;
        for (const auto& kind : kinds_) length = kind->reachable(length);
    }
    return length;
}

void Memory::prepare(size_t tokens) {
    std::erase_if(branches_, [&](const Branch& each) { return each.row < static_cast<int64_t>(length_ + tokens); });
}

void Memory::keep(size_t tokens) {
    prepare(tokens);
    length_ += tokens;
}

void Memory::leave(std::span<const int> tokens, size_t shared) {
    const size_t alone = written(), from = length_ - alone;
    if (!kinds_.empty() || alone == 0 || shared < from || shared >= length_) return;
    const std::span<const int> left = tokens.subspan(from, alone);
    std::erase_if(branches_, [&](const Branch& each) { // what it repeats
        return each.from == from && each.tokens.size() <= alone &&
               std::ranges::equal(each.tokens, left.first(each.tokens.size()));
    });
    if (rows_ - static_cast<int64_t>(alone) <= static_cast<int64_t>(length_)) return; // no room beside the text
    std::optional<int64_t> row;
    while (!(row = freeRows(alone)) && !branches_.empty()) branches_.erase(branches_.begin());
    store_.copyRows(perToken_, {.from = static_cast<int64_t>(from), .to = *row, .count = static_cast<int64_t>(alone)});
    branches_.push_back({from, {left.begin(), left.end()}, *row});
}

/// The last rows that neither the text nor a branch needs, and the token after the text neither.
std::optional<int64_t> Memory::freeRows(size_t count) const {
    int64_t end = rows_;
    const auto wanted = static_cast<int64_t>(count);
    for (;;) {
        if (end - wanted <= static_cast<int64_t>(length_)) return {};
        const auto inTheWay = std::ranges::find_if(branches_, [&](const Branch& each) {
            return each.row < end && each.row + std::ssize(each.tokens) > end - wanted;
        });
        if (inTheWay == branches_.end()) return end - wanted;
        end = inTheWay->row;
    }
}

size_t Memory::bringBack(std::span<const int> tokens, size_t together) {
    const Branch* best = nullptr;
    size_t most = length_;
    for (const Branch& each : branches_) {
        if (each.from != together || each.from > length_ || each.from >= tokens.size()) continue;
        const std::span<const int> rest = tokens.subspan(each.from);
        const auto same = static_cast<size_t>(std::ranges::mismatch(rest, each.tokens).in1 - rest.begin());
        if (each.from + same <= most || each.row < static_cast<int64_t>(each.from + same)) continue;
        most = each.from + same;
        best = &each;
    }
    if (!best) return length_;
    const size_t first = length_ - best->from;
    store_.copyRows(perToken_, {.from = best->row + static_cast<int64_t>(first),
                                .to = static_cast<int64_t>(length_),
                                .count = static_cast<int64_t>(most - length_)});
    while (length_ < most) {
        keep(1);
        pieces_.push_back({length_ - 1, length_, 1, true});
    }
    return length_;
}

void Memory::drop(size_t length) {
    length_ = reachable(std::min(length, length_));
    std::erase_if(branches_, [&](const Branch& each) { return each.from > length_; });
    for (const auto& kind : kinds_) kind->goBack(length_);
    while (!pieces_.empty() && pieces_.back().begin >= length_) pieces_.pop_back();
    if (!pieces_.empty()) pieces_.back().end = std::min(pieces_.back().end, length_);
}

void Memory::endPiece(size_t ran, bool isAlone) {
    pieces_.push_back({length_ - ran, length_, ran, isAlone});
    for (const auto& kind : kinds_) kind->kept(length_);
}

size_t Memory::written() const {
    size_t alone = 0;
    for (auto piece = pieces_.rbegin(); piece != pieces_.rend() && piece->isAlone; ++piece) ++alone;
    return alone;
}

size_t Memory::keepable(size_t common, size_t all, size_t together,
                        const std::function<size_t(size_t)>& pieceFor) const {
    size_t kept = 0;
    if (!pieceFor) {
        auto piece = pieces_.begin();
        for (; piece != pieces_.end() && !piece->isAlone; ++piece) kept = piece->end;
        kept = std::min({kept, common, together});
        if (piece == pieces_.end() || kept < together || piece->begin != together) return kept;
        for (; piece != pieces_.end() && piece->isAlone; ++piece) kept = piece->end;
        return std::min(kept, common);
    }
    for (const Piece& piece : pieces_) {
        const size_t rows = kept < together ? pieceFor(together - kept) : 1;
        if (kept >= all || piece.end > common || piece.begin != kept || piece.ran != rows ||
            piece.end - piece.begin != rows)
            break;
        kept = piece.end;
    }
    return reachable(kept);
}

} // namespace attn
