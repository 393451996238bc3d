#include "engine/models/hook_names.h"

#include "tests/support/catch.h"

using namespace attn;

TEST_CASE("names: of blocks, sites, hooks and parameters", "[models]") {
    CHECK(blockName(3) == "blocks.3");
    CHECK(siteName(3) == "blocks.3.attn");
    CHECK(inBlock(3, "hook_resid_pre") == "blocks.3.hook_resid_pre");
    CHECK(inEveryBlock("attn.hook_z") == "blocks.*.attn.hook_z");
    CHECK(attentionHook(12, "pattern") == "blocks.12.attn.hook_pattern");
}

TEST_CASE("names: a name is split at its block; other names stay whole", "[models]") {
    const auto split = [](const std::string& name) {
        const NameInBlock parts = splitName(name);
        return std::pair(parts.layer, parts.rest);
    };
    CHECK(split("blocks.12.attn.W_Q") == std::pair(12, std::string("attn.W_Q")));
    CHECK(split("blocks.2") == std::pair(2, std::string()));
    CHECK(split("hook_embed") == std::pair(-1, std::string("hook_embed")));
    for (const std::string name : {"blocks.", "blocks.x.attn", "blocks.-1.attn", "blocks.1x.attn",
                                   "blocks.99999999999.attn"}) // names from files
        CHECK(split(name) == std::pair(-1, name));
    CHECK(layerOfSite(siteName(7)) == 7);
    for (const char* name : {"blocks.7", "blocks.7.mlp", "attn", ""}) CHECK(layerOfSite(name) == std::nullopt);
    CHECK(splitName("merge.1.norm.w", "merge.").layer == 1);
}
