#include "engine/attention/position/dependency_tree.h"
#include "engine/attention/attention_spec.h"
#include "engine/attention/part.h"
#include "engine/core/error.h"
#include "tests/support/catch.h"

using namespace attn;

TEST_CASE("dependency tree: depths and relative positions are those of Wang et al.", "[attention]") {
    // The(1) student(2) reads(3) a(4) book(5) about(6) old(7) trees(8)
    const DependencyTree tree(kExampleTree);
    REQUIRE(tree.end() == 8);
    for (const auto& [word, depth] : {std::pair{0, 2}, {1, 1}, {2, 0}, {3, 2}, {4, 1}, {5, 3}, {6, 3}, {7, 2}}) {
        INFO(word);
        CHECK(tree.depthOf(word) == depth);
        CHECK(tree.relative(word, word) == 0);
        CHECK(tree.relative(word, 2) == depth); // all lie under the root
        CHECK(tree.relative(2, word) == -depth);
    }
    CHECK(tree.parentOf(2) == 2);
    CHECK(tree.relative(6, 4) == 2);  // "old" lies under "book"
    CHECK(tree.relative(1, 4) == -2); // "student" and "book" do not lie on one path: 1 + 1, before
    CHECK(tree.relative(7, 3) == 4);  // 2 + 2, behind, though both depend on "book"
    CHECK(tree.relative(3, 7) == -4);

    const DependencyTree later(kExampleTree, 2); // behind [CLS] and another token
    CHECK(later.end() == 10);
    CHECK_FALSE(later.holds(1));
    CHECK(later.holds(2));
    CHECK_FALSE(later.holds(10));
    CHECK(later.parentOf(2) == 3);
    CHECK(later.relative(8, 6) == 2);
}

TEST_CASE("dependency tree: what is no tree is said in a sentence, with the nearest tree", "[attention]") {
    struct Case {
        std::vector<double> parents;
        const char* sentence;
        std::vector<double> nearest;
    };
    for (const Case& each :
         {Case{{2, 0, 0}, "words 2 and 3 are both roots (0), but a tree has one root", {2, 0, 2}},
          Case{{2, 1, 0}, "depends on itself through other words", {0, 1, 1}},
          Case{{1, 0}, "word 1 depends on itself; only the root depends on no word, which is written 0", {0, 1}},
          Case{{2, 0, 9}, "word 3 depends on word 9, but the tree has 3 words", {2, 0, 2}},
          Case{{3, 4, 2, 3}, "depends on itself through other words", {3, 4, 2, 0}}}) {
        const auto problem = problemOf(each.parents);
        REQUIRE(problem);
        INFO(problem->sentence);
        CHECK(problem->sentence.find(each.sentence) != std::string::npos);
        CHECK_FALSE(problemOf(problem->nearest));
        CHECK_THROWS_WITH(DependencyTree(each.parents), CONTAINS(each.sentence));
    }
    CHECK_FALSE(problemOf(kExampleTree));
    CHECK_FALSE(problemOf(std::vector<double>{0}));
}

TEST_CASE("dependency tree: a list that cannot be read is refused with how to write one", "[attention]") {
    const auto parsed = [](const std::string& values) {
        return AttentionSpec::parse("position=dependency_tree(" + values + ")");
    };
    for (const auto& [values, what] : {std::pair{"tree = x", "\"x\" is not a number"},
                                       {"tree = 2 0 2", "\"2 0 2\" is not a number"},
                                       {"tree = [2, 0, 2]", "\"[2\" is not a number"},
                                       {"tree = 2, zero, 2", "\"zero\" is not a number"},
                                       {"tree = ", "a number is missing in the list tree"},
                                       {"tree = 2, 0,", "a number is missing in the list tree"}}) {
        INFO(values);
        CHECK_THROWS_WITH(parsed(values), CONTAINS(what) && CONTAINS("write the numbers with commas between them and "
                                                                     "no brackets around them, such as tree = 2, 3, 0, "
                                                                     "5, 3, 8, 8, 5"));
    }
    CHECK_THROWS_WITH(parsed("tree = -1, 0"), CONTAINS("choose a whole number from 0 to 1024"));
    CHECK_THROWS_WITH(parsed("clip = x"), CONTAINS("write a number such as"));
}

