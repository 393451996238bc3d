#include "app/lab/common/preferences.h"
#include "app/lab/dialogs/storage_dialog.h"
#include "app/lab/widgets/status_strip.h"
#include "tests/lab/lab_window.h"
#include "tests/models/hollow_llama.h"

// How weights are kept is chosen before a large model is loaded, and again while a model is open.

using namespace attn;

namespace {

/// 70 MiB of weights in f32.
constexpr test::HollowLlama kLarge{.width = 512, .heads = 8, .feedForward = 11264};

StorageDialog* dialogOf(LabWindow& lab) { return lab.window().findChild<StorageDialog*>(); }

/// Waits for the dialog and for the speeds in it.
void waitForChoice(LabWindow& lab) {
    REQUIRE(lab.waitFor([&] { return dialogOf(lab) != nullptr; }));
    auto& table = lab.find<QTreeWidget>("storages");
    REQUIRE(lab.waitFor([&] { return table.topLevelItem(0)->text(2).startsWith("about "); }));
}

/// Moves down to the row of a storage, and presses Return.
void choose(LabWindow& lab, Storage storage) {
    auto& table = lab.find<QTreeWidget>("storages");
    const int now = table.indexOfTopLevelItem(table.currentItem()), wanted = static_cast<int>(storage);
    for (int row = now; row != wanted; row += row < wanted ? 1 : -1)
        QTest::keyClick(&table, row < wanted ? Qt::Key_Down : Qt::Key_Up);
    QTest::keyClick(&table, Qt::Key_Return);
    REQUIRE(lab.waitFor([&] { return dialogOf(lab) == nullptr; }));
}

Storage storageOf(LabWindow& lab) { return lab.snapshot().model->storage; }

} // namespace

TEST_CASE("lab: a large model shows the memory and the speed of each storage before it is loaded", "[lab]") {
    const TemporaryFolder folder;
    REQUIRE(kLarge.write(folder.path()));
    const QString path = QString::fromStdString(folder.path().string());
    LabWindow lab;
    REQUIRE(lab.settle());
    lab.forget();
    lab.window().files().open(path);
    waitForChoice(lab);
    CHECK(lab.postedOf<OpenModelCommand>().empty());
    auto& table = lab.find<QTreeWidget>("storages");
    const StorageChoice choice = storageChoice(folder.path().string());
    REQUIRE(table.topLevelItemCount() == static_cast<int>(std::size(kStorages)));
    CHECK(table.topLevelItem(0)->isSelected());
    CHECK(table.topLevelItem(0)->text(0) == "f32: 32 bits, as in the file");
    for (int row = 0; row < table.topLevelItemCount(); ++row) {
        const StorageNeeds& needs = choice.needs[static_cast<size_t>(row)];
        const QString bytes = QLocale().formattedDataSize(needs.parameterBytes, 1, QLocale::DataSizeIecFormat);
        CHECK(table.topLevelItem(row)->text(1) == bytes);
        CHECK(table.topLevelItem(row)->text(2).endsWith(" tokens/s"));
    }
    CHECK(dialogOf(lab)->storage() == Storage::F32);
    choose(lab, Storage::Q8_0);
    REQUIRE(lab.waitFor([&] { return lab.snapshot().modelPath == folder.path().string(); }));
    REQUIRE(lab.settle());
    CHECK(storageOf(lab) == Storage::Q8_0);
    CHECK(lab.snapshot().model->parameterBytes == choice.needs[static_cast<size_t>(Storage::Q8_0)].parameterBytes);
    CHECK(std::ranges::any_of(lab.window().findChild<StatusStrip*>()->findChildren<QLabel*>(),
                              [](const QLabel* label) { return label->text().contains("weights as q8_0"); }));

    // The next time it begins with the same storage; Cancel changes nothing.
    lab.window().files().open("builtin:induction");
    REQUIRE(lab.waitFor([&] { return lab.snapshot().model->name == "induction"; }));
    CHECK(storageOf(lab) == Storage::F32);
    REQUIRE(lab.settle());
    lab.window().files().open(path);
    waitForChoice(lab);
    CHECK(dialogOf(lab)->storage() == Storage::Q8_0);
    QTest::keyClick(dialogOf(lab), Qt::Key_Escape);
    REQUIRE(lab.waitFor([&] { return dialogOf(lab) == nullptr; }));
    CHECK(banner(lab, "offerBanner").text().contains("Nothing has changed"));
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().model->name == "induction");
    CHECK(rememberedStorage(path) == Storage::Q8_0);
    CHECK(rememberedStorage("/another") == Storage::F32);
}

