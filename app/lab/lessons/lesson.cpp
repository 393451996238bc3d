#include "app/lab/lessons/lesson.h"

#include "app/lab/common/control_groups.h"
#include "app/lab/lessons/lesson_calls.h"
#include "app/lab/panels/catalogue.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <QSettings>
#include <QTextDocumentFragment>
#include <QWidget>

#include <algorithm>

namespace attn {
namespace {

constexpr qint64 kMostBytes = 1 << 20;
constexpr size_t kMostLessons = 200; // in the list
constexpr size_t kMostChoices = 9;   // as many as there are digit keys

/// An error in a lesson file, thrown from any depth of the reader.
struct Problem {
    QString what, hint;
};

QString listed(QStringList names) { return QStringLiteral("choose ") + names.join(QStringLiteral(", ")); }

QStringList groupIds() {
    QStringList ids;
    for (const ControlGroup& group : controlGroups()) ids << QString::fromLatin1(group.id);
    return ids;
}

QStringList panelIds() {
    QStringList ids;
    for (const PanelDescriptor& panel : panelCatalogue()) ids << QString::fromLatin1(panel.id);
    return ids;
}

/// Checks a text for readers: plain text with the tags b, i, code and br.
/// @throws Problem for any other markup
void checkMarkup(const QString& key, const QString& text) {
    static const QRegularExpression tag(QStringLiteral("<(?!/?(?:b|i|code)>|br>)[^>]*>?"));
    if (const auto match = tag.match(text); match.hasMatch())
        throw Problem{QStringLiteral("\"%1\" has \"%2\"").arg(key, match.captured().left(20)),
                      QStringLiteral("use only <b>, <i>, <code> and <br>, and write &lt; for <")};
}

/// Reads the fields of an object. Unknown fields are errors.
class Fields {
public:
    Fields(QJsonObject object, QStringList known) : object_(std::move(object)) {
        for (const QString& key : object_.keys())
            if (!known.contains(key)) throw Problem{QStringLiteral("there is no field \"%1\"").arg(key), listed(known)};
    }

    QString text(const QString& key, bool isNeeded = false) const {
        const QJsonValue value = object_.value(key);
        if (!value.isString() && (isNeeded || !value.isUndefined()))
            throw Problem{QStringLiteral("\"%1\" is not text").arg(key), {}};
        checkMarkup(key, value.toString());
        if (isNeeded && value.toString().isEmpty()) throw Problem{QStringLiteral("\"%1\" is empty").arg(key), {}};
        return value.toString();
    }
    double number(const QString& key, double minimum, double maximum) const {
        const double value = object_.value(key).toDouble();
        if (!object_.value(key).isDouble() || value < minimum || value > maximum)
            throw Problem{QStringLiteral("\"%1\" is not a number from %2 to %3")
                              .arg(key, QString::number(minimum), QString::number(maximum)),
                          {}};
        return value;
    }
    QJsonArray list(const QString& key) const {
        const QJsonValue value = object_.value(key);
        if (!value.isArray() && !value.isUndefined())
            throw Problem{QStringLiteral("\"%1\" is not a list").arg(key), {}};
        return value.toArray();
    }
    QJsonObject object(const QString& key) const {
        if (!object_.value(key).isObject()) throw Problem{QStringLiteral("\"%1\" is not an object").arg(key), {}};
        return object_.value(key).toObject();
    }
    bool has(const QString& key) const { return object_.contains(key); }

