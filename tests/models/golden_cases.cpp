#include "tests/models/golden_cases.h"

#include "engine/io/json_file.h"

#include <nlohmann/json.hpp>

#include <filesystem>

namespace attn::test {

std::vector<GoldenCase> goldenCases(const std::string& list) {
    std::vector<GoldenCase> cases;
    const nlohmann::json json = readJsonFile(std::filesystem::path(ATTN_TEST_DIR) / "golden" / list);
    for (const auto& entry : json.at("cases"))
        cases.push_back({entry.at("name"), entry.at("family"), entry.value("T", 0), entry.value("classes", 0)});
    return cases;
}

} // namespace attn::test
