#include "app/figures/lens_answer.h"
#include "tests/support/catch.h"

using namespace attn;

TEST_CASE("lens answer: effects of heads have a colour scale that those of MLPs do not change", "[figures]") {
    HeadEffects effects{.layers = 2, .heads = 2, .headEffects = {0.1f, -0.2f, 0, 0.05f}, .mlpEffects = {-9, 3}};
    const MatrixFigure matrix = effectsAnswer(effects, "logit of “cat”").matrix;
    CHECK(matrix.columns() == 3);
    CHECK(matrix.valueAt({0, 2}) == -9);
    CHECK(matrix.largest(0) == 0.2f);
    CHECK(matrix.largest(1) == 0.2f);
    CHECK(matrix.largest(2) == 9);
    CHECK(matrix.writesValues);
    effects.mlpEffects.clear();
    CHECK_FALSE(effectsAnswer(effects, "logit of “cat”").matrix.aside);
}
