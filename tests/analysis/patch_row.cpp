#include "engine/analysis/patch_row.h"

#include "tests/io/files.h"

using namespace attn;
using namespace attn::test;

namespace {

const std::vector<float> kPattern{0.5f, 0.25f, 0.25f, 0, 1, 0, 0.5f, 0, 0.5f, /**/ 0, 0, 1, 0.5f, 0, 0.5f, 1, 0, 0};

/// CLS and two patches, two heads.
SitePattern pattern() {
    return {.layout = {.prefix = 1, .tokens = 3, .tokenOf = {1, 2}, .windows = {}}, .heads = 2, .values = kPattern};
}

} // namespace

TEST_CASE("patch row: of one token, and the mean of all patches", "[session][vision]") {
    CHECK(patchRow(pattern(), 0, 0) == PatchRow{{0.25f, 0.25f}, 0.5});
    CHECK(patchRow(pattern(), 0, 2) == PatchRow{{0, 0.5f}, 0.5});
    CHECK(patchRow(pattern(), 0, {}) == PatchRow{{0.5f, 0.25f}, 0.25});
}

TEST_CASE("patch row: patches of one token share its row and its number", "[session][vision]") {
    SitePattern merged = pattern();
    merged.layout.tokenOf = {1, 2, 1, 1}; // of four patches
    CHECK(patchRow(merged, 0, 0) == PatchRow{{0.25f, 0.25f, 0.25f, 0.25f}, 0.5});
    CHECK(patchRow(merged, 0, 3) == patchRow(merged, 0, 1));
    CHECK(patchRow(merged, 0, {}) == PatchRow{{0.75f, 0.125f, 0.75f, 0.75f}, 0.125}); // three of token 1, one of 2
}

TEST_CASE("patch row: of the heads as one", "[session][vision]") {
    CHECK(fusedPatchRow(pattern(), 0, HeadFusion::Mean) == PatchRow{{0.125f, 0.625f}, 0.25});
    CHECK(fusedPatchRow(pattern(), 0, HeadFusion::Maximum) == PatchRow{{0.25f, 1}, 0.5});
    CHECK(fusedPatchRow(pattern(), 0, HeadFusion::Minimum) == PatchRow{{0, 0.25f}, 0});
}

TEST_CASE("patch row: the difference of two grids that agree", "[session][vision]") {
    CHECK(difference({{1, 0.25f}, 0}, {{0.5f, 0.5f}, 0}) == std::vector<float>{0.5f, -0.25f});
    CHECK_THAT(sentenceOf([] {
                   difference({{1}, 0}, {{1, 2}, 0});
               }),
               CONTAINS("pictures of 1 and 2 patches have no difference"));
}
