#include "app/lab/dialogs/lock_dialog.h"
#include "tests/lab/lab_window.h"

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
    lab.window().locks().setOwn(exam);
    lab.layOut();
    CHECK_FALSE(lab.find<QTreeView>("candidates").isVisible());
    CHECK(lab.find<QWidget>("attentionGrid").isVisible());
    lab.window().locks().setOwn({});

    auto* buttons = dialog.findChild<QDialogButtonBox*>();
    buttons->button(QDialogButtonBox::Reset)->click();
    CHECK(dialog.locks().isEmpty());
    CHECK(preset->currentIndex() == -1);
}
