#include "app/lab/lessons/lesson.h"
#include "app/lab/widgets/status_strip.h"
#include "engine/io/tensor_writer.h"
#include "tests/lab/dropping.h"
#include "tests/lab/small_session.h"
#include "tests/lab/vision_test.h"

#include <ctime>
#include <sys/stat.h>

// Files are read on another thread, and the window stays alive.

using namespace attn;

TEST_CASE("opening: a dropped file is copied, never moved", "[lab]") {
    LabWindow lab("builtin:vit-shapes");
    const QString session = lab.folder() + "/one.attnlab";
    REQUIRE_FALSE(saveSession(smallSession(), session));
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(session)});
    const auto dropped = [&](QWidget& on, Qt::DropActions actions, Qt::KeyboardModifiers keys) {
        QDragEnterEvent enter(QPoint(5, 5), actions, &data, Qt::LeftButton, keys);
        QCoreApplication::sendEvent(&on, &enter);
        QDragMoveEvent move(QPoint(6, 6), actions, &data, Qt::LeftButton, keys);
        QCoreApplication::sendEvent(&on, &move);
        QDropEvent event(QPointF(6, 6), actions, &data, Qt::LeftButton, keys);
        QCoreApplication::sendEvent(&on, &event);
        CHECK_FALSE((enter.isAccepted() && enter.dropAction() == Qt::MoveAction));
        CHECK_FALSE((event.isAccepted() && event.dropAction() == Qt::MoveAction));
        return event.isAccepted();
    };
    QWidget& pictures = *lab.window().findChild<PictureInputPanel*>();
    auto* editor = lab.window().findChild<QPlainTextEdit*>();
    for (QWidget* on : std::initializer_list<QWidget*>{&lab.window(), &pictures, editor->viewport()}) {
        INFO(on->metaObject()->className() << " " << on->objectName().toStdString());
        for (const auto keys : {Qt::NoModifier, Qt::ShiftModifier}) {
            CHECK(dropped(*on, Qt::CopyAction | Qt::MoveAction | Qt::LinkAction, keys));
            CHECK(dropped(*on, Qt::LinkAction | Qt::MoveAction, keys));
        }
        CHECK_FALSE(dropped(*on, Qt::MoveAction, Qt::NoModifier)); // a program that can only move keeps its file
        (void)lab.settle();
    }
    CHECK(QFile::exists(session));
}

TEST_CASE("opening: files are read beside the window, and the newest wins", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    const QString session = lab.folder() + "/one.attnlab";
    SessionDocument document = smallSession();
    REQUIRE_FALSE(saveSession(document, session));
    lab.window().files().open(session);
    CHECK(lab.window().files().isOpening()); // and not yet read
    lab.window().files().open("/nowhere/at/all");
    REQUIRE(lab.waitFor([&] { return banner(lab, "failureBanner").isVisible(); }));
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().sequence->tokens.size() == 6); // the session was not opened

    lab.window().files().open(session);
    emit lab.window().findChild<StatusStrip*>()->cancelRequested();
    CHECK_FALSE(lab.window().files().isOpening());
    CHECK(banner(lab, "offerBanner").text().contains("cancelled"));
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().sequence->tokens.size() == 6);

    lab.window().files().open(session);
    REQUIRE(lab.waitFor([&] { return lab.snapshot().sequence->tokens.size() == 3; }));
}

TEST_CASE("opening: what kind of model a folder holds is found out beside the window", "[lab]") {
    const TemporaryFolder folder;
    constexpr int kTensors = 60'000;
    const float zero = 0;
    std::vector<WrittenTensor> tensors;
    for (int i = 0; i < kTensors; ++i)
        tensors.push_back({.name = std::to_string(i), .shape = {1}, .values = std::span(&zero, 1)});
    writeSafetensors(folder / "model.safetensors", tensors);
    std::ofstream(folder / "config.json") << R"({"model_type": "gpt2"})";
    const auto secondsOf = [](const auto& work) { // of the processor for this thread, which no other thread takes
        const auto now = [] {
            timespec time{};
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
            return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
        };
        const double start = now();
        work();
        return now() - start;
    };
    LabWindow lab;
    const double reading = secondsOf([&] { const SafetensorsFile file(folder / "model.safetensors"); });
    const double opening =
        secondsOf([&] { lab.window().files().open(QString::fromStdString(folder.path().string())); });
    CHECK(lab.window().files().isOpening());
    CHECK(opening < reading / 4);
    REQUIRE(lab.waitFor([&] { return banner(lab, "failureBanner").isVisible(); }));
    CHECK(banner(lab, "failureBanner").text().contains("n_embd"));
}

