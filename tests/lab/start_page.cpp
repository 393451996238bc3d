#include "app/lab/models/candidate_model.h"
#include "app/lab/panels/start_panel.h"
#include "app/lab/widgets/generated_text.h"
#include "tests/lab/lab_window.h"

using namespace attn;

TEST_CASE("start page: is offered at the very first start, and once", "[lab][lessons]") {
    LabWindow lab; // its settings are empty
    for (const bool isFirst : {true, false}) {
        MainWindow window({.preferences = Preferences{}, .device = {}, .greets = true});
        window.show();
        CHECK(window.findChild<QWidget*>("offerBanner")->isVisible() == isFirst);
        window.close(); // with the greeting on screen: the layout that it saves must not bring back an empty bar
    }
}

TEST_CASE("start page: the greeting leaves when the user continues", "[lab][lessons]") {
    LabWindow lab;
    MainWindow window({.preferences = Preferences{}, .device = {}, .greets = true});
    window.show();
    CHECK(window.findChild<QWidget*>("offerBanner")->isVisible());
    window.findChild<QAction*>("workspace.inspect")->trigger();
    CHECK(QTest::qWaitFor([&] { return !window.findChild<QWidget*>("offerBanner")->isVisible(); }));
}

TEST_CASE("start page: the greeting hides no control in a small window", "[lab][lessons]") {
    LabWindow lab;
    for (const char* theme : {"themeLight", "themeProjector"}) {
        QSettings().remove("greeted");
        MainWindow window({.preferences = Preferences{}, .device = {}, .greets = true});
        window.resize(1024, 700);
        window.show();
        window.findChild<QAction*>(theme)->trigger();
        auto* greeting = window.findChild<QWidget*>("offerBanner");
        REQUIRE(greeting->isVisible());
        REQUIRE(QTest::qWaitFor([&] { return window.workbench().hasModel() && !window.files().isOpening(); }));
        QTest::qWait(500); // it slides into its place
        CAPTURE(theme, greeting->x(), greeting->y(), greeting->width(), greeting->height());
        CHECK(window.rect().contains(greeting->geometry()));
        int count = 0;
        for (const QWidget* control : window.findChildren<QWidget*>()) {
            const bool isControl = control->focusPolicy() != Qt::NoFocus && control->isVisible() &&
                                   !greeting->isAncestorOf(control) &&
                                   qobject_cast<const QDockWidget*>(control) == nullptr;
            if (!isControl || control->findChild<QWidget*>()) continue; // a container is as good as what it holds
            QRect place = window.rect();                                // what the areas around it let through
            for (const QWidget* each = control; each != &window; each = each->parentWidget())
                place &= QRect(each->mapTo(&window, QPoint()), each->size());
            INFO(control->metaObject()->className() << " " << control->objectName().toStdString());
            CHECK_FALSE(place.intersects(greeting->geometry()));
            ++count;
        }
        CHECK(count > 20);
        window.findChild<QAction*>("themeLight")->trigger();
    }
}

