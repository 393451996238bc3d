#pragma once

#include "app/lab/lessons/lesson.h"

#include <span>

namespace attn {

class LessonStage;

/// An action that a lesson can perform. To add one, add a line to the table in lesson_actions.cpp and a
/// line to the author's guide.
struct LessonAction {
    const char* name;
    QString (*problem)(const QJsonValue& argument); ///< describes an error in the argument; empty if it is valid
    void (*run)(LessonStage& stage, const QJsonValue& argument);
};
std::span<const LessonAction> lessonActions();

/// A condition for which a lesson can wait. It is checked several times a second. To add one, add a line to the table
/// in lesson_conditions.cpp and a line to the author's guide.
struct LessonCondition {
    const char* name;
    QString (*problem)(const QJsonValue& argument);
    bool (*holds)(LessonStage& stage, const QJsonValue& argument);
};
std::span<const LessonCondition> lessonConditions();

void run(LessonStage& stage, const LessonCall& action);
bool holds(LessonStage& stage, const LessonCall& condition);

/// The model path of an "open" action; empty for other actions.
QString modelOf(const LessonCall& action);

/// Checks of arguments. Each returns a description of the problem, or an empty string.
namespace lesson_argument {
QString text(const QJsonValue& value);
QString flag(const QJsonValue& value); ///< only `true` is valid
QString count(const QJsonValue& value);
QString object(const QJsonValue& value);
QString numbers(const QJsonValue& value, qsizetype count);
/// [site, head]; lessons from before version 0.3 have the layer in place of the site.
QString head(const QJsonValue& value);
QString gate(const QJsonValue& value); ///< [site, head, gate]
int layerOf(const QJsonValue& value);  ///< in a list that head() or gate() accepts
QString oneOf(const QJsonValue& value, const QStringList& names);
QString ids(const QJsonValue& value, std::initializer_list<const char*> known);  ///< one of them
QString parsed(const QJsonValue& value, void (*parse)(const std::string& text)); ///< a string; `parse` throws an Error
QString spec(const QJsonValue& value);                                           ///< of an attention
} // namespace lesson_argument

/// Describes a wrong key of a tab; empty: it is valid.
QString playgroundTabProblem(const QJsonValue& value);

} // namespace attn
