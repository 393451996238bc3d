#include "engine/core/param_values.h"
#include "tests/support/catch.h"

#include <stdexcept>

using namespace attn;

namespace {

constexpr std::array<Param, 3> kParams{{{"window", "Window", "", Param::Kind::Integer},
                                        {"shared", "Shared", "", Param::Kind::Toggle},
                                        {"seed", "Seed", "", Param::Kind::Integer}}};
constexpr std::array<double, 3> kValues{64, 1, 4294967295};

} // namespace

TEST_CASE("param values: each is read by its name, whatever its place", "[core]") {
    const ParamValues values(kParams, kValues);
    CHECK(values.integer("window") == 64);
    CHECK(values.real("window") == 64.0);
    CHECK(values.flag("shared"));
    CHECK(values.seed() == 4294967295u);
}

TEST_CASE("param values: a list begins at the parameter that describes it", "[core]") {
    constexpr std::array<double, 5> kLonger{64, 1, 7, 8, 9};
    const auto list = ParamValues(kParams, kLonger).list("seed");
    REQUIRE(list.size() == 3);
    CHECK(list[0] == 7);
    CHECK(list[2] == 9);
}

TEST_CASE("param values: a name that no parameter has is refused", "[core]") {
    CHECK_THROWS_AS(ParamValues(kParams, kValues).integer("windows"), std::logic_error);
    CHECK_THROWS_AS(ParamValues().real("window"), std::logic_error);
}
