#include "engine/core/rng.h"
#include "tests/support/catch.h"

TEST_CASE("rng: each name and each seed has a random stream of its own", "[core]") {
    std::set<uint64_t> first;
    for (const uint64_t seed : {0, 1, 2, 3})
        for (const char* name : {"q", "k", "v", "position.keys", "position.values"})
            for (const uint64_t counter : {0, 1})
                first.insert(static_cast<uint64_t>(attn::uniform(attn::streamSeed(seed, name), counter) * 0x1p53));
    CHECK(first.size() == 4 * 5 * 2);
    CHECK(attn::streamSeed(0, "a") == 0xAF63DC4C8601EC8C); // FNV-1a's own test value
}
