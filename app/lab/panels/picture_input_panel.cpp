#include "app/lab/panels/picture_input_panel.h"

#include "app/figures/decoder_words.h"
#include "app/figures/read_image.h"
#include "app/figures/token_label.h"
#include "app/lab/common/control_groups.h"
#include "app/lab/panels/picture_classes.h"
#include "app/lab/widgets/choice_keys.h"
#include "app/lab/widgets/drawing_pad.h"
#include "app/lab/widgets/flow_layout.h"
#include "app/lab/widgets/picture_patches.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/picture_files.h"
#include "engine/models/model_source.h"

#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QCoreApplication>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QGuiApplication>
#include <QImageReader>
#include <QJsonArray>
#include <QJsonObject>
#include <QMimeData>
#include <QPushButton>
#include <QSignalBlocker>
#include <QUndoStack>

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>
#include <utility>

namespace attn {
namespace {

constexpr double kGrey = 0.5, kDark = 0.4; ///< brightness of pictures, from 0 to 1
constexpr qsizetype kMostMeasured = 8;     ///< examples
constexpr const char* kFolder = "folder:"; ///< in place of a picture's name: ask for a folder

} // namespace

PictureInputPanel::PictureInputPanel(Workbench& bench, QWidget* parent)
    : Panel(bench, parent), pictures_(bench.pictures()), controls_(new QWidget),
      modelText_(makeHintLabel("pictureModel")), message_(makeTextLabel("pictureMessage")), picture_(new QComboBox),
      hide_(new QCheckBox(tr("Hide patches"))), showAll_(new QPushButton(tr("Show all"))) {
    setAcceptDrops(true);
    assignControlGroup(controls_, "vision"); // not the page itself, which is hidden for models of text
    message_->hide();
    named(picture_, "pictureChoice", tr("Picture"), tr("The picture that the model reads"));
    setLeastCharacters(*picture_, 10);
    helped(hide_, "pictureHide",
           tr("Drag over the picture to hide patches from the model. Drag over hidden patches to show them again"));
    helped(showAll_, "pictureShowAll", tr("Show all hidden patches to the model again"));
    auto* open =
        helped(new QPushButton(tr("Open a picture…")), "pictureOpen", tr("Use a picture of your own, from a file"));
    connect(open, &QPushButton::clicked, this, [this] {
        auto* dialog = makeFileDialog(this, tr("Choose a picture"), QFileDialog::ExistingFile);
        connect(dialog, &QFileDialog::fileSelected, this, &PictureInputPanel::openPicture);
        dialog->open();
    });
    auto* draw = helped(new QPushButton(tr("Draw a picture…")), "pictureDraw", tr("Draw a picture for the model"));
    connect(draw, &QPushButton::clicked, this, &PictureInputPanel::drawPicture);
    auto* paste = helped(new QPushButton(tr("Paste")), "picturePaste", tr("Use the picture from the clipboard"));
    auto* drop =
        makeHintLabel("pictureHint", tr("You can also drop or paste a picture, or drop a folder of pictures. Pictures "
                                        "are cropped to a square."));
    makeColumn(this, spacing::kGap, {controls_});
    auto* ways = new FlowLayout;
    for (QPushButton* way : {open, draw}) ways->addWidget(way);
    makeColumn(controls_, 0,
               {modelText_, makeRow({labelFor(picture_, tr("Picture")), {picture_, 1}}), ways,
                makeRow({hide_, showAll_, room(), paste}), message_, drop, room()});

    connect(picture_, &QComboBox::activated, this, &PictureInputPanel::choosePicture);
    connect(paste, &QPushButton::clicked, this, &PictureInputPanel::pastePicture);
    connect(showAll_, &QPushButton::clicked, this, [this] {
        PictureSetup next = pictures_.setup();
        next.given.hidden.clear();
        pictures_.edit(next, tr("showing all patches"), "show all");
    });
    connect(hide_, &QCheckBox::toggled, this, [this](bool on) {
        if (on)
            pictures_.setBrush(PictureBench::Brush::Hide);
        else if (pictures_.brush() == PictureBench::Brush::Hide)
            pictures_.setBrush(PictureBench::Brush::None);
    });
    connect(&pictures_, &PictureBench::brushChanged, this,
            [this] { hide_->setChecked(pictures_.brush() == PictureBench::Brush::Hide); });
    connect(&pictures_, &PictureBench::crossed, this, &PictureInputPanel::cross);
    connect(&pictures_, &PictureBench::crossingEnded, this, [this] {
        if (pictures_.brush() != PictureBench::Brush::Hide || before_ == pictures_.setup()) return;
        const PictureSetup after = pictures_.setup();
        pictures_.set(before_);
        pictures_.edit(after, tr("hiding patches"), QStringLiteral("patches %1").arg(bench_.undoStack().count()));
    });
    connect(&pictures_, &PictureBench::changed, this, &PictureInputPanel::showSetup);
    connect(&pictures_, &PictureBench::otherRequested, this, [this](const QString& name) { openOther(name, {}); });
    connect(&bench_, &Workbench::pictureRequested, this,
            [this](const std::shared_ptr<const Image>& picture, const QString& name) {
                editPicture(name, picture);
                bench_.showPanel("attention");
            });
    const BuiltInPicture& first = builtInPictures().front();
    pictures_.set(
        {.name = QLatin1String(first.id), .given = {.image = std::make_shared<const Image>(imageFrom(first.draw()))}});
    showSetup();
}

void PictureInputPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const bool isNewModel = !snapshot_ || snapshot_->model != snapshot->model;
    snapshot_ = snapshot;
    if (isNewModel) {
        const bool isChosen = std::exchange(isChosen_, false);
        if (!isChosen) stop(reading_);
        picksExample_ = !isChosen || reading_.isRunning();
        if (!picksExample_) pictures_.post();
        examples_.clear();
        task_.clear();
        brightness_ = kGrey;
        listExamples();
    }
    showModel();
    showMessage();
}

