#pragma once

#include <QString>

namespace attn {

/// The progress in one lesson on this machine, kept in QSettings.
struct LessonProgress {
    bool isDone = false;
    int step = 0; ///< the step to continue from
    bool operator==(const LessonProgress&) const = default;
    static LessonProgress load(const QString& lesson);
    void save(const QString& lesson) const;
};
void clearLessonProgress();

/// The lesson that was last left unfinished; empty if there is none.
QString unfinishedLesson();

} // namespace attn
