#include "app/lab/shell/screenshot.h"
#include "app/lab/shell/workspaces.h"
#include "tests/lab/lab_window.h"

using namespace attn;

TEST_CASE("lab: every workspace gives a screenshot of a text and of a picture", "[lab]") {
    for (const Workspace& workspace : workspaces())
        for (const char* model : {"builtin:sort", "builtin:vit-shapes"}) {
            INFO(workspace.id << ", " << model);
            LabWindow lab;
            lab.find<QToolButton>(qPrintable(QStringLiteral("workspace.%1").arg(workspace.id))).click();
            REQUIRE(lab.settle());
            const QString path = lab.folder() + "/shot.png";
            takeScreenshotAndQuit(lab.window(), path);
            lab.window().files().open(model);
            CHECK(lab.waitFor([&] { return QFile::exists(path); }, 55'000));
            CHECK(QImage(path).width() > 600);
        }
}