void PictureInputPanel::showModel() {
    if (!snapshot_ || !snapshot_->model) return;
    const ModelInfo& model = *snapshot_->model;
    QString text = describedModel(model);
    if (snapshot_->shown) text.prepend(tr("%1 of ").arg(shownText(snapshot_->shown->title)));
    if (!task_.isEmpty()) text += '\n' + task_;
    if (brightness_ < kDark)
        text += "\n" + tr("Its examples are light on a dark ground. A dark drawing on white paper is new to it.");
    for (const std::string& warning : model.warnings) text += "\n" + shownText(warning);
    if (const auto& given = snapshot_->picture; given && given->image && !given->image->remark.empty())
        text += "\n" + shownText(given->image->remark) + '.';
    modelText_->setText(text);
}

void PictureInputPanel::showMessage() {
    const bool isRunning = snapshot_ && snapshot_->picture && snapshot_->picture->image && !snapshot_->answer &&
                           snapshot_->status.activity != Activity::Loading;
    message_->setText(!problem_.isEmpty()                  ? problem_
                      : isRunning && snapshot_->runFailure ? shownText(snapshot_->runFailure->sentence())
                                                           : tr("Running the model…"));
    message_->setVisible(isRunning || !problem_.isEmpty());
}

void PictureInputPanel::showProblem(const QString& text) {
    problem_ = text;
    showMessage();
}

void PictureInputPanel::showSetup() {
    problem_.clear();
    showMessage();
    listPictures();
    showAll_->setEnabled(!pictures_.setup().given.hidden.empty());
}

bool PictureInputPanel::isModelComing() const {
    return !bench_.reads(AxisKind::Patches) || bench_.snapshot()->status.activity == Activity::Loading;
}

void PictureInputPanel::editPicture(const QString& name, std::shared_ptr<const Image> picture, bool isOfStep) {
    picksExample_ = false;
    isChosen_ = isModelComing();
    PictureSetup next = pictures_.setup();
    next.name = name;
    next.given.image = std::move(picture);
    next.given.hidden.clear();
    if (isOfStep)
        pictures_.set(next);
    else
        pictures_.edit(next, tr("choosing a picture"), "picture");
    const auto* given = bench_.hasModel() ? bench_.snapshot()->picture.get() : nullptr;
    if (!(given && given->image)) pictures_.post(); // the same as before
}

