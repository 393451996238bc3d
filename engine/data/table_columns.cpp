#include "engine/data/table_columns.h"

#include "engine/core/quoting.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {

std::string columnsText(const std::set<std::string>& names) {
    constexpr size_t kMost = 8;
    std::string list;
    size_t shown = 0;
    for (auto name = names.begin(); name != names.end() && shown < kMost; ++name, ++shown)
        list += (list.empty() ? "" : ", ") + inQuotes(*name);
    return fmt::format("the column{} {}{}", names.size() > 1 ? "s" : "", list,
                       names.size() > kMost ? fmt::format(" and {} more", names.size() - kMost) : "");
}

void TableColumns::read(std::string_view role, const std::string& name) {
    isRead_.insert(name);
    const auto of = std::ranges::find(roles_, role, &Role::first);
    (of != roles_.end() ? *of : roles_.emplace_back(role, std::set<std::string>())).second.insert(name);
}

void TableColumns::endRecord(const std::vector<std::string>& columns) {
    for (const std::string& name : columns)
        if (!isRead_.contains(name)) leftOut_.insert(name);
    isRead_.clear();
}

std::string TableColumns::remark(const std::string& file) const {
    if (leftOut_.empty()) return {};
    const auto read = [](const Role& role) { return fmt::format("{} from {}", role.first, columnsText(role.second)); };
    return fmt::format("{}: nothing reads {}; {}", file, columnsText(leftOut_), joined(roles_, read));
}

} // namespace attn
