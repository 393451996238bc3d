#include "tests/lab/lab_window.h"

#include "app/lab/widgets/generated_text.h"

using namespace attn;

namespace {

const QString kStories = QStringLiteral(ATTN_SHARED_DIR "/models/stories260k");

bool isMissing() {
    if (QFileInfo(kStories).isDir()) return false;
    WARN("skipped: there is no " << kStories.toStdString());
    return true;
}

} // namespace

TEST_CASE("stories260k: the window writes the known story", "[lab]") {
    if (isMissing()) return;
    LabWindow lab(kStories, "Once upon a time");
    REQUIRE(lab.snapshot().model);
    lab.find<QSlider>("speed").setValue(lab.find<QSlider>("speed").maximum());
    lab.find<QSpinBox>("amount").setValue(70);
    lab.clickAndSettle("run");
    const std::string story = "Once upon a time, there was a little girl named Lily. She loved to play outside in the "
                              "park. One day, she saw a "
                              "big, red ball. She wanted to play with it, but it was too high.";
    CHECK_THAT(lab.text(), Catch::Matchers::StartsWith(story));
    CHECK(lab.find<GeneratedText>("text").toPlainText().toStdString().find(story.substr(0, 60)) != std::string::npos);
    CHECK(lab.snapshot().status.tokensPerSecond > 0);
}

TEST_CASE("stories260k: a character of several byte tokens shows as itself in the text", "[lab]") {
    if (isMissing()) return;
    LabWindow lab(kStories, "na\u00EFve \u4E16\u754C");
    CHECK(lab.find<GeneratedText>("text").toPlainText() == QString::fromUtf8("<s> na\u00EFve \u4E16\u754C"));
}

TEST_CASE("stories260k: loading and writing never block the window", "[lab]") {
    if (isMissing()) return;
    LabWindow lab;
    // Turns of the event loop while the session is at work. How long one takes depends on the machine.
    std::map<Activity, int> turns;
    QTimer tick;
    QObject::connect(&tick, &QTimer::timeout, [&] { ++turns[lab.window().bridge().latest()->status.activity]; });
    tick.start(1);
    lab.window().files().open(kStories, "Once upon a time");
    CHECK(lab.snapshot().model->name != "stories260k"); // it comes later
    REQUIRE(lab.waitFor([&] { return lab.snapshot().model && lab.snapshot().model->name == "stories260k"; }));
    lab.find<QSpinBox>("amount").setValue(lab.find<QSpinBox>("amount").maximum());
    lab.find<QPushButton>("run").click();
    CHECK(lab.waitFor([&] { return turns[Activity::Generating] > 20; }));
    lab.find<QPushButton>("stop").click();
    REQUIRE(lab.settle());
}