TEST_CASE("opening: a session that cannot be read at the start is named, and the example opens", "[lab]") {
    QTemporaryDir folder;
    const QString path = folder.path() + "/broken.attnlab";
    writeText(path, "{");
    LabWindow lab("builtin:induction", {}, {path});
    REQUIRE(
        lab.waitFor([&] { return lab.window().workbench().snapshot() && lab.window().workbench().snapshot()->grid; }));
    REQUIRE(lab.settle());
    CHECK(banner(lab, "failureBanner").isVisible());
    CHECK(banner(lab, "failureBanner").text().contains("broken.attnlab"));
    CHECK(lab.snapshot().model->name == "induction");
}

TEST_CASE("opening: a picture opens in a vision model, or in the one that is open", "[lab][vision]") {
    QTemporaryDir folder;
    const QString picture = folder.path() + "/white.png";
    LabWindow lab; // an application
    QImage white(16, 16, QImage::Format_RGB32);
    white.fill(Qt::white);
    REQUIRE(white.save(picture));
    REQUIRE(lab.settle());
    lab.window().files().open(picture);
    const auto isShown = [&] {
        return setup(lab).name == picture && lab.snapshot().answer &&
               lab.snapshot().picture->image == setup(lab).given.image;
    };
    REQUIRE(lab.waitFor(isShown));
    CHECK(lab.snapshot().model->name == "vit-shapes");
    REQUIRE(lab.settle());
    CHECK(setup(lab).name == picture); // the model's example does not take its place
    openGolden(lab, "vit");            // it has no examples
    REQUIRE(lab.waitFor(isShown));
    input(lab).openPicture("stripes");
    REQUIRE(lab.waitFor([&] { return setup(lab).name == "stripes"; }));
    REQUIRE(lab.settle()); // what the model sees in it would end the message
    lab.window().files().open("/nowhere/at/all");
    REQUIRE(lab.waitFor([&] { return banner(lab, "failureBanner").isVisible(); }));
    lab.window().files().open(picture);
    REQUIRE(lab.waitFor(isShown));
    CHECK(lab.snapshot().model->name == "vit");
    CHECK_FALSE(banner(lab, "failureBanner").isVisible()); // what failed before is over
}

TEST_CASE("opening: a text model takes the place of a picture, and a picture that of a text", "[lab][vision]") {
    LabWindow lab("builtin:vit-shapes");
    REQUIRE(answers(lab, "vit-shapes"));
    const QString picture = lab.folder() + "/white.png", stories = ATTN_SOURCE_DIR "/assets/models/stories";
    QImage white(16, 16, QImage::Format_RGB32);
    white.fill(Qt::white);
    REQUIRE(white.save(picture));
    const auto showsText = [&] {
        return lab.snapshot().model->name == "stories" && lab.snapshot().grid &&
               lab.find<QWidget>("prompt").isVisible();
    };
    const auto showsWhite = [&] {
        return lab.snapshot().answer && setup(lab).name == picture &&
               lab.snapshot().picture->image == setup(lab).given.image && input(lab).isVisible();
    };
    drop(input(lab), stories); // where the picture is
    REQUIRE(lab.waitFor(showsText));
    drop(lab.window(), picture);
    REQUIRE(lab.waitFor(showsWhite));
    CHECK(lab.snapshot().model->name == "vit-shapes");
    CHECK_FALSE(lab.find<QLabel>("pictureMessage").isVisible());
    drop(lab.window(), stories);
    REQUIRE(lab.waitFor(showsText));

    // The picture is dropped while the text model is still being opened in place of a vision model.
    lab.window().files().open("builtin:vit-fashion");
    REQUIRE(answers(lab, "vit-fashion"));
    REQUIRE(lab.settle());
    lab.window().files().open("builtin:stories");
    lab.window().files().open(picture);
    REQUIRE(lab.waitFor(showsWhite));
    REQUIRE(lab.settle());
    CHECK(showsWhite());
    CHECK(lab.snapshot().model->name == "vit-shapes");
    CHECK_FALSE(banner(lab, "failureBanner").isVisible());
}

