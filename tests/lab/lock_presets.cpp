#include "app/lab/dialogs/lock_dialog.h"
#include "tests/lab/lab_window.h"

#include <set>

using namespace attn;

TEST_CASE("lock presets: each sets every group, and what they hide is out of sight", "[lab]") {
    LabWindow lab("builtin:english", "The teacher gave");
    LockDialog dialog({{"files", ControlState::Hidden}, {"cell", ControlState::Locked}});
    auto* preset = dialog.findChild<QComboBox*>("lockPreset");
    REQUIRE(preset);
    CHECK(preset->currentIndex() == -1);
    const auto choose = [&](const char* title) {
        const int at = preset->findText(title);
        REQUIRE(at >= 0);
        preset->setCurrentIndex(at);
        emit preset->activated(at);
        CHECK_FALSE(dialog.findChild<QLabel*>("lockPresetMeaning")->text().isEmpty());
        return dialog.locks();
    };
    const auto state = [](const ControlLocks& locks, const char* group) {
        return locks.value(group, ControlState::Free);
    };
    const ControlLocks reading = choose("Read only");
    CHECK(state(reading, "prompt") == ControlState::Locked);
    CHECK(state(reading, "attention") == ControlState::Free);
    CHECK(state(reading, "inspect") == ControlState::Free);
    CHECK(state(reading, "cell") == ControlState::Free); // the former choice is gone

    const ControlLocks one = choose("One head");
    CHECK(state(one, "attention") == ControlState::Locked);
    CHECK(state(one, "prompt") == ControlState::Free);
    CHECK(state(one, "heads") == ControlState::Hidden);

    const ControlLocks exam = choose("Exam");
    CHECK(state(exam, "inspect") == ControlState::Hidden);
    CHECK(state(exam, "attention") == ControlState::Free);
    lab.act("workspace.inspect");
    const auto shownDocks = [&] {
        std::set<QString> shown;
        for (const QDockWidget* dock : lab.window().findChildren<QDockWidget*>())
            if (!dock->isHidden()) shown.insert(dock->objectName());
        return shown;
    };
    const auto before = shownDocks();
    lab.window().locks().setOwn(exam);
    lab.layOut();
    CHECK_FALSE(shownDocks().contains("dock.interventions")); // which lists the next tokens
    CHECK_FALSE(shownDocks().contains("dock.lenses"));
    CHECK_FALSE(lab.find<QWidget>("attentionFlow").isVisible()); // it tells the prediction
    CHECK_FALSE(lab.find<QPushButton>("beamsEmpty.1").isEnabled());
    CHECK_FALSE(lab.find<QPushButton>("beamSearch").isEnabled());
    CHECK(lab.action("saveSession").isEnabled()); // to hand out what was locked
    lab.act("present");
    CHECK_FALSE(lab.find<QLabel>("presentAnswers").isVisible());
    lab.act("present");
    lab.act("workspace.write");
    lab.window().locks().setOwn({});
    lab.act("workspace.inspect");
    lab.layOut();
    CHECK(shownDocks() == before); // all panels are back
    lab.act("workspace.write");
    lab.window().locks().setOwn(exam);
    lab.layOut();
    CHECK_FALSE(lab.find<QTreeView>("candidates").isVisible());
    CHECK(lab.find<QWidget>("attentionGrid").isVisible());
    lab.showPanel("next"); // an empty panel would look broken
    CHECK(lab.find<QLabel>("nextLocked").isVisible());
    lab.showPanel("branches");
    CHECK(lab.find<QLabel>("branchesLocked").isVisible());
    lab.showPanel("next");
    lab.window().locks().setOwn({});
    lab.layOut();
    CHECK(lab.find<QTreeView>("candidates").isVisible());
    CHECK_FALSE(lab.find<QLabel>("nextLocked").isVisible());

    auto* buttons = dialog.findChild<QDialogButtonBox*>();
    buttons->button(QDialogButtonBox::Reset)->click();
    CHECK(dialog.locks().isEmpty());
    CHECK(preset->currentIndex() == -1);
}
