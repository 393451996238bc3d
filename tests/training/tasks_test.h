#pragma once

#include "engine/core/error.h"
#include "engine/training/tasks/catalogue.h"
#include "tests/support/catch.h"

namespace attn::test {

inline std::unique_ptr<TaskInstance> task(std::string_view id, std::map<std::string, double, std::less<>> values = {},
                                          uint64_t seed = 0) {
    return makeTask(taskNamed(id), {.values = std::move(values), .seed = seed});
}

/// Token texts with a space between.
inline std::string shown(const TaskInstance& task, const std::vector<int32_t>& tokens) {
    std::string text;
    for (const int32_t token : tokens) text += (text.empty() ? "" : " ") + task.tokenizer().tokenText(token);
    return text;
}

/// Whether the action throws an Error whose sentence has this part.
template <class Action> bool refuses(const Action& action, const std::string& part) {
    try {
        action();
    } catch (const Error& error) {
        return std::string(error.what()).find(part) != std::string::npos;
    }
    return false;
}

} // namespace attn::test
