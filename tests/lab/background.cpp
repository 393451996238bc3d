#include "app/lab/widgets/banner.h"
#include "tests/lab/held_pool.h"
#include "tests/lab/lab_window.h"
#include "tests/support/catch.h"

#include <QFile>
#include <QToolButton>
#include <QTreeView>

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
