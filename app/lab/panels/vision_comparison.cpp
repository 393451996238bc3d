#include "app/lab/panels/vision_comparison.h"

#include "app/figures/difference.h"
#include "app/figures/read_image.h"
#include "app/lab/bridge/session_bridge.h"
#include "app/lab/common/panel_theme.h"
#include "app/lab/panels/shown_picture.h"
#include "app/lab/widgets/file_dialog.h"
#include "app/lab/widgets/hint_label.h"
#include "app/lab/widgets/patch_overlay_view.h"
#include "app/lab/widgets/picture_patches.h"

#include <QComboBox>
#include <QCoreApplication>
#include <QFileInfo>
#include <QHeaderView>
#include <QSplitter>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <numeric>

namespace attn {
namespace {

constexpr const char *kPicture = "picture:", *kModel = "model:";
constexpr size_t kClassesEach = 5; ///< of each model

std::vector<int> likeliest(const std::vector<float>& probabilities) {
    std::vector<int> order(probabilities.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater<>(),
                             [&](int index) { return probabilities[static_cast<size_t>(index)]; });
    order.resize(std::min(order.size(), kClassesEach));
    return order;
}

/// @return the class with that name; none if the model has no such class
std::optional<int> classNamed(const ModelInfo& info, const std::string& label) {
    for (int index = 0; index < info.classes; ++index)
        if (info.labelOf(index) == label) return index;
    return {};
}

} // namespace

VisionComparison::VisionComparison(Workbench& bench, QWidget* parent)
    : Panel(parent), bench_(bench), first_(std::make_shared<Snapshot>()), second_(std::make_shared<Snapshot>()),
      with_(new QComboBox), message_(makeHintLabel("visionCompareText")), views_(new QSplitter(Qt::Vertical)),
      map_(new PatchOverlayView), difference_(new PatchOverlayView), classes_(new QTreeWidget) {
    with_->setObjectName("visionCompare");
    with_->setAccessibleName(tr("Compare with"));
    with_->setToolTip(tr("Another picture for the same model, or another model for the same picture"));
    with_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    with_->setMinimumContentsLength(10);
    with_->addItem(tr("No comparison"), QString());
    for (const BuiltInPicture& picture : builtInPictures())
        with_->addItem(tr("Picture: %1").arg(QCoreApplication::translate("attn::Picture", picture.title)),
                       QLatin1String(kPicture) + QLatin1String(picture.id));
    with_->addItem(tr("A picture from a file…"), QLatin1String(kPicture));
    with_->addItem(tr("Another model…"), QLatin1String(kModel));
    map_->setObjectName("visionSecond");
    map_->setAccessibleName(tr("Heatmap B"));
    map_->setToolTip(tr("B: attention in the other picture or model, with the same settings"));
    difference_->setObjectName("visionDifference");
    difference_->setAccessibleName(tr("Difference of the heatmaps"));
    difference_->setToolTip(tr("Attention on each patch: A minus B. A is the current picture and model."));
    classes_->setObjectName("visionBoth");
    classes_->setAccessibleName(tr("Predictions of both"));
    classes_->setToolTip(tr("The most probable classes of both, in percent"));
    classes_->setHeaderLabels({tr("Class"), tr("A"), tr("B"), tr("A − B")});
    classes_->setRootIsDecorated(false);
    classes_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    for (const int column : {1, 2, 3}) classes_->header()->setSectionResizeMode(column, QHeaderView::ResizeToContents);
    classes_->header()->setStretchLastSection(false);
    classes_->setMinimumHeight(80);
    views_->setChildrenCollapsible(false);
    views_->addWidget(map_);
    views_->addWidget(difference_);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
    column->addWidget(with_);
    column->addWidget(message_);
    column->addWidget(views_, 3);
    column->addWidget(classes_, 1);
    column->addStretch(0);
    connect(with_, &QComboBox::activated, this, &VisionComparison::choose);
    connect(&bench_.pictures(), &PictureBench::lookChanged, this, [this] {
        askForRollout();
        refresh();
    });
    const auto setTheme = [this](ThemeId theme) {
        map_->setTheme(figureTheme(theme));
        difference_->setTheme(figureTheme(theme));
    };
    connect(&bench_, &Workbench::themeChanged, this, setTheme);
    setTheme(bench_.theme());
    refresh();
}

VisionComparison::~VisionComparison() = default;

void VisionComparison::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    first_ = snapshot;
    ask();
    refresh();
}

