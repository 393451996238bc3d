#include "engine/training/tasks/batch.h"

namespace attn {

std::vector<int32_t>& Batch::operator[](std::string_view name) & {
    const auto found = integers.find(name);
    return found != integers.end() ? found->second : integers[std::string(name)];
}

const std::vector<int32_t>& Batch::operator[](std::string_view name) const& {
    static const std::vector<int32_t> none;
    const auto found = integers.find(name);
    return found != integers.end() ? found->second : none;
}

const std::vector<float>& Batch::numbersOf(std::string_view name) const {
    static const std::vector<float> none;
    const auto found = numbers.find(name);
    return found != numbers.end() ? found->second : none;
}

int64_t Batch::width(std::string_view name) const {
    return rows > 0 ? static_cast<int64_t>((*this)[name].size()) / rows : 0;
}

void Batch::append(const Batch& other) {
    rows += other.rows;
    for (const auto& [name, values] : other.integers) {
        std::vector<int32_t>& own = integers[name];
        own.insert(own.end(), values.begin(), values.end());
    }
    for (const auto& [name, values] : other.numbers) {
        std::vector<float>& own = numbers[name];
        own.insert(own.end(), values.begin(), values.end());
    }
}

} // namespace attn
