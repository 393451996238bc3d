#include "engine/inference/changes.h"
#include "engine/inference/language_model.h"
#include "engine/inference/site_inputs.h"
#include "engine/models/model_source.h"
#include "tests/support/catch.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

using namespace attn;

namespace {

/// What views show of the tokens in the cache.
struct Shown {
    std::vector<float> logits, newest;
    std::vector<std::vector<float>> patterns;
    bool operator==(const Shown&) const = default;
};
Shown shownBy(LanguageModel& model) {
    Shown shown;
    shown.logits.assign(model.logits().begin(), model.logits().end());
    shown.newest = model.patterns().readoutRows().values;
    for (const PatternTile& tile : model.patterns().grid(512).tiles) shown.patterns.push_back(tile.values);
    return shown;
}

std::vector<int> tokensOf(const LanguageModel& model, int count) {
    std::vector<int> tokens;
    for (int i = 0; i < count; ++i) tokens.push_back((i * i * 7 + 3 * i + 1) % model.info().vocabulary);
    return tokens;
}

} // namespace

TEST_CASE("typing: a text has the same bits however it came", "[inference][gpu]") {
    for (const char* path : {"builtin:stories", "builtin:induction", "builtin:english", "builtin:sort"})
        for (const Storage storage : {Storage::F32, Storage::Q8_0}) {
            INFO(path << " " << storageName(storage));
            const LanguageModel::Options options{.storage = storage};
            LanguageModel model(openModelSource(path), options), other(openModelSource(path), options);
            const std::vector<int> tokens = tokensOf(model, std::min(model.capacity(), 150));
            // Lengths after each step; a smaller one removes tokens.
            for (const size_t wanted : {1, 2, 3, 4, 5, 9, 12, 8, 10, 29, 30, 47, 64, 66, 65, 129, 131, 150, 20, 21}) {
                const std::span text = std::span(tokens).first(std::min(wanted, tokens.size()));
                INFO(text.size() << " tokens");
                REQUIRE(model.hold(text));
                other.truncate(0);
                REQUIRE(other.feed(text));
                CHECK((shownBy(model) == shownBy(other)));
            }
        }
}

TEST_CASE("typing: a changed run has the same bits however the text came", "[inference][gpu]") {
    const Changes zeroed{.valueChanges = {{.hook = "blocks.1.hook_attn_out"}}},
        uniform{.patterns = {{.site = 1, .head = 2, .kind = PatternChange::Kind::Uniform}}};
    for (const Changes& changes : {zeroed, uniform}) {
        LanguageModel model(openModelSource("builtin:stories"), {}), other(openModelSource("builtin:stories"), {});
        const std::vector<int> tokens = tokensOf(model, 140);
        for (LanguageModel* each : {&model, &other}) each->setChanges(changes, TextInput{.tokens = tokens});
        for (const size_t length : {1, 2, 3, 7, 18, 17, 40, 129, 131, 140}) {
            INFO(length << " tokens");
            REQUIRE(model.hold(std::span(tokens).first(length)));
            other.truncate(0);
            REQUIRE(other.feed(std::span(tokens).first(length)));
            CHECK((shownBy(model) == shownBy(other)));
        }
    }
}

TEST_CASE("typing: written tokens have the same bits after what was shown in between", "[inference][gpu]") {
    for (const char* path : {"builtin:stories", "builtin:reverse"}) {
        INFO(path);
        LanguageModel model(openModelSource(path), {}), other(openModelSource(path), {});
        const std::vector<int> tokens = tokensOf(model, std::min(model.capacity(), 40));
        const size_t text = tokens.size() / 2;
        REQUIRE(model.feed(std::span(tokens).first(text)));
        for (size_t i = text; i < tokens.size(); ++i) REQUIRE(model.feed(std::span(tokens).subspan(i, 1)));
        CHECK(model.written() == tokens.size() - text);
        const Shown written = shownBy(model);
        REQUIRE(other.hold(std::span(tokens).first(3)));
        REQUIRE(other.hold(std::span(tokens).first(text + 2), 1));
        CHECK(other.written() == 1);
        REQUIRE(other.hold(tokens, tokens.size() - text));
        CHECK((shownBy(other) == written));
        REQUIRE(other.hold(tokens, tokens.size() - text)); // only the last token runs again
        CHECK(other.firstRun() + 1 == tokens.size());
        CHECK((shownBy(other) == written));
        REQUIRE(other.hold(tokens)); // the same tokens as one text
        model.truncate(0);
        REQUIRE(model.feed(tokens));
        CHECK((shownBy(other) == shownBy(model)));
    }
}