void VisionComparison::choose(int index) {
    const QString other = with_->itemData(index).toString();
    const bool isPicture = other == QLatin1String(kPicture);
    if (!isPicture && other != QLatin1String(kModel)) return compareWith(other);
    auto* dialog = makeFileDialog(this, isPicture ? tr("Choose a picture") : tr("Open the folder of a vision model"),
                                  isPicture ? QFileDialog::ExistingFile : QFileDialog::Directory);
    connect(dialog, &QFileDialog::fileSelected, this,
            [this, other](const QString& path) { compareWith(other + path); });
    connect(dialog, &QFileDialog::finished, this, &VisionComparison::list);
    dialog->open();
}

/// Selects the second picture or model in the list. Adds it first where it is missing.
void VisionComparison::list() {
    if (with_->findData(other_) < 0) with_->insertItem(1, QFileInfo(other_.section(':', 1)).fileName(), other_);
    with_->setCurrentIndex(with_->findData(other_));
}

void VisionComparison::compareWith(const QString& other) {
    reading_.cancel();
    if (!other.startsWith(QLatin1String(kPicture))) return showBeside(other, nullptr);
    const QString name = other.section(':', 1);
    if (const auto picture = builtInPicture(name))
        return showBeside(other, std::make_shared<const Image>(imageFrom(*picture)));
    reading_.start<Image>(
        name.toStdString(), [name](const std::atomic<bool>&) { return readImage(name); },
        [this, other](std::variant<Image, Failure> read) {
            if (auto* image = std::get_if<Image>(&read))
                return showBeside(other, std::make_shared<const Image>(std::move(*image)));
            message_->setText(QString::fromStdString(std::get<Failure>(read).sentence()));
            message_->show();
            list();
        });
}

void VisionComparison::showBeside(const QString& other, std::shared_ptr<const Image> picture) {
    other_ = other;
    picture_ = std::move(picture);
    list();
    if (other_.isEmpty()) {
        bridge_.reset(); // frees the model
        asked_.reset();
        second_ = std::make_shared<Snapshot>();
    }
    ask();
    refresh();
}

bool VisionComparison::isOtherModel() const { return other_.startsWith(QLatin1String(kModel)); }

std::optional<int> VisionComparison::sameClass(std::optional<int> label) const {
    if (!label || !isOtherModel()) return label;
    if (!first_->model || !second_->model) return {};
    return classNamed(*second_->model, first_->model->labelOf(*label));
}

void VisionComparison::ask() {
    if (other_.isEmpty() || !first_->model) return;
    if (!bridge_) {
        bridge_ = std::make_unique<SessionBridge>(bench_.device());
        connect(bridge_.get(), &SessionBridge::snapshotChanged, this, [this](const auto& snapshot) {
            const bool isNewModel = snapshot->model != second_->model;
            second_ = snapshot;
            if (isNewModel) {
                isOpen_ = true;
                ask(); // only now are its patches and classes known
            }
            askForRollout();
            refresh();
        });
    }
    Asked next{.path = isOtherModel() ? other_.section(':', 1).toStdString() : first_->path(),
               .weights = isOtherModel() || !first_->shown ? nullptr : first_->shown->weights,
               .picture = bench_.pictures().setup().given,
               .changes = isOtherModel() ? nullptr : first_->changes, // they refer to the first model's layers
               .run = first_->run == ShownRun::Original ? ShownRun::Original : ShownRun::Changed};
    if (picture_) next.picture.image = picture_;
    const bool hasSameGrid = !isOtherModel() || (second_->model && second_->model->grid == first_->model->grid);
    if (!hasSameGrid) next.picture.hidden.clear();
    const bool isOther = !asked_ || asked_->path != next.path || asked_->weights != next.weights;
    if (isOther) {
        isOpen_ = false;
        if (next.weights || (!isOtherModel() && first_->shown))
            bridge_->post(*first_->shown);
        else
            bridge_->post(OpenModelCommand{.path = next.path});
        asked_ = Asked{.path = next.path, .weights = next.weights};
    }
    if (!isOpen_) return; // it asks again when the model is there
    if (asked_->run != next.run) bridge_->post(ShowRunCommand{next.run});
    if (asked_->picture != next.picture) bridge_->post(SetPictureCommand{next.picture});
    if (asked_->changes != next.changes) bridge_->post(SetChangesCommand{next.changes});
    asked_ = std::move(next);
}

