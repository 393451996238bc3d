#include "engine/core/nearest_names.h"
#include "tests/support/catch.h"

TEST_CASE("nearest names: the fewest edits first, ties in alphabetical order, never more than there are", "[core]") {
    const std::vector<std::string> names{"window", "row", "causal", "cow"};
    CHECK(attn::nearestNames("windw", names, 1) == std::vector<std::string>{"window"});
    CHECK(attn::nearestNames("wow", names, 2) == std::vector<std::string>{"cow", "row"});
    CHECK(attn::nearestNames("", names, 9) == std::vector<std::string>{"cow", "row", "causal", "window"});
    CHECK(attn::nearestNames("causal", {}, 3).empty());
}
