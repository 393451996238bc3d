#pragma once

#include "app/lab/lessons/lesson.h"

#include <span>

namespace attn {

class MainWindow;

/// What a lesson can do to the window. A new one is a line in the table of lesson_actions.cpp and one in the author's
/// guide.
struct LessonAction {
    const char* name;
    QString (*problem)(const QJsonValue& argument); ///< empty: the argument has a meaning
    void (*run)(MainWindow& window, const QJsonValue& argument);
};
std::span<const LessonAction> lessonActions();

/// What a lesson can wait for; asked several times a second. Likewise in lesson_conditions.cpp.
struct LessonCondition {
    const char* name;
    QString (*problem)(const QJsonValue& argument);
    bool (*holds)(MainWindow& window, const QJsonValue& argument);
};
std::span<const LessonCondition> lessonConditions();

void run(MainWindow& window, const LessonCall& action);
bool holds(MainWindow& window, const LessonCall& condition);

/// The model path that an "open" action names; empty: another action.
QString modelOf(const LessonCall& action);

/// What arguments may be; each returns what is wrong, or nothing.
namespace lesson_argument {
QString text(const QJsonValue& value);
QString flag(const QJsonValue& value); ///< true alone
QString count(const QJsonValue& value);
QString object(const QJsonValue& value);
QString numbers(const QJsonValue& value, qsizetype count);
QString ids(const QJsonValue& value, std::initializer_list<const char*> known); ///< one of them
} // namespace lesson_argument

} // namespace attn
