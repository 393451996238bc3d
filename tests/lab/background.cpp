#include "app/lab/bridge/training_bridge.h"
#include "app/lab/bridge/vision_bridge.h"
#include "app/lab/models/run_list_model.h"
#include "app/lab/widgets/banner.h"
#include "engine/training/checkpoint.h"
#include "engine/training/tasks/catalogue.h"
#include "tests/lab/held_pool.h"
#include "tests/lab/vision_test.h"
#include "tests/models/vision_folder.h"
#include "tests/support/catch.h"

#include <QBuffer>
#include <QClipboard>
#include <QComboBox>
#include <QDir>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFile>
#include <QGuiApplication>
#include <QImage>
#include <QLabel>
#include <QMimeData>
#include <QPushButton>
#include <QSignalSpy>
#include <QToolButton>
#include <QTreeView>

#include <algorithm>
#include <optional>

// Long work runs beside the window. While the threads for it are held, the window must not have its results.

namespace attn {
namespace {

QImage colouredPicture(const QColor& colour) {
    QImage picture(16, 16, QImage::Format_RGB32);
    picture.fill(colour);
    return picture;
}

/// Presses the button of the status bar, once it shows work.
bool cancels(LabWindow& lab) {
    auto& button = lab.find<QToolButton>("cancel");
    if (!lab.waitFor([&] { return button.isVisible(); })) return false;
    QTest::mouseClick(&button, Qt::LeftButton);
    return true;
}

} // namespace

TEST_CASE("background: the header of a checkpoint is read beside the window, and the newest wins", "[lab][training]") {
    LabWindow lab;
    REQUIRE(lab.settle());
    TrainingBridge& training = lab.window().workbench().training();
    QSignalSpy moments(&training, &TrainingBridge::visionMoment);
    const auto vit = QString::fromStdString((test::kGoldenRoot / "vit").string()),
               swin = QString::fromStdString((test::kGoldenRoot / "swin").string());
    {
        HeldPool held;
        training.show(vit, vit, 1);
        training.show(swin, swin, 2);
        QCoreApplication::processEvents();
        CHECK(moments.isEmpty());
    }
    REQUIRE(lab.waitFor([&] { return !moments.isEmpty(); }));
    REQUIRE(lab.settle());
    REQUIRE(moments.size() == 1);
    CHECK(moments[0][1].toString() == swin);

    // Whoever stops it, follows the run or opens another model has moved on.
    for (const int way : {0, 1, 2}) {
        INFO(way);
        HeldPool held;
        training.show(vit, vit, 3);
        if (way == 0) REQUIRE(cancels(lab));
        if (way == 1) training.follow(true);
        if (way == 2) lab.window().openModel("builtin:induction", {});
        held.release();
        REQUIRE(lab.settle());
        CHECK(moments.size() == 1);
    }
}

TEST_CASE("background: training runs are listed beside the window", "[lab][training]") {
    LabWindow lab; // an application
    const QString folder = lab.folder() + "/listed";
    const Recipe recipe = suggestedRecipe(*taskCatalogue().front());
    for (const char* name : {"old", "older", ".deleted/1/older"}) {
        REQUIRE(QDir().mkpath(folder + "/" + name));
        startRun((folder + "/" + name).toStdString(), recipe);
    }
    std::optional<RunListModel> model;
    {
        HeldPool held;
        model.emplace(folder);
        CHECK(model->runs().empty());
        CHECK(model->newFolder("old") == folder + "/old-2"); // no run takes the place of one that is not yet listed
        model->add(folder + "/new", recipe);
    }
    REQUIRE(lab.waitFor([&] { return model->rowCount() == 3; }));
    CHECK(model->runs()[0].name == "new"); // the newest first
    CHECK(model->runs()[0].isShown);
    CHECK(model->rowOf(folder + "/older") > 0);
    CHECK(model->runs()[0].colour != model->runs()[1].colour);
    CHECK(model->runs()[1].colour != model->runs()[2].colour);
    CHECK(lab.waitFor([&] { return !QDir(folder + "/.deleted/1").exists(); })); // of an earlier start

    // What is deleted now comes back with its curves, without being read again.
    const QString aside = model->putAside(model->rowOf(folder + "/older"));
    REQUIRE_FALSE(aside.isEmpty());
    {
        HeldPool held;
        REQUIRE(model->bringBack(aside));
        CHECK(model->rowOf(folder + "/older") == 0);
    }
    CHECK(QFile::exists(folder + "/older/recipe.json"));
}

TEST_CASE("background: the panel says that the training runs are being read", "[lab][training]") {
    std::optional<LabWindow> lab(std::in_place); // an application
    HeldPool held;
    lab.emplace();
    lab->showPanel("runs");
    const auto labels = lab->find<QWidget>("runs").findChildren<QLabel*>();
    const auto says = [&](const char* text) {
        return std::ranges::any_of(labels, [&](const QLabel* label) { return label->text().contains(text); });
    };
    CHECK(says("being read"));
    held.release();
    REQUIRE(lab->waitFor([&] { return says("Your training runs appear here"); }));
}

TEST_CASE("background: a folder of pictures is listed beside the window", "[lab][vision]") {
    LabWindow lab;
    REQUIRE(lab.settle());
    const QString folder = lab.folder() + "/pictures", empty = lab.folder() + "/empty";
    REQUIRE(QDir().mkpath(folder));
    REQUIRE(QDir().mkpath(empty));
    REQUIRE(colouredPicture(Qt::red).save(folder + "/a.png"));
    REQUIRE(colouredPicture(Qt::blue).save(folder + "/b.png"));
    lab.showPanel("vision");
    const auto& list = lab.find<QComboBox>("visionPicture");
    const QString before = panel(lab).setup().name;
    {
        HeldPool held;
        panel(lab).openPictures(folder);
        CHECK(panel(lab).isReading());
        CHECK(list.findText("b.png") < 0);
        REQUIRE(cancels(lab));
        CHECK_FALSE(panel(lab).isReading());
    }
    REQUIRE(lab.settle());
    CHECK(list.findText("b.png") < 0);
    CHECK(panel(lab).setup().name == before);
    panel(lab).openPictures(empty);
    panel(lab).openPictures(folder);
    REQUIRE(lab.waitFor([&] { return panel(lab).setup().name == folder + "/a.png"; }));
    CHECK(list.findText("b.png") >= 0);
    panel(lab).openPictures(empty);
    REQUIRE(lab.waitFor([&] { return lab.find<QLabel>("visionMessage").text().contains("contains no pictures"); }));
}

TEST_CASE("background: dropped and pasted pictures are decoded beside the window", "[lab][vision]") {
    LabWindow lab;
    REQUIRE(lab.settle());
    lab.showPanel("vision");
    const auto isShown = [&](const QColor& colour) {
        const auto& rgb = panel(lab).setup().picture->rgb;
        return rgb.size() == 768 && rgb[0] == colour.red() && rgb[2] == colour.blue();
    };
    QBuffer png;
    REQUIRE(png.open(QIODevice::WriteOnly));
    REQUIRE(colouredPicture(Qt::red).save(&png, "PNG"));
    QMimeData dropped;
    dropped.setData("image/png", png.data());
    const auto drop = [&] {
        QDragEnterEvent enter(QPoint(5, 5), Qt::CopyAction, &dropped, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&panel(lab), &enter);
        QDropEvent event(QPointF(5, 5), Qt::CopyAction, &dropped, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&panel(lab), &event);
    };
    {
        HeldPool held;
        drop();
        CHECK(panel(lab).isReading());
        CHECK_FALSE(isShown(Qt::red));
    }
    REQUIRE(lab.waitFor([&] { return isShown(Qt::red); }));
    QGuiApplication::clipboard()->setImage(colouredPicture(Qt::blue));
    {
        HeldPool held;
        QTest::mouseClick(&lab.find<QPushButton>("visionPaste"), Qt::LeftButton);
        CHECK_FALSE(isShown(Qt::blue));
    }
    REQUIRE(lab.waitFor([&] { return isShown(Qt::blue); }));
    dropped.setData("image/png", png.data().left(40));
    drop();
    const auto& message = lab.find<QLabel>("visionMessage");
    REQUIRE(lab.waitFor([&] { return message.text().contains("damaged"); }));
    emit lab.window().workbench().vision().changed(panel(lab).shown()); // the model's answer does not hide it
    CHECK(message.text().contains("damaged"));
    CHECK(message.isVisible());
    CHECK(isShown(Qt::blue));
}

TEST_CASE("background: exports are formed and written beside the window", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    REQUIRE(lab.settle());
    auto& candidates = lab.find<QTreeView>("candidates");
    candidates.setFocus();
    REQUIRE(lab.waitFor([&] { return candidates.hasFocus(); })); // its panel is exported
    for (const char* name : {"a.csv", "a.npz", "a.png", "a.svg"}) {
        INFO(name);
        const QString path = lab.folder() + "/" + name;
        {
            HeldPool held;
            lab.window().exportFigure(path);
            CHECK_FALSE(QFile::exists(path));
            REQUIRE(cancels(lab));
            CHECK(banner(lab, "offerBanner").text().contains("cancelled"));
            held.release();
            REQUIRE(lab.settle());
            CHECK_FALSE(QFile::exists(path));
        }
        {
            HeldPool held;
            lab.window().exportFigure(path);
            lab.window().exportFigure(lab.folder() + "/second.csv"); // one at a time
            CHECK(banner(lab, "failureBanner").text().contains("another export is still running"));
        }
        REQUIRE(lab.waitFor([&] { return banner(lab, "offerBanner").text().contains(path); }));
        CHECK(QFile::exists(path));
        CHECK_FALSE(QFile::exists(lab.folder() + "/second.csv"));
    }
}

} // namespace attn