    QStringList texts(const QString& key) const {
        QStringList found;
        for (const QJsonValue& value : list(key)) found << value.toString();
        return found;
    }
    QStringList names(const QString& key, const QString& kind, const QStringList& known) const {
        QStringList found;
        for (const QJsonValue& value : list(key)) {
            if (!known.contains(value.toString()))
                throw Problem{QStringLiteral("there is no %1 \"%2\"").arg(kind, value.toString()), listed(known)};
            found << value.toString();
        }
        return found;
    }

private:
    QJsonObject object_;
};

template <class Verb>
LessonCall callFrom(const QString& name, const QJsonValue& argument, const QString& kind, std::span<const Verb> verbs) {
    const auto verb = std::ranges::find(verbs, name, [](const Verb& each) { return QString::fromLatin1(each.name); });
    if (verb == verbs.end()) {
        QStringList known;
        for (const Verb& each : verbs) known << QString::fromLatin1(each.name);
        throw Problem{QStringLiteral("there is no %1 \"%2\"").arg(kind, name), listed(known)};
    }
    if (const QString problem = verb->problem(argument); !problem.isEmpty())
        throw Problem{QStringLiteral("%1 \"%2\": %3").arg(kind, name, problem), {}};
    return {name, argument};
}

std::vector<LessonCall> actionsFrom(const Fields& step, const QString& key) {
    std::vector<LessonCall> calls;
    for (const QJsonValue& value : step.list(key)) {
        const QJsonObject call = value.toObject();
        if (call.size() != 1)
            throw Problem{QStringLiteral("an action in \"%1\" is not one name with one argument").arg(key),
                          QStringLiteral("write {\"prompt\": \"abcabc\"}")};
        calls.push_back(callFrom(call.begin().key(), call.begin().value(), QStringLiteral("action"), lessonActions()));
    }
    return calls;
}

LessonPrediction predictionFrom(const QJsonObject& object) {
    const Fields fields(object, {"question", "choices", "number", "tolerance", "right", "wrong"});
    LessonPrediction prediction{.question = fields.text("question", true), .choices = {}, .number = {}};
    if (fields.has("number")) {
        prediction.number = {.answer = fields.number("number", -1e9, 1e9),
                             .tolerance = fields.number("tolerance", 0, 1e9),
                             .right = fields.text("right", true),
                             .wrong = fields.text("wrong", true)};
        return prediction;
    }
    for (const QJsonValue& value : fields.list("choices")) {
        const Fields choice(value.toObject(), {"text", "reply", "right"});
        prediction.choices.push_back({.text = choice.text("text", true),
                                      .reply = choice.text("reply", true),
                                      .isRight = value.toObject().value("right").toBool()});
    }
    const auto right = std::ranges::count(prediction.choices, true, &LessonChoice::isRight);
    if (prediction.choices.size() < 2 || prediction.choices.size() > kMostChoices || right != 1)
        throw Problem{QStringLiteral("the prediction has %1 choices, of which %2 are right")
                          .arg(prediction.choices.size())
                          .arg(right),
                      QStringLiteral("give two to nine choices of which one is right, or a number")};
    return prediction;
}

QPointF pointFrom(const QString& key, const QJsonValue& value) {
    const QJsonArray pair = value.toArray();
    if (pair.size() != 2 || !pair[0].isDouble() || !pair[1].isDouble())
        throw Problem{QStringLiteral("\"%1\" has a vector that is not two numbers").arg(key), {}};
    return {pair[0].toDouble(), pair[1].toDouble()};
}

LessonAverage averageFrom(const QJsonObject& object) {
    const Fields fields(object, {"labels", "values", "target"});
    const QJsonArray labels = fields.list("labels"), values = fields.list("values");
    LessonAverage average;
    if (static_cast<size_t>(labels.size()) != average.labels.size() || values.size() != labels.size())
        throw Problem{QStringLiteral("the average does not have three labels and three values"), {}};
    for (size_t i = 0; i < average.labels.size(); ++i) {
        average.labels[i] = labels[static_cast<qsizetype>(i)].toString();
        average.values[i] = pointFrom("values", values[static_cast<qsizetype>(i)]);
    }
    if (fields.has("target")) average.target = pointFrom("target", object.value("target"));
    return average;
}

LessonStep stepFrom(const QJsonObject& object) {
    const Fields fields(object, {"title", "text", "panels", "enter", "prediction", "average", "task", "reveal",
                                 "pointAt", "hide", "allow", "doneWhen", "outcome", "leave"});
    LessonStep step{.title = fields.text("title", true),
                    .text = fields.text("text", true),
                    .panels = fields.names("panels", "panel", panelIds()),
                    .enter = actionsFrom(fields, "enter"),
                    .prediction = {},
                    .average = {},
                    .task = fields.text("task"),
                    .reveal = actionsFrom(fields, "reveal"),
                    .pointAt = fields.text("pointAt"),
                    .hide = fields.texts("hide"),
                    .allow = fields.names("allow", "group of controls", groupIds()),
                    .doneWhen = {},
                    .outcome = fields.text("outcome"),
                    .leave = actionsFrom(fields, "leave")};
    if (fields.has("prediction")) step.prediction = predictionFrom(fields.object("prediction"));
    if (fields.has("average")) step.average = averageFrom(fields.object("average"));
    if (fields.has("doneWhen")) {
        const QJsonObject conditions = fields.object("doneWhen");
        for (auto each = conditions.begin(); each != conditions.end(); ++each)
            step.doneWhen.push_back(
                callFrom(each.key(), each.value(), QStringLiteral("condition"), lessonConditions()));
    }
    if (!step.doneWhen.empty() && step.task.isEmpty())
        throw Problem{QStringLiteral("\"doneWhen\" needs a \"task\" that tells the student what to do"), {}};
    return step;
}

Failure failureOf(const Problem& problem, const QString& where) {
    return {.what = problem.what.toStdString(), .where = where.toStdString(), .hint = problem.hint.toStdString()};
}

/// A checked text for lists and tool tips, which show no markup.
QString withoutMarkup(const QString& text) { return QTextDocumentFragment::fromHtml(text).toPlainText(); }

const QString kUnfinished = QStringLiteral("lessonUnfinished");

} // namespace

std::variant<Lesson, Failure> lessonFromJson(const QByteArray& json, const QString& where) {
    QJsonParseError error;
    const QJsonDocument document = QJsonDocument::fromJson(json, &error);
    Lesson lesson{.id = QFileInfo(where).completeBaseName(), .title = {}, .summary = {}, .minutes = 0, .steps = {}};
    QString place = where;
    try {
        if (error.error != QJsonParseError::NoError)
            throw Problem{QStringLiteral("this is not JSON: %1 at character %2")
                              .arg(error.errorString(), QString::number(error.offset)),
                          {}};
        const QJsonObject object = document.object();
        if (!object.contains("title") && !object.contains("steps"))
            throw Problem{QStringLiteral("this is not a lesson file"),
                          QStringLiteral("choose a file that has a \"title\" and \"steps\"")};
        const Fields fields(object, {"title", "summary", "minutes", "steps"});
        lesson.title = withoutMarkup(fields.text("title", true));
        lesson.summary = withoutMarkup(fields.text("summary", true));
        lesson.minutes = static_cast<int>(fields.number("minutes", 1, 600));
        const QJsonArray steps = fields.list("steps");
        if (steps.isEmpty()) throw Problem{QStringLiteral("the lesson has no steps"), {}};
        for (qsizetype i = 0; i < steps.size(); ++i) {
            place = QStringLiteral("%1, step %2").arg(where, QString::number(i + 1));
            lesson.steps.push_back(stepFrom(steps[i].toObject()));
        }
    } catch (const Problem& problem) {
        return failureOf(problem, place);
    }
    return lesson;
}

std::variant<Lesson, Failure> loadLesson(const QString& path) {
    if (QFileInfo(path).exists() && !QFileInfo(path).isFile()) // reading a pipe might never end
        return failureOf({QStringLiteral("this is not a file"), QStringLiteral("choose a lesson file")}, path);
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        return failureOf({QStringLiteral("the lesson cannot be read: %1").arg(file.errorString()), {}}, path);
    if (file.size() > kMostBytes) return failureOf({QStringLiteral("the file is too large for a lesson"), {}}, path);
    return lessonFromJson(file.readAll(), path);
}

QWidget* findControl(const QWidget& window, const QString& name) {
    const QString first = name.section('/', 0, 0), second = name.section('/', 1);
    auto* found = window.findChild<QWidget*>(first);
    if (!found || second.isEmpty()) return found;
    if (auto* inner = found->findChild<QWidget*>(second)) return inner;
    for (QWidget* inner : found->findChildren<QWidget*>())
        if (inner->accessibleName() == second) return inner;
    return nullptr;
}

std::optional<Failure> checkControls(const Lesson& lesson, const QWidget& window) {
    for (size_t i = 0; i < lesson.steps.size(); ++i) {
        QStringList names = lesson.steps[i].hide;
        if (!lesson.steps[i].pointAt.isEmpty()) names << lesson.steps[i].pointAt;
        for (const QString& name : names)
            if (!findControl(window, name))
                return failureOf(
                    {QStringLiteral("there is no control \"%1\"").arg(name),
                     QStringLiteral("see the author's guide, assets/lessons/README.md, for the names of controls")},
                    QStringLiteral("%1, step %2").arg(lesson.id, QString::number(i + 1)));
    }
    return {};
}

LessonLibrary lessonLibrary(const QString& userFolder) {
    LessonLibrary library;
    QStringList folders{QStringLiteral(":/lessons")};
    if (!userFolder.isEmpty()) folders << userFolder;
    for (const QString& folder : folders)
        for (const QFileInfo& file : QDir(folder).entryInfoList({"*.json"}, QDir::Files, QDir::Name)) {
            if (library.lessons.size() + library.failures.size() >= kMostLessons) {
                library.failures.push_back(
                    failureOf({QStringLiteral("only the first %1 lessons are listed").arg(kMostLessons),
                               QStringLiteral("move some of them to another folder")},
                              folder));
                return library;
            }
            auto loaded = loadLesson(file.filePath());
            if (auto* lesson = std::get_if<Lesson>(&loaded))
                library.lessons.push_back(std::move(*lesson));
            else
                library.failures.push_back(std::get<Failure>(loaded));
        }
    return library;
}

LessonProgress LessonProgress::load(const QString& lesson) {
    const QSettings settings;
    return {.isDone = settings.value("lessons/" + lesson + "/done").toBool(),
            .step = settings.value("lessons/" + lesson + "/step").toInt()};
}

void LessonProgress::save(const QString& lesson) const {
    QSettings settings;
    settings.setValue("lessons/" + lesson + "/done", isDone);
    settings.setValue("lessons/" + lesson + "/step", step);
    if (step > 0)
        settings.setValue(kUnfinished, lesson);
    else if (settings.value(kUnfinished).toString() == lesson)
        settings.remove(kUnfinished);
}

void clearLessonProgress() {
    QSettings settings;
    settings.remove("lessons");
    settings.remove(kUnfinished);
}

QString unfinishedLesson() { return QSettings().value(kUnfinished).toString(); }

} // namespace attn
