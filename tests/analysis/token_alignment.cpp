#include "engine/analysis/token_alignment.h"

#include "tests/support/catch.h"

using namespace attn;

namespace {

std::vector<int> aligned(const std::vector<int>& a, const std::vector<int>& b) { return alignTokens(a, b); }

} // namespace

TEST_CASE("token alignment: what is inserted or left out has no partner, what follows keeps its own", "[session]") {
    CHECK(aligned({1, 2, 3, 4}, {1, 2, 3, 4}) == std::vector<int>{0, 1, 2, 3});
    CHECK(aligned({1, 2, 3, 4}, {1, 9, 2, 3, 4}) == std::vector<int>{0, 2, 3, 4});
    CHECK(aligned({1, 9, 8, 2, 3}, {1, 2, 3}) == std::vector<int>{0, -1, -1, 1, 2});
    CHECK(aligned({5, 5, 5}, {5, 5}).size() == 3);
    CHECK(aligned({}, {1}).empty());
    CHECK(aligned({1}, {}) == std::vector<int>{-1});
}

TEST_CASE("token alignment: a token in another's place stands for it", "[session]") {
    CHECK(aligned({1, 2, 3, 4}, {1, 7, 3, 4}) == std::vector<int>{0, 1, 2, 3});
    CHECK(aligned({1, 2, 3, 4}, {1, 7, 8, 3, 4}) == std::vector<int>{0, -1, 3, 4}); // one against two: nobody's place
    CHECK(aligned({1, 2}, {3, 4}) == std::vector<int>{0, 1});
    CHECK(aligned({9, 1, 2}, {8, 1, 2, 5}) == std::vector<int>{0, 1, 2});
}

TEST_CASE("token alignment: partners rise, and long texts go by position", "[session]") {
    std::vector<int> a, b;
    for (int i = 0; i < 300; ++i) a.push_back(i * 7919 % 23);
    for (int i = 0; i < 280; ++i) b.push_back(i * 104729 % 19);
    int last = -1;
    for (int partner : aligned(a, b)) {
        if (partner < 0) continue;
        CHECK(partner > last);
        last = partner;
    }
    std::vector<int> longest(kMostAligned + 1);
    std::iota(longest.begin(), longest.end(), 0);
    const std::vector<int> partners = aligned(longest, {5, 6});
    CHECK(partners[0] == 0);
    CHECK(partners[1] == 1);
    CHECK(partners[2] == -1);
}
