#include "app/lab/widgets/heatmap_view.h"
#include "tests/lab/lab_window.h"

using namespace attn;

TEST_CASE("export: the picture and the numbers of the current panel are written and copied", "[lab]") {
    LabWindow lab;
    lab.find<QTreeView>("candidates").setFocus();
    for (const char* name : {"figure.png", "figure.svg", "figure.pdf", "figure.csv", "figure.npz"}) {
        const QString path = lab.folder() + "/" + name;
        lab.window().exports().exportFigure(path);
        REQUIRE(lab.waitFor([&] { return banner(lab, "offerBanner").text().contains(path); }));
        CHECK(QFileInfo(path).size() > 200);
    }
    QFile csv(lab.folder() + "/figure.csv");
    REQUIRE(csv.open(QIODevice::ReadOnly));
    CHECK(csv.readLine() == "token,text,probability,logit\n");
    QFile npz(lab.folder() + "/figure.npz");
    REQUIRE(npz.open(QIODevice::ReadOnly));
    const QByteArray archive = npz.readAll();
    for (const char* array : {"token.npy", "probability.npy", "logit.npy"}) CHECK(archive.contains(array));
    for (const char* array : {"tokens.npy", "model.npy", "model_path.npy", "program.npy", "device.npy", "changes.npy"})
        CHECK(archive.contains(array));
    CHECK_FALSE(archive.contains("head.npy")); // the next token is no head's
    lab.action("copyFigure").trigger();
    CHECK_FALSE(QGuiApplication::clipboard()->image().isNull());
    CHECK(lab.find<QWidget>("offerBanner").isVisible());
    CHECK(banner(lab, "offerBanner").text().endsWith(" as a picture."));
}

TEST_CASE("export: a head's numbers say whose they are, and its file has a name", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    lab.window().workbench().selectHead(1, 0);
    lab.showPanel("attention");
    auto& heatmap = *lab.window().findChild<HeatmapView*>();
    lab.window().panels().setView("attention", {{"level", "head"}, {"site", "blocks.1.attn"}, {"head", 0}});
    REQUIRE(lab.settle());
    REQUIRE(heatmap.isVisible());
    heatmap.setFocus();
    REQUIRE(lab.waitFor([&] { return heatmap.hasFocus(); }));
    const QString path = lab.folder() + "/head.npz";
    lab.window().exports().exportFigure(path);
    REQUIRE(lab.waitFor([&] { return banner(lab, "offerBanner").text().contains(path); }));
    QFile npz(path);
    REQUIRE(npz.open(QIODevice::ReadOnly));
    const QByteArray archive = npz.readAll();
    for (const char* array : {"pattern.npy", "tokens.npy", "layer.npy", "head.npy"}) CHECK(archive.contains(array));
    lab.action("exportSvg").trigger();
    auto& dialog = lab.find<QFileDialog>("fileDialog");
    CHECK(QFileInfo(dialog.selectedFiles().front()).fileName() == "induction-L1-H0.svg");
    dialog.reject();
    lab.find<QPlainTextEdit>("prompt").setFocus(); // who types and then exports wants the figure
    REQUIRE(lab.waitFor([&] { return lab.find<QPlainTextEdit>("prompt").hasFocus(); }));
    const QString figure = lab.folder() + "/figure.csv";
    lab.window().exports().exportFigure(figure);
    REQUIRE(lab.waitFor([&] { return banner(lab, "offerBanner").text().contains(figure); }));
    CHECK(banner(lab, "offerBanner").text().startsWith("Saved Attention: "));
}

TEST_CASE("export: a sheet has a format, a size and a caption, and is shown before it is saved", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    lab.act("attentionAll");
    lab.act("exportFigure");
    auto& format = lab.find<QComboBox>("exportFormat");
    auto& size = lab.find<QComboBox>("exportSize");
    auto& caption = lab.find<QPlainTextEdit>("exportCaption");
    const auto& preview = lab.find<QLabel>("exportPreview");
    CHECK(format.count() == 6);
    CHECK(caption.toPlainText() == "Attention · induction · “abcabc”");
    const auto shape = [&] { return preview.pixmap(Qt::ReturnByValue).deviceIndependentSize(); };
    size.setCurrentIndex(size.findText("Slide, 16 : 9", Qt::MatchStartsWith));
    CHECK(shape().width() / shape().height() == Approx(16.0 / 9).margin(0.02));
    lab.find<QSpinBox>("exportWidth").setValue(600);
    lab.find<QSpinBox>("exportHeight").setValue(600);
    CHECK(size.currentText() == "Own size");
    CHECK(shape().width() == Approx(shape().height()).margin(1));
    const QImage plain = preview.pixmap(Qt::ReturnByValue).toImage();
    caption.setPlainText("Two heads find what came before");
    CHECK(preview.pixmap(Qt::ReturnByValue).toImage() != plain);

    lab.click("exportAccept");
    auto& files = lab.find<QFileDialog>("fileDialog");
    CHECK(QFileInfo(files.selectedFiles().front()).fileName() == "induction-heads.png");
    const QString path = lab.folder() + "/sheet.png";
    emit files.fileSelected(path);
    files.reject();
    REQUIRE(lab.waitFor([&] { return banner(lab, "offerBanner").text().contains(path); }));
    CHECK(QImage(path).size() == QSize(1200, 1200)); // two pixels for one

    lab.action("exportFigure").trigger();
    auto& again = lab.find<QComboBox>("exportFormat");
    again.setCurrentIndex(again.findData("csv"));
    CHECK_FALSE(lab.find<QPlainTextEdit>("exportCaption").isEnabled());
    CHECK(lab.find<QLabel>("exportPreview").text() == "The file holds numbers, and no picture.");
    lab.find<QDialog>("exportDialog").reject();
}

TEST_CASE("export: the figure in front is exported, not one behind its tab", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    lab.act("workspace.inspect");
    auto& heatmap = lab.find<QWidget>("attentionHeatmap");
    heatmap.setFocus();
    REQUIRE(lab.waitFor([&] { return heatmap.hasFocus(); }));
    lab.find<QDockWidget>("dock.kinds").raise();
    lab.layOut();
    lab.action("exportFigure").trigger();
    auto& dialog = lab.find<QDialog>("exportDialog");
    CHECK(dialog.windowTitle() == "Export Head kinds");
    dialog.reject();
}