void PictureInputPanel::showPicture(const QString& name, const std::shared_ptr<const Image>& picture,
                                    const std::vector<int>& hidden) {
    picksExample_ = false;
    PictureSetup next = pictures_.setup();
    next.name = name;
    next.given.image = picture;
    next.given.hidden = hidden;
    if (next == pictures_.setup()) return pictures_.post();
    pictures_.set(next);
}

/// Hides or shows a patch. The first patch of a drag decides which of the two the drag does.
void PictureInputPanel::cross(int patch, bool isFirst) {
    if (pictures_.brush() != PictureBench::Brush::Hide) return;
    PictureSetup next = pictures_.setup();
    std::vector<int>& hidden = next.given.hidden;
    const auto at = std::ranges::lower_bound(hidden, patch);
    const bool isHidden = at != hidden.end() && *at == patch;
    if (isFirst) {
        before_ = pictures_.setup();
        hidesMore_ = !isHidden;
    }
    if (isHidden == hidesMore_) return;
    if (hidesMore_)
        hidden.insert(at, patch);
    else
        hidden.erase(at);
    pictures_.set(next);
}

void PictureInputPanel::choosePicture(int index) {
    const QString name = picture_->itemData(index).toString();
    if (name == pictures_.setup().name) { // it may have no file: it was pasted, or a session kept it
        stop(reading_);
        return editPicture(name, pictures_.setup().given.image);
    }
    if (name != QLatin1String(kFolder)) return openPicture(name);
    auto* dialog = makeFileDialog(this, tr("Choose a folder of pictures"), QFileDialog::Directory);
    connect(dialog, &QFileDialog::fileSelected, this, &PictureInputPanel::openPictures);
    connect(dialog, &QFileDialog::finished, this, &PictureInputPanel::listPictures);
    dialog->open();
}

void PictureInputPanel::pastePicture() {
    const QMimeData* mime = QGuiApplication::clipboard()->mimeData();
    if (mime && openData(*mime, tr("Pasted"))) return;
    showProblem(tr("The clipboard contains no picture. Copy one first."));
}

void PictureInputPanel::drawPicture() {
    const QString name = tr("Drawn picture");
    const PictureSetup& setup = pictures_.setup();
    auto* pad = new DrawingPad({.isDark = brightness_ < kDark,
                                .isColour = !bench_.hasModel() || bench_.snapshot()->model->channels != 1,
                                .first = setup.name == name ? toQImage(*setup.given.image) : QImage()},
                               this);
    pad->setAttribute(Qt::WA_DeleteOnClose);
    connect(pad, &DrawingPad::drawn, this, [this, name](const QImage& picture) {
        stop(reading_);
        editPicture(name, std::make_shared<const Image>(imageFrom(picture)));
    });
    pad->open();
}

/// Lists the model's example pictures, those of an opened folder, the built-in ones, and the current one.
void PictureInputPanel::listPictures() {
    const QSignalBlocker quiet(picture_);
    picture_->clear();
    PictureBench::Choices choices;
    for (const QString& example : examples_) choices.append({exampleTitle(example), example});
    for (const QString& other : others_) choices.append({QFileInfo(other).fileName(), other});
    for (const BuiltInPicture& picture : builtInPictures())
        choices.append({QCoreApplication::translate("attn::Picture", picture.title), QLatin1String(picture.id)});
    for (const auto& [title, name] : choices) picture_->addItem(title, name);
    const PictureSetup& setup = pictures_.setup();
    if (const QString& other = setup.otherName; !other.isEmpty()) // from a file
        if (std::ranges::none_of(choices, [&](const auto& each) { return each.second == other; }))
            choices.append({QFileInfo(other).fileName(), other});
    if (picture_->findData(setup.name) < 0) picture_->addItem(QFileInfo(setup.name).fileName(), setup.name);
    picture_->addItem(tr("From a folder…"), QLatin1String(kFolder));
    picture_->setCurrentIndex(picture_->findData(setup.name));
    pictures_.setChoices(choices);
}