TEST_CASE("dependency tree: the numbers of a text's tree are read as a person writes them", "[attention]") {
    CHECK(parentsFrom("2,0, 2") == std::vector<int32_t>{2, 0, 2});
    CHECK(parentsFrom("2 0 2") == std::vector<int32_t>{2, 0, 2});
    CHECK(parentsFrom(" 0 ") == std::vector<int32_t>{0});
    for (const char* text : {"", "2,", ",2", "2,,0", "[2, 0]", "-1, 0", "2.5", "x", "2, 1025"}) {
        INFO(text);
        CHECK_FALSE(parentsFrom(text));
    }
    const AttentionSpec spec = AttentionSpec::parse("position=dependency_tree(leading = 1, tree = 2, 0, 2)");
    CHECK(treeOfText(spec, {}) == DependencyTree(std::vector<double>{2, 0, 2}, 1));
    CHECK(treeOfText(spec, std::vector<int32_t>{0, 1}) == DependencyTree(std::vector<double>{0, 1}, 1));
    CHECK_THROWS_WITH(treeOfText(spec, std::vector<int32_t>(1025, 0)), CONTAINS("the tree has 1025 words"));
}

TEST_CASE("dependency tree: what a graph reads of a text says which tokens are outside of its tree", "[attention]") {
    const DependencyTree tree(std::vector<double>{2, 0, 2}, 1); // [CLS], three words, and padding
    constexpr int32_t kOut = DependencyTree::kNoRelation;
    std::vector<int32_t> depths(5), relations(25);
    tree.write(0, 5, depths, relations);
    CHECK(depths == std::vector<int32_t>{DependencyTree::kNoDepth, 1, 0, 1, DependencyTree::kNoDepth});
    CHECK(relations == std::vector<int32_t>{kOut, kOut, kOut, kOut, kOut, //
                                            kOut, 0,    1,    -2,   kOut, //
                                            kOut, -1,   0,    -1,   kOut, //
                                            kOut, 2,    1,    0,    kOut, //
                                            kOut, kOut, kOut, kOut, kOut});
    std::vector<int32_t> step(8); // two tokens of a text that continues, and the first four keys
    tree.write(2, 2, {}, step);
    CHECK(step == std::vector<int32_t>{kOut, -1, 0, -1, kOut, 2, 1, 0});
}

TEST_CASE("dependency tree: a text in which words of the tree are missing is refused", "[attention]") {
    const AttentionSpec three = AttentionSpec::parse("position=dependency_tree(leading = 1, tree = 2, 0, 2)");
    CHECK(treeEnd(three) == 4);
    CHECK(treeEnd(AttentionSpec()) == 0);
    CHECK_NOTHROW(requireWords(three, 4, "text"));
    CHECK_NOTHROW(requireWords(three, 9, "text")); // the others have no position
    CHECK_NOTHROW(requireWords(AttentionSpec::parse("position=rope"), 1, "text"));
    CHECK_THROWS_WITH(requireWords(three, 3, "text"),
                      CONTAINS("the tree ends at token 4, but the text has 3 tokens") && CONTAINS("tree = 2, 0, 2"));
    CHECK_THROWS_WITH(requireWords(three, 1, "text"), CONTAINS("the text has 1 token"));
}

TEST_CASE("dependency tree: a composition holds the list, and check() offers the nearest tree", "[attention]") {
    const auto treeIn = [](const AttentionSpec& spec) {
        const auto list = spec.values(Slot::Position).list("tree");
        return std::vector<double>(list.begin(), list.end());
    };
    const AttentionSpec usual = AttentionSpec::parse("position=dependency_tree");
    CHECK(treeIn(usual) == std::vector<double>(kExampleTree.begin(), kExampleTree.end()));
    CHECK(usual.text() == "position=dependency_tree");
    const AttentionSpec named = AttentionSpec::parse("position=dependency_tree(clip = 2, tree = 2, 0, 2), mask=full");
    CHECK(named.text() == "position=dependency_tree(clip = 2, tree = 2, 0, 2)");
    CHECK(AttentionSpec::parse(named.text()) == named);
    CHECK(AttentionSpec::parse("position=dependency_tree(2, 1, 0, 2, 0, 2)") == named);
    CHECK(AttentionSpec::parse("position=dependency_tree(tree = 2, 0, 2, clip = 2)") == named);
    CHECK_THROWS_WITH(AttentionSpec::parse("position=dependency_tree(tree = 2, 0, 1025)"), CONTAINS("out of range"));
    CHECK_THROWS_WITH(AttentionSpec::parse("position=dependency_tree(tree = 2, 0, 1.5)"), CONTAINS("out of range"));
    CHECK_THROWS_WITH(AttentionSpec::parse("position=dependency_tree(tree = 2, 0, x)"), CONTAINS("not a number"));

    const AttentionSpec rootless = AttentionSpec::parse("position=dependency_tree(tree = 2, 3, 1)");
    const auto problems = check(rootless);
    REQUIRE(problems.size() == 1);
    CHECK(problems.front().sentence.find("through other words") != std::string::npos);
    REQUIRE(problems.front().nearest);
    CHECK(check(*problems.front().nearest).empty());
}
