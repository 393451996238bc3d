#pragma once

#include "engine/data/data_settings.h"

#include <cstdint>
#include <map>
#include <string>

namespace attn {

/// The settings of a task. Missing values keep their defaults.
struct TaskSettings {
    std::map<std::string, double, std::less<>> values{}; ///< by Param::id
    uint64_t seed = 0;                                   ///< selects the examples; does not change splits
    DataSettings data{};                                 ///< of tasks that read files
    bool operator==(const TaskSettings&) const = default;
};

} // namespace attn