/// @return the pixels of a picture that another computer may not have; empty for a built-in one
QString PictureInputPanel::keptText(const QString& name, const std::shared_ptr<const Image>& picture) const {
    const bool isBuiltIn = std::ranges::any_of(
        builtInPictures(), [&](const BuiltInPicture& each) { return name == QLatin1String(each.id); });
    return picture && !isBuiltIn ? kept_.textOf(picture) : QString();
}

QJsonObject PictureInputPanel::saveView() const {
    const PictureSetup& setup = pictures_.setup();
    QJsonArray hidden;
    for (const int patch : setup.given.hidden) hidden.append(patch);
    return {{"picture", setup.name},
            {"pixels", keptText(setup.name, setup.given.image)},
            {"hidden", hidden},
            {"other", setup.otherName},
            {"otherPixels", keptText(setup.otherName, setup.given.other)}};
}

void PictureInputPanel::restoreView(const QJsonObject& view) {
    const QString name = view["picture"].toString(), pixels = view["pixels"].toString();
    const QString other = view["other"].toString(), otherPixels = view["otherPixels"].toString();
    // Older files have no pixels: they name the file of the picture.
    const auto isShown = [this](const QString& shown, const std::shared_ptr<const Image>& picture,
                                const QString& wanted, const QString& text) {
        return shown == wanted && (text.isEmpty() || text == keptText(shown, picture));
    };
    const int64_t patches = bench_.hasModel() ? bench_.snapshot()->model->grid.area() : 0;
    std::set<int> hidden;
    for (const QJsonValue& value : view["hidden"].toArray())
        if (const int patch = value.toInt(-1); patch >= 0 && patch < patches) hidden.insert(patch);
    PictureSetup next = pictures_.setup();
    next.given.hidden.assign(hidden.begin(), hidden.end());
    if (!name.isEmpty() &&
        (!isShown(next.name, next.given.image, name, pixels) || picksExample_ || reading_.isRunning()))
        restorePicture(name, pixels, next.given.hidden);
    else if (next != pictures_.setup())
        pictures_.set(next);
    if (!isShown(next.otherName, next.given.other, other, otherPixels)) openOther(other, otherPixels);
}

// Pictures that are opened, dropped or pasted: they are read and decoded beside the window.

template <class Result>
void PictureInputPanel::read(BackgroundTask& task, const QString& name,
                             std::function<std::variant<Result, Failure>(const std::atomic<bool>& isStopped)> work,
                             std::function<void(std::variant<Result, Failure>)> done) {
    task.start<Result>(
        name.toStdString(), std::move(work),
        [this, done = std::move(done)](std::variant<Result, Failure> result) {
            emit readingChanged({});
            done(std::move(result));
        },
        tr("Read %1").arg(QFileInfo(name).fileName().left(60)).toStdString());
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
    struct Examples {
        QStringList paths;
        double brightness;
        QString task;
    };
    read<Examples>(
        listingExamples_, QString::fromStdString(snapshot_->path()),
        [model = snapshot_->path()](const std::atomic<bool>&) {
            QStringList paths;
            for (const std::filesystem::path& path : examplePictures(model))
                paths << QString::fromStdString(path.string());
            return Examples{paths, brightnessOf(paths.first(std::min(paths.size(), kMostMeasured))),
                            trainedTask(model)};
        },
        [this](std::variant<Examples, Failure> found) {
            if (auto* examples = std::get_if<Examples>(&found))
                std::tie(examples_, brightness_, task_) =
                    std::tie(examples->paths, examples->brightness, examples->task);
            showModel();
            if (!picksExample_ || reading_.isRunning()) return listPictures(); // the user has chosen another
            if (examples_.isEmpty()) return endWaiting();
            readAside(reading_, examples_.front(), {},
                      [this](const QString& name, const std::shared_ptr<const Image>& picture) {
                          if (!picture) return endWaiting();
                          showPicture(name, picture);
                      });
        });
}