TEST_CASE("start page: opens by its keys, shows each bundled model, and opens what is clicked", "[lab][lessons]") {
    LabWindow lab;
    lab.press(lab.action("start"));
    auto* page = &lab.find<QDockWidget>("dock.start");
    REQUIRE(page->isVisible());
    int pictures = 0;
    for (auto* button : page->findChildren<QToolButton*>()) {
        if (!button->objectName().startsWith("startModel.")) continue;
        INFO(button->objectName().toStdString());
        CHECK_FALSE(button->icon().pixmap(120, 90).isNull());
        CHECK(QFileInfo(":/start/" + button->objectName().mid(11) + ".png").size() < 15'000);
        ++pictures;
    }
    CHECK(pictures == 12);
    QTest::mouseClick(page->findChild<QToolButton*>("startModel.sort"), Qt::LeftButton);
    REQUIRE(lab.waitFor([&] { return lab.snapshot().model->name == "sort"; }));
    CHECK(lab.find<QToolButton>("workspace.write").isChecked());
    lab.press(lab.action("start"));
    QTest::mouseClick(lab.window().findChild<QToolButton*>("startPlay"), Qt::LeftButton);
    CHECK(lab.waitFor([&] { return !lab.find<QWidget>("playground").visibleRegion().isEmpty(); }));
    lab.layOut();
    lab.press(lab.action("start"));
    QTest::mouseClick(lab.window().findChild<QToolButton*>("startLearn"), Qt::LeftButton);
    CHECK(lab.waitFor([&] { return lab.find<QListWidget>("lessonList").hasFocus(); }));
}

TEST_CASE("start page: stays when nothing could be opened, and forgets what is gone", "[lab]") {
    LabWindow lab;
    const QString gone = lab.folder() + "/gone", empty = lab.folder() + "/empty";
    REQUIRE(QDir().mkpath(empty));
    for (const QString& path : {empty, gone}) addRecentPath(path);
    lab.press(lab.action("start"));
    auto& page = lab.find<QDockWidget>("dock.start");
    auto& failure = banner(lab, "failureBanner");
    const auto recent = [&] {
        QStringList titles;
        for (const auto* card : page.findChildren<QToolButton*>("startRecent"))
            if (card->isVisible()) titles << card->text().section('\n', 1);
        return titles;
    };
    REQUIRE(recent() == QStringList{"gone", "empty"});
    QTest::mouseClick(page.findChild<QToolButton*>("startRecent"), Qt::LeftButton);
    REQUIRE(lab.waitFor([&] { return failure.isVisible(); }));
    CHECK(failure.text().startsWith(gone + ": there is no such file or folder"));
    CHECK(failure.text().endsWith("It is no longer in the list of recent files"));
    CHECK(lab.waitFor([&] { return recent() == QStringList{"empty"}; }));
    CHECK(recentPaths() == QStringList{empty});
    QTest::mouseClick(page.findChild<QToolButton*>("startRecent"), Qt::LeftButton);
    REQUIRE(lab.waitFor([&] { return failure.text().contains("choose the folder that holds config.json"); }));
    CHECK(page.isVisible());
    CHECK(lab.find<QToolButton>("workspace.learn").isChecked());
    lab.window().files().openSession(lab.folder() + "/gone.attnlab");
    REQUIRE(lab.waitFor([&] { return failure.text().contains("there is no session file with this name"); }));
    CHECK(page.isVisible());
}

TEST_CASE("start page: every card stays in the page when there is more to continue", "[lab]") {
    LabWindow lab;
    lab.press(lab.action("start"));
    auto& page = lab.find<StartPanel>("start");
    lab.act("workspace.write");
    page.setOffers({.lesson = "Masks: hide the future", .recent = {}});
    lab.press(lab.action("start")); // at the same size as before
    lab.layOut();
    const auto cards = page.findChildren<QToolButton*>();
    CHECK(cards.size() > 15);
    for (const QToolButton* card : cards) {
        INFO(card->objectName().toStdString());
        const int left = card->mapTo(&page, QPoint()).x();
        CHECK((left >= 0 && left + card->width() <= page.width())); // it may scroll down
    }
}

TEST_CASE("start page: each tour leads to something that moves", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    lab.window().panels().setView("attention", {{"level", "head"}, {"drawnAs", "arcs"}});
    const auto shows = [&](const char* level) {
        const QJsonObject view = lab.window().panels().view("attention");
        return view["level"] == level && view["drawnAs"] == "heatmap";
    };
    SECTION("a model that writes") {
        lab.window().files().open("builtin:masked"); // it does not
        REQUIRE(lab.waitFor([&] { return lab.snapshot().model->name == "masked"; }));
        lab.press(lab.action("start"));
        QTest::mouseClick(&lab.find<QToolButton>("startWrite"), Qt::LeftButton);
        CHECK(lab.find<QToolButton>("workspace.write").isChecked());
        REQUIRE(lab.waitFor([&] { return lab.snapshot().model->name == "induction"; })); // opens first here
        const std::string begin = lab.snapshot().sequence->given.text;
        CHECK(lab.waitFor([&] { return lab.text().size() > begin.size() + 2; }));
        CHECK(shows("all"));
        auto& told = banner(lab, "offerBanner");
        CHECK(told.isVisible());
        lab.act("stop");
        while (lab.snapshot().model->name != "masked" && lab.window().workbench().undoStack().canUndo()) {
            lab.window().workbench().undoStack().undo();
            REQUIRE(lab.settle());
        }
        CHECK(lab.snapshot().model->name == "masked");
        CHECK_FALSE(told.isVisible());
    }
    SECTION("the head that copies") {
        lab.press(lab.action("start"));
        QTest::mouseClick(&lab.find<QToolButton>("startLook"), Qt::LeftButton);
        CHECK(lab.find<QToolButton>("workspace.inspect").isChecked());
        REQUIRE(lab.waitFor([&] { return lab.snapshot().path() == "builtin:induction-trained"; }));
        REQUIRE(lab.settle());
        CHECK(lab.window().workbench().selection().site == 1);
        CHECK(lab.window().workbench().selection().head == 0);
        CHECK(shows("head"));
        auto& told = banner(lab, "offerBanner");
        const QString tour = told.text();
        CHECK(tour.startsWith("Rows are letters"));
        CHECK(told.isVisible());
        lab.window().workbench().undoStack().undo(); // what is said is about what is open
        REQUIRE(lab.waitFor([&] { return lab.snapshot().path() == "builtin:induction"; }));
        CHECK_FALSE(told.isVisible());
        lab.window().workbench().undoStack().redo();
        REQUIRE(lab.waitFor([&] { return lab.snapshot().path() == "builtin:induction-trained"; }));
        CHECK(told.isVisible());
        CHECK(told.text() == tour);
        REQUIRE(lab.settle());
        lab.window().files().open("builtin:masked");
        REQUIRE(lab.waitFor([&] { return lab.snapshot().model->name == "masked"; }));
        CHECK(lab.waitFor([&] { return !told.isVisible(); }));
    }
    SECTION("a model that learns") {
        lab.window().bridge().post(GenerateCommand{.maxTokens = 1000, .tokensPerSecond = 2});
        REQUIRE(lab.waitFor([&] { return lab.snapshot().status.activity == Activity::Generating; }));
        for (const bool isFirst : {true, false}) {
            INFO(isFirst);
            lab.press(lab.action("start"));
            QTest::mouseClick(&lab.find<QToolButton>("startTrain"), Qt::LeftButton);
            CHECK(lab.find<QToolButton>("workspace.train").isChecked());
            CHECK(lab.waitFor([&] { return lab.snapshot().shown.has_value(); }));
            const int64_t step = lab.snapshot().shown->step;
            CHECK(lab.waitFor([&] { return lab.snapshot().shown->step > step; }));
            CHECK(shows("all"));
        }
        lab.act("trainPlay"); // pause
    }
}

TEST_CASE("start page: the model that opens first has prompts worth trying, with short titles", "[lab]") {
    QFile file(QStringLiteral(ATTN_SOURCE_DIR "/assets/models/english/prompts.json"));
    REQUIRE(file.open(QIODevice::ReadOnly));
    const QJsonArray prompts = QJsonDocument::fromJson(file.readAll()).array();
    CHECK(prompts.size() >= 8);
    for (const QJsonValue& entry : prompts) {
        const QString title = entry["title"].toString();
        INFO(title.toStdString());
        CHECK(!title.isEmpty());
        CHECK(title.size() <= 16);
        CHECK(!entry["prompt"].toString().isEmpty());
    }
}

TEST_CASE("start page: the model that opens first keeps the words and characters of a class whole", "[lab]") {
    LabWindow lab("builtin:english");
    const auto type = [&](const char* text) {
        lab.find<QPlainTextEdit>("prompt").setPlainText(QString::fromUtf8(text));
        REQUIRE(lab.settle());
        REQUIRE(lab.snapshot().sequence->given.text == text);
    };
    for (const char* sentence : {"The teacher gave the book to the student", "My prompt"}) {
        INFO(sentence);
        type(sentence);
        std::string words; // a bar stands between tokens
        for (const TokenInfo& token : lab.snapshot().sequence->tokens)
            if (!token.isSpecial) words += (words.empty() ? "" : "|") + token.text;
        CHECK(words == QString(sentence).replace(' ', "| ").toStdString());
    }
    type("Ren\u00E9 laughed \U0001F642");
    CHECK(lab.find<GeneratedText>("text").toPlainText().endsWith(QString::fromUtf8("Ren\u00E9 laughed \U0001F642")));
    CHECK_FALSE(lab.find<GeneratedText>("text").toPlainText().contains("unk"));
    CHECK(lab.find<QLabel>("promptCount").text().contains("of 512 tokens"));
    const auto labels = lab.find<QWidget>("model").findChildren<QLabel*>();
    CHECK(std::ranges::any_of(
        labels, [](const QLabel* label) { return label->text().contains("vocabulary 8448, context 512"); }));
}

TEST_CASE("start page: the model that opens first is unsure of its next token, so temperature moves the bars",
          "[lab]") {
    LabWindow lab("builtin:english"); // with its own example
    const auto& candidates = *lab.find<QTreeView>("candidates").model();
    const auto probability = [&](int row) {
        return candidates.index(row, 0).data(CandidateModel::ProbabilityRole).toDouble();
    };
    CHECK(probability(0) < 0.5);
    CHECK(probability(4) > 0.02);                            // five words are worth a look
    lab.window().workbench().setSampling({.greedy = false}); // greedy choice ignores the temperature
    REQUIRE(lab.settle());
    const double before = probability(0);
    for (auto* box : lab.window().findChildren<QDoubleSpinBox*>())
        if (box->accessibleName() == "Temperature") box->setValue(1.2);
    CHECK(probability(0) < before - 0.02);
}

TEST_CASE("start page: finds its size in every window, with and without a bar", "[lab]") {
    LabWindow lab;
    lab.action("workspace.learn").trigger();
    auto& dock = lab.find<QDockWidget>("dock.start");
    dock.setFloating(true);
    // Cards on narrower lines may need less height: a size that follows the bar then never comes to rest.
    for (int width = 240; width < 900; width += 11)
        for (int height = 200; height < 900; height += 23) {
            dock.resize(width, height);
            QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
        }
    CHECK(dock.isVisible());
}

TEST_CASE("start page: what a tour says goes when its workspace or its level is left", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    auto& told = banner(lab, "offerBanner");
    for (const char* leaves : {"attentionAll", "workspace.write", "start"}) {
        CAPTURE(leaves);
        lab.action("start").trigger();
        QTest::mouseClick(&lab.find<QToolButton>("startLook"), Qt::LeftButton);
        REQUIRE(lab.waitFor([&] { return lab.snapshot().path() == "builtin:induction-trained"; }));
        REQUIRE(lab.settle());
        REQUIRE(told.text().startsWith("Rows are letters"));
        REQUIRE(told.isVisible());
        lab.action(leaves).trigger();
        CHECK(lab.waitFor([&] { return !told.isVisible(); }));
    }
}
