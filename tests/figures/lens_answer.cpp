#include "app/figures/lens_answer.h"
#include "app/figures/head_lenses.h"
#include "engine/analysis/storage_effects.h"
#include "engine/inference/model_info.h"
#include "tests/support/catch.h"

using namespace attn;

TEST_CASE("lens answer: effects of heads have a colour scale that those of MLPs do not change", "[figures]") {
    const ModelStructure structure{.axes = {{}}, .streams = {{}}, .sites = {{.layer = 0}, {.layer = 1}}};
    HeadEffects effects{.sites = 2, .heads = 2, .headEffects = {0.1f, -0.2f, 0, 0.05f}, .mlpEffects = {-9, 3}};
    const MatrixFigure matrix = effectsAnswer(effects, structure, "logit of “cat”").matrix;
    CHECK(matrix.columns() == 3);
    CHECK(matrix.valueAt({0, 2}) == -9);
    CHECK(matrix.largest(0) == 0.2f);
    CHECK(matrix.largest(1) == 0.2f);
    CHECK(matrix.largest(2) == 9);
    CHECK(matrix.writesValues);
    effects.mlpEffects.clear();
    CHECK_FALSE(effectsAnswer(effects, structure, "logit of “cat”").matrix.aside);
}

TEST_CASE("lens answer: its table has true minus signs, its file those of ASCII", "[figures]") {
    using Component = LogitAttribution::Component;
    LensFigure figure;
    figure.answer = contributionsAnswer(std::vector<Component>{{.value = -1.5f}, {.value = 0.25f}}, "logit");
    REQUIRE(figure.answer.rows.size() == 2);
    CHECK(figure.answer.rows[0][1] == "−1.5000");
    CHECK(figure.answer.summary == "the contributions sum to −1.2500");
    figure.answer.bars.lines.clear(); // the table alone is written
    CHECK(figure.csv().contains("\"-1.5000\""));
    CHECK_FALSE(figure.csv().contains("−"));
    LensAnswer before = figure.answer;
    before.rows[0][1] = "−0.5000";
    CHECK(changeOf(figure.answer, before).rows[0][3] == "−1.0000");
}

TEST_CASE("lens answer: a storage that weights overflow has a row without numbers, and its reason", "[figures]") {
    StorageEffects found;
    found.effects = {{.storage = Storage::F32, .parameterBytes = 2 << 20, .perplexity = 2, .divergence = {{0}}},
                     {.storage = Storage::F16, .problem = "9 of 9 logits are NaN"},
                     {.storage = Storage::BF16, .parameterBytes = 1 << 20, .perplexity = 3, .divergence = {{0.5}}}};
    ModelInfo info;
    info.structure = {.axes = {{}}, .streams = {{}}, .sites = {{.layer = 0}}};
    const LensAnswer answer = showStorageEffects(found, {.model = info, .axis = {}});
    REQUIRE(answer.rows.size() == 3);
    CHECK(answer.rows[1] == QStringList{"f16", "–", "–", "–", "–"});
    CHECK(answer.rows[2][1] == "1.0 MiB");
    CHECK(answer.summary.endsWith("f16 is not available: 9 of 9 logits are NaN."));
    CHECK(answer.matrix.rows() == 1);
    CHECK(answer.matrix.valueAt({0, 0}) == 0.5f);
}