void VisionComparison::askForRollout() {
    RolloutAnalysis rollout = bench_.pictures().rollout();
    if (!bridge_ || !second_->answer || !bench_.pictures().look().isRollout) return;
    if (rollout.target) {
        const auto label = sameClass(rollout.target->token);
        rollout.target = label ? std::optional(LogitTarget{.token = *label}) : std::nullopt;
    }
    const bool isKnown = rolledOut_ == second_->sequenceVersion && rollout.options == rollout_.options &&
                         rollout.target == rollout_.target;
    if (isKnown) return;
    rolledOut_ = second_->sequenceVersion;
    rollout_ = rollout;
    bridge_->post(RunAnalysisCommand{std::make_shared<RolloutAnalysis>(rollout)});
}

bool VisionComparison::hasBothAnswers() const {
    return !other_.isEmpty() && isOpen_ && first_->answer && second_->answer;
}

void VisionComparison::refresh() {
    const VisionLook look = bench_.pictures().look();
    const bool hasBoth = hasBothAnswers();
    map_->setVisible(hasBoth);
    difference_->setVisible(hasBoth);
    views_->setVisible(hasBoth);
    showClasses();
    if (!hasBoth) {
        message_->setText(other_.isEmpty()   ? tr("Choose a second picture or model to compare with.")
                          : second_->failure ? QString::fromStdString(second_->failure->sentence())
                          : !first_->model   ? tr("Open a vision model first.")
                                             : tr("Computing the comparison…"));
        message_->show();
        return;
    }
    PatchOverlayFigure map = overlayFigure(pictureRun(*second_), look);
    map.title = tr("B: %1. %2").arg(with_->currentText(), map.title);
    map_->setFigure(std::move(map));
    const PatchRow a = rowOf(pictureRun(*first_), look), b = rowOf(pictureRun(*second_), look);
    const bool agree = first_->model->grid == second_->model->grid && !a.patches.empty() && !b.patches.empty();
    difference_->setVisible(agree);
    message_->setVisible(!agree);
    if (!agree) message_->setText(tr("No difference to show: both need attention over the same grid of patches."));
    PatchOverlayFigure figure;
    if (agree) {
        figure = pictureRun(*first_).axis().overlay(difference(a, b));
        figure.isSigned = true;
        figure.opacity = std::max(look.opacity, 0.75);
        figure.isSmooth = look.isSmooth;
        figure.title = tr("A − B");
    }
    difference_->setFigure(std::move(figure));
}

/// Lists the most probable classes of the first, then those of the second that are not among them.
void VisionComparison::showClasses() {
    classes_->clear();
    const bool hasBoth = hasBothAnswers();
    classes_->setVisible(hasBoth && !(first_->answer->probabilities.empty() && second_->answer->probabilities.empty()));
    if (!hasBoth) return;
    std::vector<std::string> labels;
    for (const auto* snapshot : {first_.get(), second_.get()})
        for (const int index : likeliest(snapshot->answer->probabilities))
            if (const std::string label = snapshot->model->labelOf(index);
                std::ranges::find(labels, label) == labels.end())
                labels.push_back(label);
    for (const std::string& label : labels) {
        QStringList texts{QString::fromStdString(label)};
        std::vector<double> shares;
        for (const auto* snapshot : {first_.get(), second_.get()}) {
            const auto index = classNamed(*snapshot->model, label);
            if (index)
                shares.push_back(static_cast<double>(snapshot->answer->probabilities[static_cast<size_t>(*index)]));
            texts << (index ? tr("%1 %").arg(shares.back() * 100, 0, 'f', 1) : QStringLiteral("–"));
        }
        const double change = shares.size() == 2 ? (shares[0] - shares[1]) * 100 : 0;
        texts << (shares.size() == 2 ? formatSigned(change, 1) : QString());
        auto* item = new QTreeWidgetItem(classes_, texts);
        for (const int column : {1, 2, 3}) item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    }
}

QWidget* VisionComparison::figure() { return views_->isVisibleTo(this) ? static_cast<QWidget*>(views_) : this; }
ExportNumbers VisionComparison::numbers() const {
    const ExportNumbers second = numbersOf(map_->figure()), difference = numbersOf(difference_->figure());
    return {.csv = difference.csv ? difference.csv : second.csv, .arrays = [second, difference] {
                std::vector<NumberArray> all = second.arrays ? second.arrays() : std::vector<NumberArray>{};
                for (NumberArray& array : all) array.name = "second";
                for (NumberArray& array : difference.arrays ? difference.arrays() : std::vector<NumberArray>{})
                    all.push_back({.name = "difference", .shape = array.shape, .values = std::move(array.values)});
                return all;
            }};
}

void VisionComparison::restoreView(const QJsonObject& view) {
    if (const QString other = view["compare"].toString(); other != other_) compareWith(other);
}

} // namespace attn
