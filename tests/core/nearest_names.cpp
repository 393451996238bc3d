#include "engine/core/nearest_names.h"
#include "tests/support/catch.h"

TEST_CASE("nearest names: the fewest edits first, ties in alphabetical order, never more than there are", "[core]") {
    const std::vector<std::string> names{"window", "row", "causal", "cow"};
    CHECK(attn::nearestNames("windw", names, 1) == std::vector<std::string>{"window"});
    CHECK(attn::nearestNames("wow", names, 2) == std::vector<std::string>{"cow", "row"});
    CHECK(attn::nearestNames("", names, 9) == std::vector<std::string>{"cow", "row", "causal", "window"});
    CHECK(attn::nearestNames("causal", {}, 3).empty());
}

TEST_CASE("nearest names: of very long names only the beginnings are compared", "[core]") {
    const std::string name(4 << 20, 'a'); // all of it would take hours
    const std::vector<std::string> names{"b" + name, name, std::string(4 << 20, 'c')};
    CHECK(attn::nearestNames("a", {name.substr(0, 300), "ab"}, 1) == std::vector<std::string>{"ab"});
    CHECK(attn::nearestNames(name, names, 2) == std::vector<std::string>{name, names[0]});
}
