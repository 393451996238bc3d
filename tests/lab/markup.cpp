#include "app/lab/lessons/lesson.h"
#include "app/lab/panels/catalogue.h"
#include "tests/lab/vision_test.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

using namespace attn;

// Whatever the texts of files are, they are shown as they are: no widget reads them as markup, and no file is opened
// because a text names it.

namespace {

/// A picture, and whether anyone has opened it since it was made.
class WatchedPicture {
public:
    WatchedPicture() : notes_(inotify_init1(IN_NONBLOCK)) {
        QImage image(2, 2, QImage::Format_RGB32);
        image.fill(Qt::red);
        REQUIRE(image.save(path()));
        REQUIRE(inotify_add_watch(notes_, path().toLocal8Bit().constData(), IN_OPEN) >= 0);
    }
    WatchedPicture(const WatchedPicture&) = delete;
    WatchedPicture& operator=(const WatchedPicture&) = delete;
    ~WatchedPicture() { close(notes_); }
    QString path() const { return folder_.filePath("p.png"); }
    /// Markup that would show it.
    QString markup() const { return QStringLiteral("<img src=\"%1\"><b>x</b>a&y[*]").arg(path()); }
    bool wasOpened() const {
        alignas(inotify_event) char note[4096];
        return read(notes_, note, sizeof note) > 0;
    }

private:
    QTemporaryDir folder_;
    int notes_;
};

void copyFolder(const std::string& from, const QString& to) {
    std::filesystem::copy(from, to.toStdString(), std::filesystem::copy_options::recursive);
}

template <class Change> void changeJson(const QString& path, Change change) {
    QFile file(path);
    REQUIRE(file.open(QFile::ReadOnly));
    QJsonObject json = QJsonDocument::fromJson(file.readAll()).object();
    file.close();
    change(json);
    REQUIRE(file.open(QFile::WriteOnly | QFile::Truncate));
    file.write(QJsonDocument(json).toJson());
}

/// The texts of an item model, as views show them and as tool tips.
void collect(const QAbstractItemModel& model, const QModelIndex& parent, QStringList& texts) {
    for (int row = 0; row < std::min(model.rowCount(parent), 300); ++row)
        for (int column = 0; column < model.columnCount(parent); ++column) {
            const QModelIndex index = model.index(row, column, parent);
            texts << index.data(Qt::ToolTipRole).toString();
            if (column == 0) collect(model, index, texts);
        }
}

/// How many labels and tool tips show the markup; each must show it as it is.
int checkWidgets() {
    int shown = 0;
    QStringList tips;
    for (QWidget* widget : QApplication::allWidgets()) {
        INFO(widget->metaObject()->className() << " '" << widget->objectName().toStdString() << "'");
        tips << widget->toolTip();
        if (const auto* view = qobject_cast<QAbstractItemView*>(widget); view && view->model())
            collect(*view->model(), {}, tips);
        if (const auto* box = qobject_cast<QComboBox*>(widget)) collect(*box->model(), {}, tips);
        QStringList texts; // where a single "&" would mark a key
        if (const auto* button = qobject_cast<QAbstractButton*>(widget)) texts << button->text();
        for (const QAction* action : widget->actions()) texts << action->text();
        if (const auto* label = qobject_cast<QLabel*>(widget); label && label->buddy()) texts << label->text();
        for (const QString& text : texts)
            if (text.contains("b>a&")) CHECK_THAT(text.toStdString(), CONTAINS("a&&y"));
        if (const auto* text = qobject_cast<QTextEdit*>(widget)) CHECK_FALSE(text->toHtml().contains("<img"));
        const auto* label = qobject_cast<QLabel*>(widget);
        if (!label || !label->text().contains("img src")) continue;
        ++shown;
        if (label->textFormat() == Qt::RichText)
            CHECK_FALSE(label->text().contains("<img"));
        else
            CHECK(label->textFormat() == Qt::PlainText);
    }
    for (const QString& tip : tips) {
        if (!Qt::mightBeRichText(tip)) continue;
        ++shown;
        QToolTip::showText({20, 20}, tip);
        QCoreApplication::processEvents();
        for (const QWidget* window : QApplication::topLevelWidgets())
            if (const auto* label = qobject_cast<const QLabel*>(window); label && window->inherits("QTipLabel")) {
                CHECK(label->text() == tip);
                CHECK(label->textFormat() == Qt::PlainText);
            }
        QToolTip::hideText();
    }
    return shown;
}

/// The same in every panel.
int checkPanels(LabWindow& lab) {
    int shown = 0;
    for (const PanelDescriptor& panel : panelCatalogue()) {
        INFO(panel.id);
        lab.showPanel(panel.id);
        REQUIRE(lab.settle());
        shown += checkWidgets();
    }
    return shown;
}

} // namespace

