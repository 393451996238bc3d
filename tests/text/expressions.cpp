#include "engine/text/pattern.h"
#include "engine/text/text_budget.h"
#include "tests/text/text_test.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <set>

using namespace attn;
using namespace attn::test;
using nlohmann::json;

namespace {

/// The lengths in bytes of the parts into which the matches cut a text, as the pre-tokenizer Split with "Isolated".
std::vector<size_t> parts(const Pattern& pattern, const std::string& text) {
    TextBudget budget(text.size());
    std::vector<size_t> lengths;
    size_t at = 0;
    const auto cut = [&](size_t end) {
        if (end > at) lengths.push_back(end - at);
        at = std::max(at, end);
    };
    for (const ByteRange& match : pattern.find(text, budget)) {
        cut(match.begin);
        cut(match.end);
    }
    cut(text.size());
    return lengths;
}

/// What Hugging Face's library understands and this program refuses.
const std::set<std::string> kRefused{R"((?W)\w+)",  R"((?W:\w+))",  R"((?y{g})a)", R"(\y)",
                                     R"(\Y)",       R"(\141)",      R"((?i)ss)",   R"((?i)st)",
                                     R"((?i)fi)",   "(?i)[\u00DF]", "(?i)\u0130",  R"((?i)[\p{Lu}]+)",
                                     R"(\k<1>(a))", R"((a)\k<1>)",  R"(\g<1>(a))", R"((?<n>a|b\g<n>))",
                                     R"((?~ab))",   R"((*FAIL)a)",  R"((?<=a+)b)", R"(\p{InBasicLatin})",
                                     R"(\C-a)",     R"(\M-a)"};

} // namespace

TEST_CASE("expressions: Oniguruma's cut texts as in Hugging Face's library, or are refused by name", "[text]") {
    const json golden = json::parse(std::ifstream(ATTN_TEST_DIR "/golden/text/expressions.json"));
    const std::vector<std::string> texts = golden.at("texts");
    std::set<std::string> refused;
    for (const json& entry : golden.at("expressions")) {
        const std::string expression = entry[0];
        CAPTURE(expression);
        std::optional<Pattern> pattern;
        try {
            pattern = Pattern::regex(expression);
        } catch (const Error& error) {
            CHECK(std::string(error.what()).starts_with("the regular expression "));
            CHECK_FALSE(error.hint().empty());
            if (!entry[1].is_null()) refused.insert(expression);
            continue;
        }
        CHECK_FALSE(entry[1].is_null()); // the library refuses it
        for (size_t i = 0; i < texts.size() && !entry[1].is_null(); ++i) {
            CAPTURE(texts[i]);
            CHECK(parts(*pattern, texts[i]) == entry[1][i].get<std::vector<size_t>>());
        }
    }
    CHECK(refused == kRefused);
}
