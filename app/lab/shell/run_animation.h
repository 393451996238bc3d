#pragma once

#include "app/lab/bridge/background_task.h"
#include "app/lab/bridge/training_bridge.h"
#include "app/lab/shell/widget_export.h"

#include <QImage>
#include <QPointer>

#include <filesystem>
#include <functional>
#include <vector>

namespace attn {

/// Shows each checkpoint of a training run, grabs an image of one view at each, and writes a GIF or numbered PNG files.
/// Deletes itself when it is done.
class RunAnimation : public QObject {
    Q_OBJECT

public:
    /// @param path "x.gif", or "x.png" for x-000000.png and so on, by step
    RunAnimation(TrainingBridge& training, SessionBridge& views, QWidget& figure, QString run,
                 std::vector<std::filesystem::path> checkpoints, QString path, QObject* parent);

    void start();
    /// Stops. PNG files that are already written stay; no GIF is written.
    void cancel();

signals:
    void progressed(int done, int count);
    void finished();
    void failed(const attn::Failure& failure);

private:
    void showNext();
    void take();
    void report();    ///< how many are done
    void showAfter(); ///< the checkpoint after the one that was taken
    void finish();
    /// Writes a file on another thread. @param then follows unless it fails
    void write(Export work, std::function<void()> then);

    TrainingBridge& training_;
    QPointer<QWidget> figure_;
    QString run_, path_;
    std::vector<std::filesystem::path> checkpoints_;
    size_t next_ = 0;
    bool isCancelled_ = false;
    std::string awaited_;
    QList<QImage> frames_;
    BackgroundTask writing_;
    ListedJob job_;
};

} // namespace attn
