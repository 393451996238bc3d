#include "app/lab/bridge/training_bridge.h"
#include "app/lab/models/run_list_model.h"
#include "engine/training/checkpoint.h"
#include "engine/training/tasks/catalogue.h"
#include "tests/lab/held_pool.h"
#include "tests/lab/vision_test.h"

// Long work runs beside the window. While the threads for it are held, the window must not have its results.

using namespace attn;

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
    CHECK(model->runs()[0].series != model->runs()[1].series);
    CHECK(model->runs()[1].series != model->runs()[2].series);
    CHECK(lab.waitFor([&] { return !QDir(folder + "/.deleted/1").exists(); })); // of an earlier start

    // What is deleted now comes back with its curves, without being read again.
    const QString aside = model->putAside(model->rowOf(folder + "/older"));
    REQUIRE_FALSE(aside.isEmpty());
    {
        HeldPool held;
        REQUIRE(model->restore(aside));
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
    REQUIRE(lab->waitFor([&] { return lab->find<QLabel>("runsEmpty").isVisible(); }));
    CHECK_FALSE(says("being read"));
    lab->act("workspace.train");
    lab->act("panel.runs");
    CHECK_FALSE(lab->find<QTreeView>("runs").isVisible());
    lab->click("runsEmpty.1"); // Train a model
    REQUIRE(lab->waitFor([&] { return lab->window().workbench().runs().rowCount() == 1; }));
    lab->showPanel("runs");
    CHECK(lab->find<QTreeView>("runs").isVisible());
    CHECK_FALSE(lab->find<QLabel>("runsEmpty").isVisible());
    lab->act("trainPlay"); // pause
}

TEST_CASE("background: a folder of pictures is listed beside the window", "[lab][vision]") {
    LabWindow lab;
    const QString folder = lab.folder() + "/pictures", empty = lab.folder() + "/empty";
    REQUIRE(QDir().mkpath(folder));
    REQUIRE(QDir().mkpath(empty));
    REQUIRE(colouredPicture(Qt::red).save(folder + "/a.png"));
    REQUIRE(colouredPicture(Qt::blue).save(folder + "/b.png"));
    openGolden(lab, "vit");
    const auto& list = lab.find<QComboBox>("pictureChoice");
    const QString before = setup(lab).name;
    {
        HeldPool held;
        input(lab).openPictures(folder);
        CHECK(input(lab).isReading());
        CHECK(list.findText("b.png") < 0);
        REQUIRE(cancels(lab));
        CHECK_FALSE(input(lab).isReading());
    }
    REQUIRE(lab.settle());
    CHECK(list.findText("b.png") < 0);
    CHECK(setup(lab).name == before);
    input(lab).openPictures(empty);
    input(lab).openPictures(folder);
    REQUIRE(lab.waitFor([&] { return setup(lab).name == folder + "/a.png"; }));
    CHECK(list.findText("b.png") >= 0);
    input(lab).openPictures(empty);
    REQUIRE(lab.waitFor([&] { return lab.find<QLabel>("pictureMessage").text().contains("contains no pictures"); }));
}

TEST_CASE("background: dropped and pasted pictures are decoded beside the window", "[lab][vision]") {
    GoldenWindow lab("vit");
    const auto isShown = [&](const QColor& colour) {
        const auto& rgb = setup(lab).given.image->rgb;
        return rgb.size() == 768 && rgb[0] == colour.red() && rgb[2] == colour.blue();
    };
    QBuffer png;
    REQUIRE(png.open(QIODevice::WriteOnly));
    REQUIRE(colouredPicture(Qt::red).save(&png, "PNG"));
    QMimeData dropped;
    dropped.setData("image/png", png.data());
    const auto drop = [&] {
        QDragEnterEvent enter(QPoint(5, 5), Qt::CopyAction, &dropped, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&input(lab), &enter);
        QDropEvent event(QPointF(5, 5), Qt::CopyAction, &dropped, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&input(lab), &event);
    };
    {
        HeldPool held;
        drop();
        CHECK(input(lab).isReading());
        CHECK_FALSE(isShown(Qt::red));
    }
    REQUIRE(lab.waitFor([&] { return isShown(Qt::red); }));
    QGuiApplication::clipboard()->setImage(colouredPicture(Qt::blue));
    {
        HeldPool held;
        lab.click("picturePaste");
        CHECK_FALSE(isShown(Qt::blue));
    }
    REQUIRE(lab.waitFor([&] { return isShown(Qt::blue); }));
    dropped.setData("image/png", png.data().left(40));
    drop();
    const auto& message = lab.find<QLabel>("pictureMessage");
    REQUIRE(lab.waitFor([&] { return message.text().contains("damaged"); }));
    input(lab).setSnapshot(lab.window().workbench().snapshot()); // the model's answer does not hide it
    CHECK(message.text().contains("damaged"));
    CHECK(message.isVisible());
    CHECK(isShown(Qt::blue));
}

TEST_CASE("background: exports are formed and written beside the window", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    auto& candidates = lab.find<QTreeView>("candidates");
    candidates.setFocus();
    REQUIRE(lab.waitFor([&] { return candidates.hasFocus(); })); // its panel is exported
    for (const char* name : {"a.csv", "a.npz", "a.png", "a.svg"}) {
        INFO(name);
        const QString path = lab.folder() + "/" + name;
        {
            HeldPool held;
            lab.window().exports().exportFigure(path);
            CHECK_FALSE(QFile::exists(path));
            REQUIRE(cancels(lab));
            CHECK(banner(lab, "offerBanner").text().contains("cancelled"));
            held.release();
            REQUIRE(lab.settle());
            CHECK_FALSE(QFile::exists(path));
        }
        {
            HeldPool held;
            lab.window().exports().exportFigure(path);
            lab.window().exports().exportFigure(lab.folder() + "/second.csv"); // one at a time
            CHECK(banner(lab, "failureBanner").text().contains("another export is still running"));
        }
        REQUIRE(lab.waitFor([&] { return banner(lab, "offerBanner").text().contains(path); }));
        CHECK(QFile::exists(path));
        CHECK_FALSE(QFile::exists(lab.folder() + "/second.csv"));
    }
}
