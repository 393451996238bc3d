#include "engine/training/training_memory.h"
#include "app/lab/panels/train_panel.h"
#include "engine/training/precision.h"
#include "tests/lab/training_test.h"

using namespace attn;

namespace {

QString mib(uint64_t bytes) { return QString::number(static_cast<double>(bytes) / (1 << 20), 'f', 1) + " MiB"; }

} // namespace

TEST_CASE("lab: the Train panel says what a step needs, with and without what saves memory", "[lab][training]") {
    LabWindow lab("builtin:reverse");
    lab.showPanel("train");
    auto* train = lab.window().findChild<TrainPanel*>();
    const auto& line = lab.find<QLabel>("trainMemory");
    REQUIRE(lab.waitFor([&] { return line.text().contains("With gradient checkpointing"); }));
    const TrainingMemory memory = trainingMemory(*train->recipe());
    CHECK(line.text().startsWith("A step needs " + mib(memory.bytes)));
    CHECK(line.text().contains("it would need " + mib(memory.alternatives.front().bytes)));

    Recipe recipe = *train->recipe();
    recipe.gradientCheckpointing = true;
    lab.window().workbench().requestRecipe(recipe);
    REQUIRE(lab.waitFor([&] { return line.text().contains("Without gradient checkpointing"); }));
    CHECK(line.text().startsWith("A step needs " + mib(memory.alternatives.front().bytes)));
    CHECK(line.text().contains("it would need " + mib(memory.bytes)));

    recipe.gradientCheckpointing = false;
    recipe.architecture.attention = "residual=reversible, feed_forward=gelu(4, 4), mask=causal";
    lab.window().workbench().requestRecipe(recipe);
    REQUIRE(lab.waitFor([&] { return line.text().contains("reversible layers"); }));
    CHECK(line.text().contains("all chunks"));
}

TEST_CASE("lab: a card says what the chosen precision is for, and a run in it trains", "[lab][training]") {
    LabWindow lab("builtin:reverse");
    lab.showPanel("train");
    auto* train = lab.window().findChild<TrainPanel*>();
    auto& box = lab.find<QComboBox>("precision");
    const auto& card = lab.find<QLabel>("precisionCard");
    CHECK(box.currentData().toString() == "f32");
    CHECK(card.text().isEmpty());
    lab.find<QToolButton>("trainingSection").click();
    for (const DType dtype : {DType::BF16, DType::F16}) {
        const Precision& precision = precisionOf(dtype);
        const auto textOf = [](std::string_view text) {
            return QString::fromUtf8(text.data(), qsizetype(text.size()));
        };
        box.setCurrentIndex(box.findData(textOf(precision.id)));
        emit box.activated(box.currentIndex());
        REQUIRE(train->recipe());
        CHECK(train->recipe()->precision == dtype);
        for (const std::string_view sentence : {precision.purpose, precision.approximation, precision.result,
                                                precision.command, precision.source.address})
            CHECK(card.text().contains(textOf(sentence)));
        lab.layOut();
        const int gap = card.mapTo(train, QPoint()).y() - box.mapTo(train, QPoint(0, box.height())).y();
        CHECK(card.isVisible());
        CHECK((gap >= 0 && gap < box.height())); // where who has just chosen looks
        const auto& line = lab.find<QLabel>("trainMemory");
        REQUIRE(lab.waitFor([&] { return line.text().contains("With 32 bits it would need"); }));
    }
    Recipe recipe = *train->recipe();
    recipe.schedule.steps = 4;
    lab.window().workbench().requestRecipe(recipe);
    CHECK(box.currentData().toString() == "f16");
    train->play();
    REQUIRE(trainsToItsEnd(lab));
    CHECK(training(lab).recipe->precision == DType::F16);
}
