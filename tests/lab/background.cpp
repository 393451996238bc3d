#include "app/lab/models/run_list_model.h"
#include "app/lab/widgets/banner.h"
#include "engine/training/checkpoint.h"
#include "engine/training/tasks/catalogue.h"
#include "tests/lab/held_pool.h"
#include "tests/lab/lab_window.h"
#include "tests/support/catch.h"

#include <QDir>
#include <QFile>
#include <QLabel>
#include <QToolButton>
#include <QTreeView>

#include <algorithm>
#include <optional>

// Long work runs beside the window. While the threads for it are held, the window must not have its results.

namespace attn {
namespace {

/// Presses the button of the status bar, once it shows work.
bool cancels(LabWindow& lab) {
    auto& button = lab.find<QToolButton>("cancel");
    if (!lab.waitFor([&] { return button.isVisible(); }, 10'000)) return false;
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
    const auto labels = lab->window().panel("runs").findChildren<QLabel*>();
    const auto says = [&](const char* text) {
        return std::ranges::any_of(labels, [&](const QLabel* label) { return label->text().contains(text); });
    };
    CHECK(says("being read"));
    held.release();
    REQUIRE(lab->waitFor([&] { return says("Your training runs appear here"); }));
}

TEST_CASE("background: exports are formed and written beside the window", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    REQUIRE(lab.settle());
    lab.find<QTreeView>("candidates").setFocus();
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
            CHECK(banner(lab, "failureBanner").text().contains("another figure is still being saved"));
        }
        REQUIRE(lab.waitFor([&] { return banner(lab, "offerBanner").text().contains(path); }));
        CHECK(QFile::exists(path));
        CHECK_FALSE(QFile::exists(lab.folder() + "/second.csv"));
    }
}

} // namespace attn