TEST_CASE("opening: what is dropped opens, or a sentence says why it does not", "[lab][vision]") {
    LabWindow lab("builtin:induction", "abcabc");
    const QString session = lab.folder() + "/one.attnlab", text = lab.folder() + "/notes.txt",
                  unknown = lab.folder() + "/data", picture = lab.folder() + "/white.png";
    REQUIRE_FALSE(saveSession(smallSession(), session));
    writeText(text, "once upon a time");
    writeText(unknown, QByteArray("\x7f\x00\x01", 3));
    QImage white(16, 16, QImage::Format_RGB32);
    white.fill(Qt::white);
    REQUIRE(white.save(picture));
    auto& failure = banner(lab, "failureBanner");
    auto& prompt = *lab.find<QPlainTextEdit>("prompt").viewport();
    for (QWidget* on : std::initializer_list<QWidget*>{&lab.window(), &prompt}) {
        INFO(on->metaObject()->className());
        drop(*on, text);
        REQUIRE(lab.waitFor([&] { return lab.snapshot().sequence->given.text == "once upon a time"; }));
        drop(*on, unknown);
        REQUIRE(lab.waitFor([&] { return failure.isVisible() && failure.text().contains("“data” isn't a model"); }));
        CHECK(lab.snapshot().sequence->given.text == "once upon a time");
        drop(*on, session);
        REQUIRE(lab.waitFor([&] { return lab.snapshot().sequence->tokens.size() == 3; }));
        CHECK_FALSE(failure.isVisible());
        drop(*on, ATTN_SOURCE_DIR "/assets/models/stories");
        REQUIRE(lab.waitFor([&] { return lab.snapshot().model->name == "stories" && lab.snapshot().grid; }));
        lab.window().files().open("builtin:induction", "abcabc");
        REQUIRE(lab.waitFor([&] { return lab.snapshot().model->name == "induction" && lab.snapshot().grid; }));
    }
    drop(prompt, picture);
    REQUIRE(lab.waitFor([&] { return lab.snapshot().answer && setup(lab).name == picture; }));
    REQUIRE(lab.settle());  // a result that comes later takes a message away
    drop(input(lab), text); // where the picture is
    REQUIRE(lab.waitFor([&] { return failure.isVisible(); }));
    drop(input(lab), session);
    REQUIRE(lab.waitFor([&] { return lab.snapshot().sequence && lab.snapshot().sequence->tokens.size() == 3; }));
    CHECK_FALSE(failure.isVisible());
}

TEST_CASE("opening: a pipe in place of a file is refused and does not block", "[lab]") {
    LabWindow lab;
    const QString pipe = lab.folder() + "/pipe.attnlab", lesson = lab.folder() + "/pipe.json";
    REQUIRE(mkfifo(QFile::encodeName(pipe).constData(), 0600) == 0);
    REQUIRE(mkfifo(QFile::encodeName(lesson).constData(), 0600) == 0);
    lab.window().files().open(pipe);
    REQUIRE(lab.waitFor([&] { return banner(lab, "failureBanner").isVisible(); }));
    CHECK(banner(lab, "failureBanner").text().contains("not a file"));
    const auto read = loadLesson(lesson);
    REQUIRE(std::holds_alternative<Failure>(read));
    CHECK_THAT(std::get<Failure>(read).sentence(), CONTAINS("not a file"));
}

TEST_CASE("opening: a model that is opened from the start page's workspace is shown", "[lab]") {
    LabWindow lab;
    lab.act("workspace.learn");
    lab.window().files().open("builtin:sort");
    REQUIRE(lab.settle());
    CHECK(lab.find<QToolButton>("workspace.write").isChecked());
    lab.act("workspace.inspect"); // any other workspace stays
    lab.window().files().open("builtin:add");
    REQUIRE(lab.settle());
    CHECK(lab.find<QToolButton>("workspace.inspect").isChecked());
}

