#include "engine/training/attention_recipe.h"
#include "engine/attention/catalogue.h"
#include "engine/attention/mask/catalogue.h"
#include "engine/core/bit_row.h"
#include "engine/training/tasks/catalogue.h"
#include "tests/io/files.h"

#include <fmt/format.h>

using namespace attn;

TEST_CASE("attention recipe: every part is suggested with a task, and what can be causal can be trained",
          "[training]") {
    int trainable = 0;
    for (const Part* part : partCatalogue()) {
        AttentionSpec spec;
        if (part->slot == Slot::Mask)
            spec.mask = MaskExpression::parse(termText(*part, initialValues(*part)));
        else if (std::ranges::find(kSpecSlots, part->slot) != kSpecSlots.end())
            spec.set(part->slot, part->id);
        else
            continue;
        INFO(nameOf(part->slot) << " " << part->id);
        const Recipe recipe = suggestedRecipe(spec, part->slot);
        CHECK_FALSE(recipe.architecture.attention.empty());
        CHECK(recipe.architecture.width % (2 * recipe.architecture.heads) == 0);
        if (const auto problem = attentionProblem(recipe.architecture)) {
            CHECK(problem->sentence.size() > 20);
            continue;
        }
        CHECK_NOTHROW(check(recipe));
        ++trainable;
    }
    CHECK(trainable >= 50);
}

TEST_CASE("attention recipe: the task is that of the slot, else of what is special about the spec", "[training]") {
    const auto task = [](const char* spec) { return suggestedRecipe(AttentionSpec::parse(spec)).task; };
    CHECK(task("heads=multi_head(4), position=alibi, mask=causal") == "copy");
    CHECK(task("mask=causal & window(4)") == "induction");
    CHECK(task("heads=multi_head(4), mask=causal") == "compare");
    CHECK(suggestedRecipe(AttentionSpec::parse("position=alibi, mask=causal & window(4)"), Slot::Position).task ==
          "copy");
    for (const Slot slot : kSpecSlots) CHECK_FALSE(suggestedRecipe(AttentionSpec(), slot).task.empty());
}

TEST_CASE("attention recipe: heads become the model's, and a mask that looks ahead makes an encoder", "[training]") {
    const Recipe recipe = suggestedRecipe(AttentionSpec::parse("heads=multi_head(8), position=rope, mask=window(4)"));
    CHECK(recipe.architecture.heads == 8);
    CHECK(recipe.architecture.attention == "position=rope, mask=window(4)");
    CHECK(recipe.architecture.family == "bert");
    CHECK(recipe.task == "masked-text");
    CHECK(trainCommand(recipe) == "attention-cli train --task masked-text --text builtin:stories --heads 8 --attention "
                                  "'position=rope, mask=window(4)' --out run");
    const AttentionSpec grouped = AttentionSpec::parse("heads=grouped_query(8, 4), mask=causal");
    CHECK(AttentionSpec::parse(suggestedRecipe(grouped).architecture.attention) == grouped);
}

TEST_CASE("attention recipe: what is suggested is accepted, for every pair of parts in each kind of model",
          "[training]") {
    const auto refusalOf = [](Recipe recipe, const std::string& attention) {
        recipe.architecture.attention = attention;
        return attn::test::sentenceOf([&] { check(recipe); });
    };
    constexpr std::string_view kOffer = "the nearest valid composition: ";
    int suggestions = 0;
    for (const char* task : {"sort", "masked-text", "shapes"}) {
        Recipe recipe = suggestedRecipe(taskNamed(task));
        recipe.architecture.layers = recipe.architecture.heads = 2;
        recipe.architecture.width = 16;
        for (const Part* first : partCatalogue())
            for (const Part* second : partCatalogue()) {
                if (first->slot >= second->slot) continue;
                const std::string pair =
                    fmt::format("{}={}, {}={}", nameOf(first->slot), first->id, nameOf(second->slot), second->id);
                const std::string refusal = refusalOf(recipe, pair);
                const size_t at = refusal.find(kOffer);
                if (at == std::string::npos) continue;
                ++suggestions;
                const std::string offered = refusal.substr(at + kOffer.size());
                INFO(task << ": " << pair << " -> " << offered);
                CHECK(refusalOf(recipe, offered) == "accepted");
            }
    }
    CHECK(suggestions > 100);
}

