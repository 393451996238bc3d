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

/// An action or a condition by its name, as a lesson writes it: {"prompt": "abcabc"}.
struct LessonCall {
    QString name;
    QJsonValue argument;
};

struct LessonChoice {
    QString text, reply;
    bool isRight = false;
};

/// A number that the student is to guess, with what to say to a good guess and to another.
struct LessonNumber {
    double answer = 0, tolerance = 0;
    QString right, wrong;
};

/// Asked before the outcome is shown: some choices, or a number.
struct LessonPrediction {
    QString question;
    std::vector<LessonChoice> choices;
    std::optional<LessonNumber> number;
};

/// Three vectors of two numbers whose weighted average the student sets by hand.
struct LessonAverage {
    std::array<QString, 3> labels;
    std::array<QPointF, 3> values;
    std::optional<QPointF> target; ///< to be met
};

struct LessonStep {
    QString title, text;
    QStringList panels; ///< beside the lesson, the largest first
    std::vector<LessonCall> enter;
    std::optional<LessonPrediction> prediction;
    std::optional<LessonAverage> average;
    QString task;                     ///< what to do, shown once the prediction is made
    std::vector<LessonCall> reveal;   ///< run once the prediction is made
    QString pointAt;                  ///< a control, as findControl() names it
    QStringList hide;                 ///< controls that would give the outcome away
    QStringList allow;                ///< control groups that are not locked once the prediction is made
    std::vector<LessonCall> doneWhen; ///< all must hold; none: the step is done with its prediction
    QString outcome;                  ///< shown once the step is done
    std::vector<LessonCall> leave;
};

/// A file of assets/lessons, or one of an author's own.
struct Lesson {
    QString id; ///< the file's name without its ending
    QString title, summary;
    int minutes = 0;
    std::vector<LessonStep> steps;
};

/// @param where the file; named in the failure with the step and the thing in it that has no meaning
std::variant<Lesson, Failure> lessonFromJson(const QByteArray& json, const QString& where);
std::variant<Lesson, Failure> loadLesson(const QString& path);

/// A control of the window by its object name, or of a part of it by the names of both: "next/Temperature". The second
/// may be an accessible name. @return null: there is none
QWidget* findControl(const QWidget& window, const QString& name);
/// The first step that points at, or hides, what is no control of the window.
std::optional<Failure> checkControls(const Lesson& lesson, const QWidget& window);

/// The lessons that the program brings, in order, then those of a folder of the user's own.
struct LessonLibrary {
    std::vector<Lesson> lessons;
    std::vector<Failure> failures; ///< of files that are no lessons
};
LessonLibrary lessonLibrary(const QString& userFolder);

} // namespace attn
