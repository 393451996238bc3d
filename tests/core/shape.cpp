#include "engine/core/shape.h"
#include "engine/core/error.h"
#include "tests/support/catch.h"

using namespace attn;

TEST_CASE("shape: counts elements, rows and padded elements", "[core]") {
    const Shape shape{2, 3, 5};
    CHECK(shape.elements() == 30);
    CHECK(shape.rows() == 6);
    CHECK(shape.rowStride() == 8);
    CHECK(shape.paddedElements() == 48);
    CHECK(Shape().elements() == 1);
    CHECK(Shape().rows() == 1);
    CHECK(Shape{0, 8}.elements() == 0);
    CHECK(Shape{4, 0}.paddedElements() == 0);
}

TEST_CASE("shape: a product that overflows is refused and not wrapped", "[core]") {
    constexpr int64_t kLarge = int64_t{1} << 40;
    for (const Shape& shape : {Shape{kLarge, kLarge}, Shape{kLarge, 0, kLarge}, Shape{-1, 3}, Shape{3, -1},
                               Shape{int64_t{1} << 62}, Shape{INT64_MAX}, Shape{INT64_MIN}}) {
        INFO(shape.text());
        CHECK_THROWS_AS(shape.elements(), Error);
        CHECK_THROWS_AS(shape.paddedElements(), Error);
    }
    CHECK_THROWS_AS((Shape{kLarge, kLarge, 4}.rows()), Error);
    CHECK_THROWS_AS((Shape{int64_t{1} << 60, 1}.paddedElements()), Error); // rows are padded to 4
    CHECK(Shape{kLarge, 0}.elements() == 0);
}

TEST_CASE("shape: a tensor to compute needs at least one element on every axis", "[core]") {
    CHECK_NOTHROW((Shape{1, 7}.requireUsable("x")));
    CHECK_NOTHROW(Shape().requireUsable("x"));
    for (const Shape& shape : {Shape{0}, Shape{4, 0}, Shape{int64_t{1} << 40, 0}, Shape{-2, 3}})
        CHECK_THROWS_WITH(shape.requireUsable("weights"),
                          "weights: has the shape " + shape.text() +
                              ", but every extent must be at least 1; give every axis at least one element");
}