TEST_CASE("opening: a prompt that was typed stays if the other model can spell it", "[lab]") {
    LabWindow lab("builtin:english");
    auto& prompt = lab.find<QPlainTextEdit>("prompt");
    const auto open = [&](const char* path) {
        lab.window().files().open(path);
        REQUIRE(lab.settle());
        REQUIRE(lab.snapshot().modelPath == path);
        CHECK(prompt.toPlainText().toStdString() == lab.snapshot().sequence->given.text);
        return prompt.toPlainText();
    };
    const QString example = open("builtin:stories"); // an example is replaced by that of the other model
    CHECK(example.startsWith("Once"));
    prompt.setPlainText("The boy saw a dog.");
    REQUIRE(lab.settle());
    CHECK(open("builtin:english") == "The boy saw a dog.");
    CHECK(open("builtin:sort") != "The boy saw a dog.");    // which knows letters and digits of its own only
    CHECK(open("builtin:english") == "The boy saw a dog."); // typed before the example of sort
    lab.act("undo");
    lab.act("undo");
    CHECK(prompt.toPlainText() == "The boy saw a dog.");
}

TEST_CASE("opening: a prompt that was replaced by the example stays away", "[lab]") {
    LabWindow lab("builtin:english");
    auto& prompt = lab.find<QPlainTextEdit>("prompt");
    const QString example = prompt.toPlainText();
    for (const QString& text : {QString("The boy saw a dog."), example}) {
        prompt.setPlainText(text);
        REQUIRE(lab.settle());
    }
    lab.window().files().open("builtin:stories");
    REQUIRE(lab.settle());
    CHECK(prompt.toPlainText().startsWith("Once"));
}

TEST_CASE("opening: a marked row is of one model, and another begins without", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    Workbench& bench = lab.window().workbench();
    bench.selectRow(2);
    lab.window().files().open("builtin:sort");
    REQUIRE(lab.waitFor([&] { return lab.snapshot().model->name == "sort"; }));
    CHECK_FALSE(bench.selection().row);
}

TEST_CASE("opening: a session with a cell beyond the present text asks nothing of that text", "[lab]") {
    LabWindow lab("builtin:induction", "abcabcabcabc");
    lab.act("workspace.inspect");
    lab.window().workbench().selectCell(Cell{11, 3});
    REQUIRE(lab.settle());
    SessionDocument document = lab.window().session().document();
    document.given.text = "ab";
    document.branches = {{-1, 0}, {0, 1}};
    document.current = 1;
    document.promptLength = 2;
    QJsonObject attention = document.view["attention"].toObject();
    attention["level"] = "cell";
    attention.remove("cell");
    document.view["attention"] = attention;
    lab.window().session().restore(document);
    REQUIRE(lab.waitFor([&] { return !lab.window().session().isRestoring(); }));
    REQUIRE(lab.settle());
    CHECK_FALSE(lab.snapshot().failure);
    CHECK_FALSE(banner(lab, "failureBanner").isVisible());
}

