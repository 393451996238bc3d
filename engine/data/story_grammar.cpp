#include "engine/data/story_grammar.h"

#include "engine/core/error.h"
#include "engine/io/json_file.h"
#include "engine/system/assets.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <stdexcept>

namespace attn::stories {
namespace {

using Json = nlohmann::json;

Pronouns pronounsOf(const Json& word, const Json& pronouns) {
    const auto has = [&](const char* list) {
        const Json& words = pronouns.at(list);
        return std::find(words.begin(), words.end(), word) != words.end();
    };
    return has("she") ? Pronouns::She : has("he") ? Pronouns::He : has("they") ? Pronouns::They : Pronouns::It;
}

Grammar parse(const Json& file) {
    Grammar grammar{.words = {},
                    .states = {},
                    .weathers = {},
                    .introductions = file.at("introductions"),
                    .openings = file.at("openings"),
                    .interludes = file.at("interludes"),
                    .plots = {}};
    for (const auto& [name, words] : file.at("words").items())
        for (const Json& word : words) grammar.words[name].push_back({word, pronounsOf(word, file.at("pronouns"))});
    for (const Json& state : file.at("states")) grammar.states.push_back({state.at(0), state.at(1), state.at(2)});
    for (const Json& weather : file.at("weathers"))
        grammar.weathers.push_back({weather.at(0), weather.at(1), weather.at(2)});
    for (const Json& plot : file.at("plots"))
        grammar.plots.push_back({plot.at("things"), plot.at("interlude before"), plot.at("beats")});
    return grammar;
}

} // namespace

const std::vector<Word>& Grammar::list(std::string_view name) const {
    const auto found = words.find(name);
    if (found == words.end()) throw std::out_of_range("no list of words " + std::string(name));
    return found->second;
}

const Grammar& grammar() {
    static const Grammar kGrammar = [] {
        const std::filesystem::path path = assetsFolder("stories") / "grammar.json";
        try {
            return parse(readJsonFile(path));
        } catch (const Json::exception&) {
            throw Error({.what = "this file does not hold the words and sentences of the stories",
                         .where = path.string(),
                         .hint = "install Attention Lab again"});
        }
    }();
    return kGrammar;
}

} // namespace attn::stories
