#include "engine/data/reading_order.h"

#include "engine/data/draws.h"

#include <algorithm>

namespace attn {

ReadingOrder::Place ReadingOrder::at(uint64_t index, uint64_t rows, uint64_t row) const {
    const uint64_t number = index * rows + row;
    if (kind == Kind::Random)
        return {.begin = static_cast<uint64_t>(Draws(seed, number, 0).below(static_cast<int>(tokens - columns)))};
    if (kind == Kind::Consecutive) return {.begin = number * columns};
    const uint64_t windows = std::max<uint64_t>((tokens - 1) / columns, 1), // whole ones, each with a token after it
        perRow = std::max<uint64_t>(windows / rows, 1), step = index % perRow;
    return {.begin = (row * perRow % windows + step) * columns, .continues = step > 0};
}

} // namespace attn
