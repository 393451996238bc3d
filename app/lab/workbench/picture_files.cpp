#include "app/lab/workbench/picture_files.h"

#include "app/figures/read_image.h"
#include "engine/io/image_preprocessing.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/training_summary.h"

#include <QBuffer>
#include <QCoreApplication>
#include <QDirIterator>
#include <QFileInfo>
#include <QImageReader>
#include <QMimeData>

#include <algorithm>

namespace attn {
namespace {

constexpr double kMiddleGrey = 0.5;  ///< brightness of pictures, from 0 to 1
constexpr int kMostKept = 512;       ///< pixels per side, more than most models read
constexpr char kRemark[] = "Remark"; ///< key of a text of a PNG file: how the picture was read
constexpr int kLongestRemark = 400;
constexpr int kFastLevel = 85; ///< Qt's quality of a PNG file that is written quickly

struct PictureFilesText {
    Q_DECLARE_TR_FUNCTIONS(attn::PictureFiles)
};

} // namespace

QString exampleTitle(const QString& path) {
    const QString name = QFileInfo(path).completeBaseName(), number = name.section(' ', 0, 0);
    QString title = name.section(' ', 1);
    bool isNumber = false;
    number.toInt(&isNumber);
    if (!isNumber || title.isEmpty()) return name;
    title[0] = title[0].toUpper();
    return PictureFilesText::tr("%1, example %2").arg(title, number);
}

QString trainedTask(const std::string& model) {
    const Recipe recipe = furtherRecipe(model, kImagesTask);
    if (recipe.task == kImagesTask.id) return {};
    const Task& task = taskNamed(recipe.task);
    const auto translated = [](std::string_view text) {
        return QCoreApplication::translate("attn::Task", std::string(text).c_str());
    };
    return PictureFilesText::tr("Training task: %1. %2.").arg(translated(task.title), translated(task.summary));
}

double brightnessOf(const QStringList& paths) {
    double sum = 0, count = 0;
    for (const QString& path : paths)
        if (const auto read = readImage(path); const auto* image = std::get_if<Image>(&read)) {
            for (const uint8_t value : image->rgb) sum += value / 255.0;
            count += static_cast<double>(image->rgb.size());
        }
    return count > 0 ? sum / count : kMiddleGrey;
}

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

QString pictureFormat(const QMimeData& data) {
    const QByteArrayList known = QImageReader::supportedMimeTypes();
    for (const QString& format : data.formats())
        if (known.contains(format.toLatin1())) return format;
    return {};
}

Image middleSquare(const Image& image) {
    const int64_t side = std::min(image.height, image.width);
    return side == std::max(image.height, image.width) ? image : fitted(image, {.crop = ImageSize{side, side}});
}

const QString& KeptPictures::textOf(const std::shared_ptr<const Image>& picture) {
    const auto known = std::ranges::find(texts_, picture, [](const auto& each) { return each.first; });
    if (known != texts_.end()) return known->second;
    QImage image = toQImage(*picture);
    if (std::max(image.width(), image.height()) > kMostKept)
        image = image.scaled(kMostKept, kMostKept, Qt::KeepAspectRatio, Qt::SmoothTransformation);
    if (!picture->remark.empty()) image.setText(QLatin1String(kRemark), QString::fromStdString(picture->remark));
    QBuffer bytes;
    bytes.open(QIODevice::WriteOnly);
    image.save(&bytes, "PNG", kFastLevel);
    if (texts_.size() > 1) texts_.erase(texts_.begin());
    return texts_.emplace_back(picture, QString::fromLatin1(bytes.data().toBase64())).second;
}

std::variant<Image, Failure> keptPicture(const QString& text, const QString& name) {
    const auto bytes = QByteArray::fromBase64Encoding(text.toLatin1(), QByteArray::AbortOnBase64DecodingErrors);
    QByteArray file = bytes ? bytes.decoded : QByteArray();
    auto read = readImage(file, name);
    if (auto* image = std::get_if<Image>(&read)) {
        QBuffer buffer(&file);
        image->remark = QImageReader(&buffer).text(QLatin1String(kRemark)).left(kLongestRemark).toStdString();
        return read;
    }
    return Failure{.what = PictureFilesText::tr("the picture that the session holds is damaged").toStdString(),
                   .where = name.toStdString(),
                   .hint =
                       PictureFilesText::tr("open the picture itself, or fetch the session file again").toStdString()};
}

} // namespace attn