void PictureInputPanel::readAside(BackgroundTask& task, const QString& name, const QString& pixels, Reader then) {
    stop(task);
    if (!pixels.isEmpty())
        return decodeAside(
            task, name, [pixels, name] { return keptPicture(pixels, name); }, std::move(then));
    if (const auto picture = builtInPicture(name))
        return then(name, std::make_shared<const Image>(imageFrom(*picture)));
    decodeAside(
        task, name, [name] { return readImage(name); }, std::move(then));
}

void PictureInputPanel::decodeAside(BackgroundTask& task, const QString& name,
                                    std::function<std::variant<Image, Failure>()> decode, Reader then) {
    read<Image>(
        task, name,
        [decode = std::move(decode)](const std::atomic<bool>&) {
            auto result = decode();
            if (auto* image = std::get_if<Image>(&result)) *image = middleSquare(*image);
            return result;
        },
        [this, name, then = std::move(then)](std::variant<Image, Failure> result) {
            if (auto* image = std::get_if<Image>(&result))
                return then(name, std::make_shared<const Image>(std::move(*image)));
            then(name, nullptr);
            showProblem(shownText(std::get<Failure>(result).sentence()));
        });
}

void PictureInputPanel::openPicture(const QString& name) {
    isChosen_ = isModelComing();
    readAside(reading_, name, {}, opener());
}

void PictureInputPanel::restorePicture(const QString& name, const QString& pixels, const std::vector<int>& hidden) {
    isChosen_ = isModelComing();
    readAside(reading_, name, pixels, [this, hidden](const QString& read, const std::shared_ptr<const Image>& picture) {
        isChosen_ = picture && isModelComing();
        if (!picture) return endWaiting();
        showPicture(read, picture, hidden);
    });
}

void PictureInputPanel::openOther(const QString& name, const QString& pixels) {
    stop(readingOther_);
    if (name.isEmpty()) return pictures_.setOther(name, nullptr);
    readAside(readingOther_, name, pixels, [this](const QString& read, const std::shared_ptr<const Image>& picture) {
        if (picture)
            pictures_.setOther(read, picture);
        else
            listPictures();
    });
}

PictureInputPanel::Reader PictureInputPanel::opener() {
    // A picture that opens a model is one step with it: undoing that step brings back the picture before, too.
    const bool isOfStep = bench_.hasModel() && !bench_.reads(AxisKind::Patches);
    return [this, isOfStep](const QString& name, const std::shared_ptr<const Image>& picture) {
        if (picture) return editPicture(name, picture, isOfStep);
        isChosen_ = false;
        endWaiting();
    };
}

bool PictureInputPanel::openData(const QMimeData& mime, const QString& name) {
    std::function<std::variant<Image, Failure>()> decode;
    if (const QString format = pictureFormat(mime); !format.isEmpty()) {
        decode = [bytes = mime.data(format), name] { return readImage(bytes, name); };
    } else if (mime.hasImage()) {
        const DecoderWords words; // because Qt decodes what the other program gave
        decode = [image = qvariant_cast<QImage>(mime.imageData())] { return imageFrom(image); };
    }
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
    event->acceptProposedAction();
    if (openData(*event->mimeData(), tr("Dropped"))) return;
    const auto urls = event->mimeData()->urls();
    if (urls.isEmpty() || !urls.front().isLocalFile()) return;
    const QString path = urls.front().toLocalFile();
    const QFileInfo file(path);
    if (QImageReader::supportedImageFormats().contains(file.suffix().toLower().toLatin1())) return openPicture(path);
    if (!file.isDir()) return bench_.requestOpening(path); // a session, or what has to be read to know
    read<QStringList>(
        reading_, path,
        [path](const std::atomic<bool>& isStopped) {
            return axisOfModel(path.toStdString()) == AxisKind::Patches ? QStringList() : picturesIn(path, isStopped);
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