TEST_CASE("opening: what was typed right before quitting is there at the next start", "[lab]") {
    const QTemporaryDir folder;
    makeApplication(folder.path());
    const auto setup = [&] {
        return MainWindow::Setup{
            .preferences = Preferences{}, .device = {}, .autosaveFolder = folder.path() + "/autosave"};
    };
    const auto isShown = [](MainWindow& window, const char* text) {
        return QTest::qWaitFor([&] {
            const auto& snapshot = window.workbench().snapshot();
            return snapshot && snapshot->sequence && snapshot->sequence->given.text == text &&
                   !window.session().isRestoring();
        });
    };
    const bool waits = GENERATE(true, false);
    CAPTURE(waits);
    {
        MainWindow window(setup());
        window.show();
        window.activateWindow();
        (void)QTest::qWaitForWindowActive(&window);
        REQUIRE(QTest::qWaitFor([&] { return window.workbench().hasModel(); }, 60'000));
        auto& prompt = *window.findChild<QPlainTextEdit*>("prompt");
        prompt.setFocus();
        prompt.selectAll();
        QTest::keyClicks(&prompt, "bcdbcd");
        if (waits) REQUIRE(isShown(window, "bcdbcd"));
        QTest::keySequence(&window, window.findChild<QAction*>("quit")->shortcut());
        CHECK_FALSE(window.isVisible());
    }
    MainWindow window(setup());
    window.show();
    CHECK(isShown(window, "bcdbcd"));
    CHECK(window.findChild<QPlainTextEdit*>("prompt")->toPlainText() == "bcdbcd");
}

TEST_CASE("lab: a file dialog starts in the folder of the last chosen file", "[lab]") {
    LabWindow lab;
    const QString kept = lab.folder() + "/kept";
    REQUIRE(QDir().mkpath(kept));
    lab.action("exportSvg").trigger();
    auto& save = lab.find<QFileDialog>("fileDialog");
    save.selectFile(kept + "/figure.svg");
    static_cast<QDialog&>(save).accept();
    REQUIRE(lab.waitFor([&] { return QFile::exists(kept + "/figure.svg"); }));
    REQUIRE(lab.waitFor([&] { return !lab.window().findChild<QFileDialog*>("fileDialog"); }));
    lab.action("openFile").trigger();
    auto& open = lab.find<QFileDialog>("fileDialog");
    CHECK(open.directory().absolutePath() == QDir(kept).absolutePath());
    open.reject();
}

TEST_CASE("opening: a lesson's file that is dropped opens as a lesson", "[lab]") {
    LabWindow lab;
    REQUIRE(lab.settle());
    drop(lab.window(), ATTN_SOURCE_DIR "/assets/lessons/03-masks.json");
    CHECK(lab.waitFor([&] { return lab.find<QWidget>("lessonStep").isVisible(); }));
    CHECK_FALSE(banner(lab, "failureBanner").isVisible());
}

TEST_CASE("opening: a failure goes when its command succeeds, and by itself after a while", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    REQUIRE(lab.settle());
    auto& failure = banner(lab, "failureBanner");
    const auto change = [&](const char* hook) {
        Changes changes;
        changes.valueChanges.push_back({.hook = hook});
        lab.window().bridge().post(SetChangesCommand{std::make_shared<const Changes>(changes)});
    };
    change("blocks.9.hook_mlp_out");
    REQUIRE(lab.waitFor([&] { return failure.isVisible(); }));
    change("blocks.1.hook_resid_pre");
    CHECK(lab.waitFor([&] { return !failure.isVisible(); }, 10'000));
    lab.window().files().open("/no/such/model");
    REQUIRE(lab.waitFor([&] { return failure.isVisible(); }));
    auto& expiry = *failure.parentWidget()->findChild<QTimer*>();
    REQUIRE(expiry.isActive());
    expiry.start(1);
    CHECK(lab.waitFor([&] { return !failure.isVisible(); }, 10'000));
}

TEST_CASE("lab: a text file with which the program starts becomes the prompt of its usual model", "[lab]") {
    const QTemporaryDir folder;
    const QString path = folder.filePath("notes.txt");
    QFile file(path);
    REQUIRE(file.open(QFile::WriteOnly));
    file.write("cabcab\n");
    file.close();
    LabWindow lab("builtin:induction", {}, {path});
    REQUIRE(lab.waitFor([&] { return lab.snapshot().sequence && lab.snapshot().sequence->given.text == "cabcab"; }));
    REQUIRE(lab.settle());
    CHECK(lab.find<QPlainTextEdit>("prompt").toPlainText() == "cabcab");
}

TEST_CASE("lab: a text file becomes the prompt, and other files are refused by their names", "[lab]") {
    LabWindow lab("builtin:induction", "abab");
    const auto write = [&](const char* name, const QByteArray& bytes) {
        QFile file(lab.folder() + "/" + name);
        REQUIRE(file.open(QFile::WriteOnly));
        file.write(bytes);
        return file.fileName();
    };
    lab.window().files().open(write("notes.txt", "cabcab\n"));
    REQUIRE(lab.settle());
    CHECK(lab.find<QPlainTextEdit>("prompt").toPlainText() == "cabcab");
    CHECK(lab.snapshot().sequence->given.text == "cabcab");
    lab.act("undo");
    CHECK(lab.snapshot().sequence->given.text == "abab");
    const auto refusal = [&](const QString& path) {
        lab.window().files().open(path);
        REQUIRE(lab.settle());
        REQUIRE(banner(lab, "failureBanner").isVisible());
        return banner(lab, "failureBanner").text().toStdString();
    };
    CHECK_THAT(refusal(write("long.txt", QByteArray(270'000, 'a'))), CONTAINS("limit 262,144") && CONTAINS("Text tab"));
    CHECK_THAT(refusal(write("model.gguf", "GGUF")),
               CONTAINS("GGUF files cannot be opened yet; get the same model as"));
    CHECK_THAT(refusal(write("model.onnx", "x")), CONTAINS("ONNX files cannot be opened yet"));
    CHECK_THAT(refusal(write("weights.bin", QByteArray(8, '\0'))), CONTAINS("can run code, so it is not opened"));
    CHECK_THAT(refusal(write("junk.dat", QByteArray(8, '\0'))),
               CONTAINS("“junk.dat” isn't a model, picture, session, lesson or text"));
    CHECK_THAT(refusal(write("nothing.txt", "")), CONTAINS("“nothing.txt” is empty"));
    CHECK_THAT(refusal(write("broken.safetensors", "garbage")), CONTAINS("broken.safetensors"));
    CHECK(lab.snapshot().sequence->given.text == "abab");
}

TEST_CASE("lab: the title names the session's file, and capturing offers hooks and a name", "[lab]") {
    LabWindow lab("builtin:induction", "abab");
    lab.saveSession(lab.folder() + "/class 7.attnlab");
    CHECK(lab.window().windowTitle() == "induction · class 7.attnlab – Attention Lab");
    lab.press(lab.action("capture"));
    auto& hooks = lab.find<QInputDialog>("captureDialog");
    CHECK(hooks.textValue() == "*attn.hook_pattern,logits");
    const QStringList offered = hooks.comboBoxItems();
    CHECK(offered.size() > 3);
    CHECK(hooks.isComboBoxEditable());
    hooks.accept();
    auto& file = lab.find<QFileDialog>("fileDialog");
    CHECK(file.selectedFiles().front().endsWith("/induction-activations.npz"));
    file.reject();
    for (const char* model : {"builtin:induction", "builtin:numbers-de"}) {
        lab.window().files().open(model);
        REQUIRE(lab.settle());
        for (qsizetype i = 0; i < offered.size(); ++i) { // each names hooks that there are
            INFO(model << ": " << offered[i].toStdString());
            const QString path = lab.folder() + QString("/%1-%2.npz").arg(QString(model).mid(8)).arg(i);
            lab.window().bridge().post(CaptureCommand{.hooks = offered[i].toStdString(), .path = path.toStdString()});
            REQUIRE(lab.settle());
            CHECK(QFile::exists(path));
        }
    }
}

TEST_CASE("lab: panels show what the open model can do", "[lab]") {
    LabWindow lab("builtin:induction", "abab");
    const auto title = [&](const char* id) {
        return lab.find<QDockWidget>((std::string("dock.") + id).c_str()).windowTitle().toStdString();
    };
    const auto isThere = [&](const char* id) { return lab.action((std::string("panel.") + id).c_str()).isEnabled(); };
    CHECK(title("generate") == "Generate");
    CHECK(title("next") == "Next token");
    for (const char* id : {"branches", "text", "beams"}) CHECK(isThere(id));
    CHECK_FALSE(lab.find<QLabel>("sourceTitle").isVisibleTo(&lab.window()));

    lab.window().files().open("builtin:masked");
    REQUIRE(lab.waitFor([&] { return lab.snapshot().model->name == "masked"; }));
    REQUIRE(lab.settle());
    CHECK(title("generate") == "Fill the gap");
    CHECK(title("next") == "Hidden word");
    for (const char* id : {"branches", "text", "beams"}) CHECK_FALSE(isThere(id));
    for (auto* box : lab.window().findChildren<QDoubleSpinBox*>())
        if (box->accessibleName() == "Temperature") CHECK_FALSE(box->isVisible());
    CHECK(lab.find<QTreeWidget>("interventionsEffect").headerItem()->text(0) == "Hidden word");

    lab.window().files().open("builtin:numbers-de");
    REQUIRE(lab.waitFor([&] { return lab.snapshot().model->name == "numbers-de"; }));
    REQUIRE(lab.settle());
    CHECK(title("generate") == "Translate");
    const Site& site = lab.snapshot().model->site(lab.window().workbench().selection().site);
    CHECK(site.queryStream != site.keyStream); // attention to the source changes while the target is written
    CHECK(lab.find<QLabel>("sourceTitle").text() == "Source");
    CHECK(lab.find<QLabel>("targetTitle").text() == "Target");
    auto& amount = lab.find<QSpinBox>("amount");
    CHECK(amount.value() == lab.snapshot().model->contextLength);
    lab.window().files().open("builtin:induction");
    REQUIRE(lab.waitFor([&] { return lab.snapshot().model->name == "induction"; }));
    REQUIRE(lab.settle());
    CHECK(amount.value() == 100);
    CHECK(isThere("branches"));
}
