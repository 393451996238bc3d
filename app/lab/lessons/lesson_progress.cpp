#include "app/lab/lessons/lesson_progress.h"

#include <QSettings>

namespace attn {
namespace {
const QString kUnfinished = QStringLiteral("lessonUnfinished");
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
