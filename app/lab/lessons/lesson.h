#pragma once

#include "engine/core/failure.h"

#include <QByteArray>
#include <QJsonValue>
#include <QPointF>
#include <QString>
#include <QStringList>

#include <array>
#include <optional>
#include <variant>
#include <vector>

class QWidget;

namespace attn {

/// An action or a condition with its argument, as written in a lesson: {"prompt": "abcabc"}.
struct LessonCall {
    QString name;
    QJsonValue argument;
};

struct LessonChoice {
    QString text, reply;
    bool isRight = false;
};

/// A number that the student guesses, with the replies to a right and a wrong guess.
struct LessonNumber {
    double answer = 0, tolerance = 0;
    QString right, wrong;
};

/// A question before the outcome, answered with a choice or a number.
struct LessonPrediction {
    QString question;
    std::vector<LessonChoice> choices;
    std::optional<LessonNumber> number;
};

/// Three two-dimensional vectors whose weights the student sets to form an average.
struct LessonAverage {
    std::array<QString, 3> labels;
    std::array<QPointF, 3> values;
    std::optional<QPointF> target; ///< the average to reach
};

struct LessonStep {
    QString title, text;
    QStringList panels; ///< shown beside the lesson, the largest first
    std::vector<LessonCall> enter;
    std::optional<LessonPrediction> prediction;
    std::optional<LessonAverage> average;
    QString task;                     ///< the instruction, shown after the prediction
    std::vector<LessonCall> reveal;   ///< run after the prediction
    QString pointAt;                  ///< a control with a name for findControl()
    QStringList hide;                 ///< controls that would reveal the outcome
    QStringList allow;                ///< control groups to unlock after the prediction
    std::vector<LessonCall> doneWhen; ///< all must be true; empty: the prediction completes the step
    QString outcome;                  ///< shown when the step is done
    std::vector<LessonCall> leave;
};

/// A lesson, read from assets/lessons or from an author's own file.
struct Lesson {
    QString id; ///< the file's name without its extension
    QString title, summary;
    int minutes = 0;
    std::vector<LessonStep> steps;
};

/// @param where the file. A failure names it, the step and the wrong field.
std::variant<Lesson, Failure> lessonFromJson(const QByteArray& json, const QString& where);
/// Reads a file of at most 1 MiB.
std::variant<Lesson, Failure> loadLesson(const QString& path);

/// Finds a control by its object name, or inside a part of the window by both names: "next/Temperature". The second
/// name may be an accessible name.
/// @return null if there is no such control
QWidget* findControl(const QWidget& window, const QString& name);
/// Checks that every control in the lesson exists in the window.
/// @return a failure for the first missing one
std::optional<Failure> checkControls(const Lesson& lesson, const QWidget& window);

/// The bundled lessons in order, followed by those in the user's own folder.
struct LessonLibrary {
    std::vector<Lesson> lessons;
    std::vector<Failure> failures; ///< one per file that is not a valid lesson
};
LessonLibrary lessonLibrary(const QString& userFolder);

/// The progress in one lesson on this machine, kept in QSettings.
struct LessonProgress {
    bool isDone = false;
    int step = 0; ///< the step to continue from
    bool operator==(const LessonProgress&) const = default;
    static LessonProgress load(const QString& lesson);
    void save(const QString& lesson) const;
};
void clearLessonProgress();

/// The id of the lesson that was left unfinished last; empty if there is none.
QString unfinishedLesson();

} // namespace attn
