#include "app/figures/read_image.h"
#include "app/lab/panels/picture_input_panel.h"
#include "app/lab/widgets/picture_patches.h"
#include "engine/models/vision_source.h"

#include <QDirIterator>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QImageReader>
#include <QMimeData>

#include <algorithm>
#include <filesystem>
#include <utility>

// Pictures that are opened, dropped or pasted: they are read and decoded beside the window.

namespace attn {
namespace {

/// The first pictures of a folder by name.
QStringList picturesIn(const QString& folder, const std::atomic<bool>& isStopped) {
    constexpr qsizetype kMost = 2000;
    QStringList patterns, paths;
    for (const QByteArray& format : QImageReader::supportedImageFormats())
        patterns << QStringLiteral("*.") + QString::fromLatin1(format);
    for (QDirIterator each(folder, patterns, QDir::Files | QDir::Readable); each.hasNext() && !isStopped;)
        paths << QFileInfo(each.next()).absoluteFilePath();
    paths.sort();
    return paths.first(std::min(paths.size(), kMost));
}

/// What was dropped or copied, in a format that can be decoded on another thread; empty if there is none.
QString pictureFormat(const QMimeData& data) {
    const QByteArrayList known = QImageReader::supportedMimeTypes();
    for (const QString& format : data.formats())
        if (known.contains(format.toLatin1())) return format;
    return {};
}

} // namespace

template <class Result>
void PictureInputPanel::read(BackgroundTask& task, const QString& name,
                             std::function<std::variant<Result, Failure>(const std::atomic<bool>& isStopped)> work,
                             std::function<void(std::variant<Result, Failure>)> done) {
    task.start<Result>(name.toStdString(), std::move(work),
                       [this, done = std::move(done)](std::variant<Result, Failure> result) {
                           emit readingChanged({});
                           done(std::move(result));
                       });
    emit readingChanged(tr("Reading %1").arg(QFileInfo(name).fileName().left(60)));
}

void PictureInputPanel::stop(BackgroundTask& task) {
    if (!task.isRunning()) return;
    task.cancel();
    emit readingChanged({});
}

void PictureInputPanel::endWaiting() {
    if (std::exchange(picksExample_, false)) pictures_.post();
}

void PictureInputPanel::cancelReading() {
    stop(listingExamples_);
    stop(reading_);
    stop(readingOther_);
    endWaiting();
    listPictures(); // the choice in the list is that of the picture again
}

void PictureInputPanel::listExamples() {
    read<QStringList>(
        listingExamples_, QString::fromStdString(snapshot_->path()),
        [model = snapshot_->path()](const std::atomic<bool>&) {
            QStringList paths;
            for (const std::filesystem::path& path : examplePictures(model))
                paths << QString::fromStdString(path.string());
            return paths;
        },
        [this](std::variant<QStringList, Failure> found) {
            if (auto* paths = std::get_if<QStringList>(&found)) examples_ = std::move(*paths);
            if (!picksExample_ || reading_.isRunning()) return listPictures(); // the user has chosen another
            if (examples_.isEmpty()) return endWaiting();
            readAside(reading_, examples_.front(),
                      [this](const QString& name, const std::shared_ptr<const Image>& picture) {
                          if (!picture) return endWaiting();
                          PictureSetup next = pictures_.setup();
                          next.name = name;
                          next.given.image = picture;
                          next.given.hidden.clear();
                          picksExample_ = false;
                          if (next == pictures_.setup()) return pictures_.post();
                          pictures_.set(next);
                      });
        });
}

void PictureInputPanel::readAside(BackgroundTask& task, const QString& name, Reader then) {
    stop(task);
    if (const auto picture = builtInPicture(name))
        return then(name, std::make_shared<const Image>(imageFrom(*picture)));
    decodeAside(
        task, name, [name] { return readImage(name); }, std::move(then));
}

void PictureInputPanel::decodeAside(BackgroundTask& task, const QString& name,
                                    std::function<std::variant<Image, Failure>()> decode, Reader then) {
    read<Image>(
        task, name, [decode = std::move(decode)](const std::atomic<bool>&) { return decode(); },
        [this, name, then = std::move(then)](std::variant<Image, Failure> result) {
            if (auto* image = std::get_if<Image>(&result))
                return then(name, std::make_shared<const Image>(std::move(*image)));
            then(name, nullptr);
            showProblem(QString::fromStdString(std::get<Failure>(result).sentence()));
        });
}

void PictureInputPanel::openPicture(const QString& name) {
    isChosen_ = isModelComing();
    readAside(reading_, name, opener());
}

void PictureInputPanel::openOther(const QString& name) {
    stop(readingOther_);
    if (name.isEmpty()) return pictures_.setOther(name, nullptr);
    readAside(readingOther_, name, [this](const QString& read, const std::shared_ptr<const Image>& picture) {
        if (picture)
            pictures_.setOther(read, picture);
        else
            listPictures();
    });
}

PictureInputPanel::Reader PictureInputPanel::opener() {
    return [this](const QString& name, const std::shared_ptr<const Image>& picture) {
        if (picture) return editPicture(name, picture);
        isChosen_ = false;
        endWaiting();
    };
}

bool PictureInputPanel::openData(const QMimeData& mime, const QString& name) {
    std::function<std::variant<Image, Failure>()> decode;
    if (const QString format = pictureFormat(mime); !format.isEmpty())
        decode = [bytes = mime.data(format), name] { return readImage(bytes, name); };
    else if (mime.hasImage())
        decode = [image = qvariant_cast<QImage>(mime.imageData())] { return imageFrom(image); };
    if (!decode) return false;
    decodeAside(reading_, name, std::move(decode), opener());
    return true;
}

void PictureInputPanel::openPictures(const QString& folder) {
    read<QStringList>(
        reading_, folder, [folder](const std::atomic<bool>& isStopped) { return picturesIn(folder, isStopped); },
        [this, folder](std::variant<QStringList, Failure> found) {
            auto* paths = std::get_if<QStringList>(&found);
            showPictures(folder, paths ? std::move(*paths) : QStringList());
        });
}

void PictureInputPanel::showPictures(const QString& folder, QStringList paths) {
    if (paths.isEmpty()) {
        endWaiting();
        return showProblem(tr("%1 contains no pictures. Choose a folder with pictures.").arg(folder));
    }
    others_ = std::move(paths);
    openPicture(others_.front());
    listPictures(); // also if the first cannot be read
}

// Dropped pictures ------------------------------------------------------------------------------------------

void PictureInputPanel::dragEnterEvent(QDragEnterEvent* event) {
    const QMimeData& mime = *event->mimeData();
    const bool hasPicture = mime.hasUrls() || mime.hasImage() || !pictureFormat(mime).isEmpty();
    if (hasPicture && controls_->isEnabled()) event->acceptProposedAction();
}

void PictureInputPanel::dropEvent(QDropEvent* event) {
    if (openData(*event->mimeData(), tr("Dropped"))) return;
    const auto urls = event->mimeData()->urls();
    if (urls.isEmpty() || !urls.front().isLocalFile()) return;
    const QString path = urls.front().toLocalFile();
    if (!QFileInfo(path).isDir()) return openPicture(path);
    read<QStringList>(
        reading_, path,
        [path](const std::atomic<bool>& isStopped) {
            return isVisionModel(path.toStdString()) ? QStringList() : picturesIn(path, isStopped);
        },
        [this, path](std::variant<QStringList, Failure> found) {
            auto* paths = std::get_if<QStringList>(&found);
            if (paths && !paths->isEmpty())
                showPictures(path, std::move(*paths));
            else
                bench_.requestOpening(path); // a model
        });
}

} // namespace attn