TEST_CASE("lab: the open model keeps its text, branches and views in another storage, and undo leads back", "[lab]") {
    LabWindow lab("builtin:stories", "Once upon a time");
    REQUIRE(lab.settle());
    lab.act("step");
    lab.act("step");
    const std::string text = lab.text();
    const std::vector<float> before = lab.snapshot().next->logits;
    const auto bytes = lab.snapshot().model->parameterBytes;
    lab.press(lab.action("weightStorage"));
    waitForChoice(lab);
    CHECK(dialogOf(lab)->storage() == Storage::F32);
    const auto rowOf = [&](Storage storage) {
        return lab.find<QTreeWidget>("storages").topLevelItem(static_cast<int>(storage))->text(0);
    };
    CHECK(rowOf(Storage::Q8_0) == "q8_0: about 8 bits, rounded");
    CHECK(rowOf(Storage::Q4_0) == "q4_0: about 4 bits, rounded coarsely");
    CHECK(rowOf(Storage::Q4_K) == "q4_k is the same as q8_0 for this model"); // its rows are no multiple of 256
    choose(lab, Storage::Q8_0);
    const auto isBack = [&](Storage storage) {
        return lab.waitFor([&] {
            return lab.snapshot().model && storageOf(lab) == storage && lab.snapshot().sequence && lab.text() == text &&
                   lab.snapshot().next;
        });
    };
    REQUIRE(isBack(Storage::Q8_0));
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().model->parameterBytes < bytes / 2);
    CHECK(lab.snapshot().next->logits != before); // they are rounded

    // A session opens in the same storage again.
    const QString session = lab.folder() + "/q8.attnlab";
    lab.saveSession(session);
    CHECK(lab.action("undo").text().endsWith("keeping weights as q8_0"));
    lab.action("undo").trigger();
    REQUIRE(isBack(Storage::F32));
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().next->logits == before);
    lab.window().files().open(session);
    REQUIRE(isBack(Storage::Q8_0));
    REQUIRE(lab.settle());

    // The storage that is in use already: nothing happens.
    lab.forget();
    lab.action("weightStorage").trigger();
    waitForChoice(lab);
    CHECK(dialogOf(lab)->storage() == Storage::Q8_0);
    choose(lab, Storage::Q8_0);
    REQUIRE(lab.settle());
    CHECK(lab.postedOf<OpenModelCommand>().empty());
}

TEST_CASE("lab: a storage that only takes as much memory as another one is not called the same", "[lab]") {
    const TemporaryFolder folder;
    REQUIRE(test::HollowLlama{.feedForward = 172}.write(folder.path())); // short rows, which are padded
    LabWindow lab;
    const StorageDialog dialog(storageChoice(folder.path().string()), Storage::F32, "Open", &lab.window());
    const auto textOf = [&](Storage storage) {
        return dialog.findChild<QTreeWidget*>("storages")->topLevelItem(static_cast<int>(storage))->text(0);
    };
    CHECK(textOf(Storage::Q8_0) == "q8_0: about 8 bits, rounded");
    CHECK(textOf(Storage::Q4_0) == "q4_0: about 4 bits, rounded coarsely, but it takes as much memory as q8_0");
    CHECK(textOf(Storage::Q4_K) == "q4_k is the same as q8_0 for this model");
}

TEST_CASE("lab: a model of pictures has no speed of writing, and keeps its picture in another storage",
          "[lab][vision]") {
    LabWindow lab("builtin:vit-fashion");
    REQUIRE(lab.waitFor([&] { return lab.snapshot().answer != nullptr; }));
    REQUIRE(lab.settle());
    const Image before = *lab.snapshot().picture->image;
    lab.press(lab.action("weightStorage"));
    REQUIRE(lab.waitFor([&] { return dialogOf(lab) != nullptr; }));
    CHECK(lab.find<QTreeWidget>("storages").isColumnHidden(2));
    choose(lab, Storage::F16);
    REQUIRE(lab.waitFor([&] { return storageOf(lab) == Storage::F16 && lab.snapshot().answer; }));
    REQUIRE(lab.settle());
    CHECK(*lab.snapshot().picture->image == before);
}
