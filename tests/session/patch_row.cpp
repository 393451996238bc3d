#include "engine/session/patch_row.h"

#include "tests/io/files.h"

using namespace attn;
using namespace attn::test;

namespace {

/// CLS and two patches, two heads.
VisionInfo info() {
    VisionInfo result;
    result.heads = 2;
    result.grid = {1, 2};
    result.prefix = {"CLS"};
    return result;
}
const std::vector<float> kPattern{0.5f, 0.25f, 0.25f, 0, 1, 0, 0.5f, 0, 0.5f, /**/ 0, 0, 1, 0.5f, 0, 0.5f, 1, 0, 0};

} // namespace

TEST_CASE("patch row: of one token, and the mean of all patches", "[session][vision]") {
    const auto head = std::span(kPattern).first(9);
    CHECK(patchRow(head, info(), 0) == PatchRow{{0.25f, 0.25f}, 0.5});
    CHECK(patchRow(head, info(), 2) == PatchRow{{0, 0.5f}, 0.5});
    CHECK(patchRow(head, info(), {}) == PatchRow{{0.5f, 0.25f}, 0.25});
}

TEST_CASE("patch row: of the heads as one", "[session][vision]") {
    CHECK(fusedPatchRow(kPattern, info(), 0, HeadFusion::Mean) == PatchRow{{0.125f, 0.625f}, 0.25});
    CHECK(fusedPatchRow(kPattern, info(), 0, HeadFusion::Maximum) == PatchRow{{0.25f, 1}, 0.5});
    CHECK(fusedPatchRow(kPattern, info(), 0, HeadFusion::Minimum) == PatchRow{{0, 0.25f}, 0});
}

TEST_CASE("patch row: the difference of two grids that agree", "[session][vision]") {
    CHECK(difference({{1, 0.25f}, 0}, {{0.5f, 0.5f}, 0}) == std::vector<float>{0.5f, -0.25f});
    CHECK_THAT(sentenceOf([] { difference({{1}, 0}, {{1, 2}, 0}); }), CONTAINS("1 patches have no difference from 2"));
}