TEST_CASE("attention recipe: what cannot be trained is a sentence with the whole nearest line", "[training]") {
    const auto problem = [](const char* line) {
        return attentionProblem({.heads = 4, .width = 32, .attention = line});
    };
    CHECK_FALSE(problem(""));
    CHECK_FALSE(problem("position=alibi, mask=causal; mask=causal & window(4)"));
    const auto ahead = problem("position=alibi, mask=causal; position=rope");
    REQUIRE(ahead);
    CHECK(ahead->nearest == "position=alibi, mask=causal; position=rope, mask=causal");
    CHECK_FALSE(problem(ahead->nearest.c_str()));
    const auto later = problem("mask=per_layer(causal, window(4))");
    REQUIRE(later);
    CHECK(later->nearest == "mask=causal & per_layer(causal, window(4))");
    const auto heads = problem("heads=multi_head(3), mask=causal");
    REQUIRE(heads);
    CHECK(heads->nearest == "mask=causal");
    const auto unread = problem("position=alibo");
    REQUIRE(unread);
    CHECK(unread->nearest.empty());
    CHECK(unread->sentence.find("alibi") != std::string::npos);
}

TEST_CASE("attention recipe: tokens that see nothing are warned of, and a mask without cells is refused",
          "[training]") {
    const auto warning = [](const char* attention) { return emptyRowsWarning({.layers = 2, .attention = attention}); };
    CHECK(warning("").empty());
    CHECK(warning("mask=causal & window(4)").empty());
    CHECK(warning("mask=per_head(causal & blocks(8), summary(8, 2))").empty()); // another head sees something
    CHECK(warning("mask=causal; mask=summary(8, 2)").starts_with("In layer 1, 6 of the first 64 tokens see nothing"));
    const auto problem = attentionProblem({.attention = "mask=causal & g2l(2)"});
    REQUIRE(problem);
    CHECK(problem->sentence == "the mask causal & g2l(2) shows nothing to any token");
    CHECK_FALSE(attentionProblem({.attention = "mask=causal & (g2l(2) | window(1))"}));
}

TEST_CASE("attention recipe: parts of a picture's grid train on pictures of that grid", "[training]") {
    const Recipe axial = suggestedRecipe(AttentionSpec::parse("position=learned_2d, mask=axial(8, 8)"));
    CHECK(axial.task == "shapes");
    CHECK(axial.architecture.attention ==
          "position=learned_2d(rows = 4, columns = 4), mask=axial(4, 4)"); // 64 pixels in patches of 16
    CHECK_NOTHROW(check(axial));
    CHECK(saysPositions(axial.architecture));
    CHECK(saysPositions({.attention = "position=none, mask=causal"}));
    CHECK_FALSE(saysPositions({.attention = "mask=axial(8, 8)"}));
}

TEST_CASE("attention recipe: a mask that leaves a query nothing to see is trained in its whole", "[training]") {
    constexpr int64_t kTokens = 64;
    const auto isEmptySomewhere = [](const MaskExpression& mask) {
        BitRow row;
        for (int64_t query = 0; query < kTokens; ++query) {
            mask.row({.queries = kTokens, .keys = kTokens}, query, row);
            if (!row.any()) return true;
        }
        return false;
    };
    int wholes = 0;
    for (const Part* part : partCatalogue()) {
        INFO(nameOf(part->slot) << " " << part->id);
        if (part->mask.row && isEmptySomewhere(MaskExpression::parse(termText(*part, initialValues(*part)))))
            CHECK_FALSE(part->whole.empty());
        if (part->whole.empty()) continue;
        ++wholes;
        const AttentionSpec spec = AttentionSpec::parse(part->whole);
        CHECK_FALSE(isEmptySomewhere(spec.mask));
        const Recipe recipe = suggestedRecipe(spec, part->slot);
        CHECK_FALSE(attentionProblem(recipe.architecture));
        CHECK_NOTHROW(check(recipe));
    }
    CHECK(
        wholes ==
        20); // the dependency tree, pieces of ETC, parts with segments, grids, the axial decoders, and three more masks
    CHECK(trainCommand(suggestedRecipe(
              AttentionSpec::parse("heads=multi_head(4), position=etc(5, 7, 3), mask=etc_hard(5, 4, 7)"))) ==
          "attention-cli train --task cpc --text builtin:stories --set length=7 --set segments=5 --attention "
          "'position=etc(g = 5, n = 7, clip = 3), mask=etc_hard(5, 4, 7)' --out run");
}
