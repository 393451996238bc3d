#include "app/cli/written_numbers.h"

#include "app/cli/command.h"

#include <fmt/format.h>

namespace attn::cli {

void WrittenNumbers::add(const std::string& name, const std::string& shape, size_t values, int64_t strange) {
    fmt::print(stderr, "{} {}{}\n", name, shape,
               strange > 0 ? fmt::format(": {} of {} values are NaN or infinite", strange, values) : "");
    if (strange == 0) return;
    if (tensors_++ == 0) first_ = name;
}

int WrittenNumbers::exitCode(const std::string& path) const {
    if (tensors_ == 0) return kDone;
    fmt::print(stderr,
               "attention-cli: {} is written, but {} of its tensors, from {} on, hold NaN or infinite values; look for "
               "weights, inputs or settings that are damaged or much too large\n",
               path, tensors_, first_);
    return kFailed;
}

} // namespace attn::cli
