#include "app/lab/shell/run_animation.h"

#include "app/figures/export_figure.h"
#include "app/lab/shell/gif_writer.h"
#include "engine/io/run_folder.h"

#include <QFileInfo>
#include <QTimer>
#include <QWidget>

#include <iterator>

namespace attn {
namespace {

constexpr int kFrameMs = 120, kFrameSettleMs = 60; ///< kFrameSettleMs: until the widgets have been laid out and drawn
constexpr int kWidestGif = 900;

} // namespace

RunAnimation::RunAnimation(TrainingBridge& training, SessionBridge& views, QWidget& figure, QString run,
                           std::vector<std::filesystem::path> checkpoints, QString path, QObject* parent)
    : QObject(parent), training_(training), figure_(&figure), run_(std::move(run)), path_(std::move(path)),
      checkpoints_(std::move(checkpoints)),
      job_(JobList::shared(),
           {.kind = "files",
            .title = tr("Save %1").arg(QFileInfo(path_).fileName().left(60)).toStdString(),
            .state = JobState::Running},
           [this](JobRequest request) { // on the window's thread
               if (request == JobRequest::Stop) cancel();
           }) {
    connect(&training_, &TrainingBridge::stepShown, this, [this](const QString& shown) {
        if (awaited_.empty() || shown.toStdString() != awaited_) return;
        awaited_.clear();
        QTimer::singleShot(kFrameSettleMs, this, &RunAnimation::take);
    });
    connect(&views, &SessionBridge::failed, this, [this](const Failure& failure) {
        emit failed(failure);
        deleteLater();
    });
}

void RunAnimation::start() {
    report();
    showNext();
}

void RunAnimation::cancel() {
    isCancelled_ = true;
    deleteLater();
}

void RunAnimation::showNext() {
    if (isCancelled_) return;
    if (!figure_ || next_ >= checkpoints_.size()) return finish();
    const std::filesystem::path& checkpoint = checkpoints_[next_];
    awaited_ = checkpoint.string();
    training_.show(run_, QString::fromStdString(awaited_), *checkpointStep(checkpoint));
}

void RunAnimation::take() {
    if (isCancelled_) return;
    if (!figure_) return finish();
    const QImage picture = pictureOf(*figure_);
    const int64_t step = *checkpointStep(checkpoints_[next_]);
    if (path_.endsWith(".png", Qt::CaseInsensitive)) {
        const QString name =
            QStringLiteral("%1-%2.png")
                .arg(path_.chopped(4), QString::number(static_cast<qlonglong>(step)).rightJustified(6, QChar('0')));
        return write(
            [picture, name](const std::atomic<bool>& isStopped) {
                return isStopped ? std::nullopt : writePng(picture, name);
            },
            [this] { showAfter(); });
    }
    frames_ << (picture.width() > kWidestGif ? picture.scaledToWidth(kWidestGif, Qt::SmoothTransformation) : picture);
    showAfter();
}

void RunAnimation::showAfter() {
    ++next_;
    report();
    showNext();
}

void RunAnimation::report() {
    job_.report(ofSteps(static_cast<int64_t>(next_), std::ssize(checkpoints_)));
    emit progressed(static_cast<int>(next_), static_cast<int>(checkpoints_.size()));
}

void RunAnimation::finish() {
    if (path_.endsWith(".png", Qt::CaseInsensitive)) {
        emit finished();
        return deleteLater();
    }
    write([path = path_, frames = frames_](
              const std::atomic<bool>& isStopped) { return writeGif(path, frames, kFrameMs, isStopped); },
          [this] {
              emit finished();
              deleteLater();
          });
}

void RunAnimation::write(Export work, std::function<void()> then) {
    writing_.start<bool>(
        path_.toStdString(),
        [work = std::move(work)](const std::atomic<bool>& isStopped) -> std::variant<bool, Failure> {
            if (auto failure = work(isStopped)) return *failure;
            return true;
        },
        [this, then = std::move(then)](std::variant<bool, Failure> result) {
            if (const auto* failure = std::get_if<Failure>(&result)) {
                emit failed(*failure);
                return deleteLater();
            }
            then();
        });
}

} // namespace attn
