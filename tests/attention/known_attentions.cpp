#include "engine/attention/known_attentions.h"

#include "engine/attention/attention_spec.h"
#include "tests/support/catch.h"

#include <algorithm>
#include <set>
#include <string>

using namespace attn;

TEST_CASE("known attentions: every one is a valid composition of its own with one sentence and a source",
          "[attention]") {
    std::set<std::string> texts, titles;
    for (const KnownAttention& known : knownAttentions()) {
        const std::string title(known.title), idea(known.idea);
        CAPTURE(title);
        const AttentionSpec spec = AttentionSpec::parse(known.spec);
        CHECK(check(spec).empty());
        CHECK(AttentionSpec::parse(spec.text()) == spec);
        CHECK(texts.insert(spec.text()).second);
        CHECK(titles.insert(title).second);
        CHECK(idea.ends_with('.'));
        CHECK(idea.find(". ") == std::string::npos);
        CHECK(known.source.year > 2016);
        CHECK(known.source.where.starts_with("section"));
    }
    CHECK(texts.size() > 10);
}

TEST_CASE("known attentions: models that differ in one part differ in no other", "[attention]") {
    const auto specOf = [](std::string_view title) {
        const auto found = std::ranges::find(knownAttentions(), title, &KnownAttention::title);
        REQUIRE(found != knownAttentions().end());
        return AttentionSpec::parse(found->spec);
    };
    AttentionSpec spec = specOf("GPT-2");
    spec.mask = MaskExpression::parse("full");
    CHECK(spec == specOf("BERT"));
    spec = specOf("GPT-2");
    spec.set(Slot::Position, "alibi");
    CHECK(spec == specOf("BLOOM"));
}
