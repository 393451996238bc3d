#include "engine/core/error.h"
#include "tests/support/catch.h"

TEST_CASE("error: the sentence names the place, the thing and the remedy", "[core]") {
    const attn::Error error(
        {.what = "6 heads cannot share 4 key/value heads", .where = "attention", .hint = "choose 1, 2, 3 or 6"});
    CHECK(std::string(error.what()) == "attention: 6 heads cannot share 4 key/value heads; choose 1, 2, 3 or 6");
}
