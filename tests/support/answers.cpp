#include "tests/support/answers.h"

#include "tests/support/catch.h"

#include <nlohmann/json.hpp>

namespace attn::test {
namespace {

nlohmann::json jsonOf(const std::string& file) {
    return nlohmann::json::parse(std::ifstream(std::filesystem::path(ATTN_TEST_DIR) / file));
}

std::string textOf(const nlohmann::json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

} // namespace

std::vector<std::map<std::string, std::string>> listedIn(const std::string& file, const std::string& list) {
    std::vector<std::map<std::string, std::string>> objects;
    const nlohmann::json json = jsonOf(file);
    for (const nlohmann::json& each : json.at(list)) {
        auto& fields = objects.emplace_back();
        for (const auto& [name, value] : each.items()) fields[name] = textOf(value);
    }
    return objects;
}

void checkAnswers(const std::string& file, const std::string& group,
                  const std::function<std::string(const std::string& given)>& answer) {
    const nlohmann::json groups = jsonOf(file);
    size_t count = 0;
    for (const auto& [name, cases] : groups.items())
        for (const nlohmann::json& each : cases) {
            if (!group.empty() && name != group) continue;
            INFO(name << ": " << each.dump());
            const std::string found = answer(textOf(each.front()));
            for (size_t at = 1; at < each.size(); ++at) {
                const auto part = each[at].get<std::string>();
                if (part.starts_with("= "))
                    CHECK(found == part.substr(2));
                else
                    CHECK_THAT(found, CONTAINS(part));
            }
            ++count;
        }
    CHECK(count > 0);
}

} // namespace attn::test
