#include "app/figures/read_image.h"
#include "app/lab/panels/vision_panel.h"
#include "app/lab/panels/vision_views.h"
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
void VisionPanel::read(BackgroundTask& task, const QString& name,
                       std::function<std::variant<Result, Failure>(const std::atomic<bool>& isStopped)> work,
                       std::function<void(std::variant<Result, Failure>)> done) {
    task.start<Result>(name.toStdString(), std::move(work),
                       [this, done = std::move(done)](std::variant<Result, Failure> result) {
                           emit readingChanged({});
                           done(std::move(result));
                       });
    emit readingChanged(tr("Reading %1").arg(QFileInfo(name).fileName().left(60)));
}

void VisionPanel::stop(BackgroundTask& task) {
    if (!task.isRunning()) return;
    task.cancel();
    emit readingChanged({});
}

void VisionPanel::cancelReading() {
    stop(listingExamples_);
    stop(reading_);
    stop(readingOther_);
    if (std::exchange(picksExample_, false)) apply(setup_);
    listPictures(); // the choice in the list is that of the picture again
}

void VisionPanel::listExamples() {
    read<QStringList>(
        listingExamples_, model_,
        [model = model_](const std::atomic<bool>&) {
            QStringList paths;
            if (!model.isEmpty())
                for (const std::filesystem::path& path : examplePictures(model.toStdString()))
                    paths << QString::fromStdString(path.string());
            return paths;
        },
        [this](std::variant<QStringList, Failure> found) {
            if (auto* paths = std::get_if<QStringList>(&found)) examples_ = std::move(*paths);
            if (!picksExample_ || reading_.isRunning()) return listPictures(); // the user has chosen another
            const auto show = [this](const VisionSetup* read) {
                picksExample_ = false;
                apply(read ? *read : setup_);
            };
            if (examples_.isEmpty())
                show(nullptr);
            else
                readAside(reading_, examples_.front(), show);
        });
}

void VisionPanel::readAside(BackgroundTask& task, const QString& name, Reader then) {
    stop(task);
    if (const auto picture = builtInPicture(name)) {
        const VisionSetup read{name, std::make_shared<const Image>(imageFrom(*picture)), {}, setup_.change};
        return then(&read);
    }
    decodeAside(
        task, name, [name] { return readImage(name); }, std::move(then));
}

void VisionPanel::decodeAside(BackgroundTask& task, const QString& name,
                              std::function<std::variant<Image, Failure>()> decode, Reader then) {
    const auto setup = [this, name](Image picture) {
        return VisionSetup{name, std::make_shared<const Image>(std::move(picture)), {}, setup_.change};
    };
    read<Image>(
        task, name, [decode = std::move(decode)](const std::atomic<bool>&) { return decode(); },
        [this, setup, then = std::move(then)](std::variant<Image, Failure> result) {
            if (auto* image = std::get_if<Image>(&result)) {
                const VisionSetup read = setup(std::move(*image));
                return then(&read);
            }
            then(nullptr);
            showProblem(message(std::get<Failure>(result)));
        });
}

void VisionPanel::openPicture(const QString& name) { readAside(reading_, name, opener()); }

VisionPanel::Reader VisionPanel::opener() {
    return [this](const VisionSetup* read) {
        if (read) return editPicture(read->name, read->picture);
        if (std::exchange(picksExample_, false)) apply(setup_); // the model waits for a picture
    };
}

bool VisionPanel::openData(const QMimeData& mime, const QString& name) {
    std::function<std::variant<Image, Failure>()> decode;
    if (const QString format = pictureFormat(mime); !format.isEmpty())
        decode = [bytes = mime.data(format), name] { return readImage(bytes, name); };
    else if (mime.hasImage())
        decode = [image = qvariant_cast<QImage>(mime.imageData())] { return imageFrom(image); };
    if (!decode) return false;
    decodeAside(reading_, name, std::move(decode), opener());
    return true;
}

void VisionPanel::openPictures(const QString& folder) {
    read<QStringList>(
        reading_, folder, [folder](const std::atomic<bool>& isStopped) { return picturesIn(folder, isStopped); },
        [this, folder](std::variant<QStringList, Failure> found) {
            auto* paths = std::get_if<QStringList>(&found);
            showPictures(folder, paths ? std::move(*paths) : QStringList());
        });
}

void VisionPanel::showPictures(const QString& folder, QStringList paths) {
    if (paths.isEmpty()) {
        if (std::exchange(picksExample_, false)) apply(setup_);
        return showProblem(tr("%1 contains no pictures. Choose a folder with pictures.").arg(folder));
    }
    others_ = std::move(paths);
    openPicture(others_.front());
    listPictures(); // also if the first cannot be read
}

// Files, sessions and export ------------------------------------------------------------------------------------------

void VisionPanel::dragEnterEvent(QDragEnterEvent* event) {
    const QMimeData& mime = *event->mimeData();
    if (mime.hasUrls() || mime.hasImage() || !pictureFormat(mime).isEmpty()) event->acceptProposedAction();
}

void VisionPanel::dropEvent(QDropEvent* event) {
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
                openModel(path);
        });
}

} // namespace attn