TEST_CASE("markup: the classes of a vision model are shown as they are and open no file", "[lab][vision]") {
    const WatchedPicture watched;
    LabWindow lab;
    const QString model = lab.folder() + "/<b>vit";
    copyFolder((test::kGoldenRoot / "vit").string(), model);
    changeJson(model + "/config.json", [&](QJsonObject& json) {
        QJsonObject labels = json["id2label"].toObject();
        for (const QString& label : labels.keys()) labels[label] = watched.markup() + label;
        json["id2label"] = labels;
    });
    const QString picture = lab.folder() + "/<img src=" + QFileInfo(watched.path()).fileName() + ">.png";
    QImage image(16, 16, QImage::Format_RGB32);
    image.fill(Qt::blue);
    REQUIRE(image.save(picture));
    lab.window().files().open(model);
    REQUIRE(answers(lab, "<b>vit"));
    lab.window().files().open(picture);
    REQUIRE(lab.settle());
    REQUIRE(lab.find<QLabel>("classesText").text().contains(watched.markup()));
    REQUIRE(lab.find<QLabel>("classesAnswer").text().contains(watched.markup()));
    CHECK(checkPanels(lab) > 0);
    CHECK_FALSE(watched.wasOpened());
}

TEST_CASE("markup: tokens, prompts, branches, runs and sessions are shown as they are and open no file", "[lab]") {
    const WatchedPicture watched;
    LabWindow lab;
    const QString model = lab.folder() + "/<b>a&y[*]%1", run = lab.folder() + "/runs/<b>run";
    copyFolder(std::string(ATTN_SOURCE_DIR) + "/assets/models/english", model);
    changeJson(model + "/tokenizer.json", [&](QJsonObject& json) {
        QJsonObject bpe = json["model"].toObject(), vocabulary;
        const QJsonObject before = bpe["vocab"].toObject();
        for (auto piece = before.begin(); piece != before.end(); ++piece) { // all but the bytes
            const QString text = watched.markup().replace(' ', QChar(0x120)) + piece.key();
            vocabulary[piece.key().size() > 1 ? text : piece.key()] = piece.value();
        }
        bpe["vocab"] = vocabulary;
        bpe["merges"] = QJsonArray();
        json["model"] = bpe;
    });
    QDir().mkpath(run);
    std::ofstream((run + "/recipe.json").toStdString()) << R"({"task": "<img src='x'>"})";
    lab.window().files().open(model);
    REQUIRE(lab.settle());
    REQUIRE(lab.snapshot().model->name == "<b>a&y[*]%1");
    CHECK(lab.window().windowTitle().startsWith("<b>a&y[*][*]%1")); // Qt shows "[*]" for "[*][*]"
    CHECK(lab.action("undo").text().contains("<b>a&&y[*]%1"));
    CHECK(lab.action("recent1").text().contains("<b>a&&y[*]%1"));
    lab.find<QPlainTextEdit>("prompt").setPlainText(watched.markup());
    REQUIRE(lab.settle());
    lab.act("step");
    lab.act("step");
    CHECK(checkPanels(lab) > 0);
    const QString session = lab.folder() + "/<img src=x.png>.attnlab";
    lab.saveSession(session);
    lab.window().files().open(session);
    REQUIRE(lab.settle());
    lab.window().files().open(lab.folder() + "/" + "<img src=nothing>");
    REQUIRE(lab.settle());
    checkWidgets();
    CHECK_FALSE(watched.wasOpened());
}

TEST_CASE("markup: a lesson shows its title and summary as they are, and refuses other markup", "[lab][lessons]") {
    const WatchedPicture watched;
    const auto lessonWith = [](const QString& field, const QString& text) {
        QJsonObject step{{"title", "Step"}, {"text", "Text"}};
        QJsonObject lesson{{"title", "Title"}, {"summary", "Summary"}, {"minutes", 1}};
        if (field == "step.title" || field == "step.text")
            step[field.section('.', 1)] = text;
        else if (field == "average")
            step["average"] = QJsonObject{{"labels", QJsonArray{text, text, text}},
                                          {"values", QJsonArray{QJsonArray{0, 1}, QJsonArray{1, 0}, QJsonArray{1, 1}}}};
        else
            lesson[field] = text;
        lesson["steps"] = QJsonArray{step};
        return QJsonDocument(lesson).toJson();
    };
    for (const char* field : {"title", "summary", "step.title", "step.text"}) {
        INFO(field);
        CHECK_THAT(refusal(lessonFromJson(lessonWith(field, watched.markup()), "a.json")), CONTAINS("<img src="));
    }
    LabWindow lab;
    int number = 0;
    for (const char* field : {"title", "summary", "step.title", "step.text", "average"}) {
        const QString path = lab.folder() + QStringLiteral("/lesson%1.json").arg(++number);
        QFile file(path);
        REQUIRE(file.open(QFile::WriteOnly));
        const bool isMarkup = QString(field) != "average";
        file.write(lessonWith(field, isMarkup ? watched.markup().toHtmlEscaped() : watched.markup()));
        file.close();
        lab.window().lessons().open(path);
        REQUIRE(lab.settle());
        checkWidgets();
        if (QString(field) == "title") CHECK(lab.find<QLabel>("lessonPlace").text().contains(watched.markup()));
    }
    CHECK_FALSE(watched.wasOpened());
}
