#include "app/scope/subject.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn::scope {

void Subject::select(int layer, int head) {
    layer_ = std::clamp(layer, 0, layers() - 1);
    head_ = std::clamp(head, 0, heads() - 1);
}

std::string rangeOf(int count) { return count == 1 ? "only 0 exists" : fmt::format("choose 0 to {}", count - 1); }

} // namespace attn::scope
