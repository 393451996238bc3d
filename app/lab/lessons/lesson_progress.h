#pragma once

#include <QString>

namespace attn {

/// How far a lesson has been done on this machine; kept in QSettings.
struct LessonProgress {
    bool isDone = false;
    int step = 0; ///< that was reached, to go on from
    bool operator==(const LessonProgress&) const = default;
    static LessonProgress load(const QString& lesson);
    void save(const QString& lesson) const;
};
void clearLessonProgress();

/// The lesson left last without being finished; empty: there is none.
QString unfinishedLesson();

} // namespace attn
