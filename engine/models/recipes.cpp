#include "engine/models/recipes.h"

#include "engine/core/error.h"

namespace attn {

std::string lookUp(const std::vector<std::pair<std::string, std::string>>& table, const std::string& key) {
    for (const auto& [name, value] : table)
        if (name == key) return value;
    throw Error({.what = "the family has no tensor for this parameter", .where = key});
}

} // namespace attn
