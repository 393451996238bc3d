#include "engine/core/growing_list.h"
#include "tests/support/catch.h"

using namespace attn;

using Words = GrowingList<std::string>;

namespace {
std::vector<std::string> contents(const Words& words) { return {words.begin(), words.end()}; }
} // namespace

TEST_CASE("growing list: copies share what they have in common, and each keeps its own end", "[core]") {
    Words words{"a", "b"};
    const Words before = words;
    words.push_back("c");
    CHECK(contents(before) == std::vector<std::string>{"a", "b"});
    CHECK(contents(words) == std::vector<std::string>{"a", "b", "c"});
    CHECK(words.data() == before.data()); // the newest copy grows in place
    Words other = before;
    other.push_back("d"); // its place is taken
    CHECK(contents(other) == std::vector<std::string>{"a", "b", "d"});
    CHECK(contents(words) == std::vector<std::string>{"a", "b", "c"});
    other.replace(0, "e");
    CHECK(contents(other) == std::vector<std::string>{"e", "b", "d"});
    CHECK(contents(before) == std::vector<std::string>{"a", "b"});
    words.truncate(1);
    words.push_back("f");
    CHECK(contents(words) == std::vector<std::string>{"a", "f"});
    CHECK(contents(Words()).empty());
}

TEST_CASE("growing list: elements move to a larger room only now and then", "[core]") {
    GrowingList<int> numbers;
    const int* room = nullptr;
    int moves = 0;
    for (int i = 0; i < 10'000; ++i) {
        const GrowingList<int> kept = numbers; // as a snapshot does
        numbers.push_back(i);
        moves += std::exchange(room, numbers.data()) != numbers.data() ? 1 : 0;
    }
    CHECK(moves < 20);
    for (int i = 0; i < 10'000; ++i) REQUIRE(numbers[static_cast<size_t>(i)] == i);
}

TEST_CASE("growing list: threads may read copies while one grows", "[core]") {
    GrowingList<int> numbers;
    for (int i = 0; i < 1000; ++i) {
        numbers.push_back(i);
        if (i % 100 != 0) continue;
        std::jthread reader([copy = numbers] {
            for (size_t at = 0; at < copy.size(); ++at)
                if (copy[at] != static_cast<int>(at)) std::terminate();
        });
        for (int more = 1; more < 50; ++more) numbers.push_back(++i);
    }
    CHECK(numbers.size() == 1000);
}
