#include "app/lab/panels/vision_comparison.h"

#include "app/figures/difference.h"
#include "app/figures/read_image.h"
#include "app/lab/bridge/vision_bridge.h"
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
    : QWidget(parent), bench_(bench), first_(std::make_shared<VisionSnapshot>()),
      second_(std::make_shared<VisionSnapshot>()), with_(new QComboBox), message_(makeHintLabel("visionCompareText")),
      views_(new QSplitter(Qt::Vertical)), map_(new PatchOverlayView), difference_(new PatchOverlayView),
      classes_(new QTreeWidget) {
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
    column->setContentsMargins(0, 4, 0, 0);
    column->addWidget(with_);
    column->addWidget(message_);
    column->addWidget(views_, 3);
    column->addWidget(classes_, 1);
    column->addStretch(0);
    connect(with_, &QComboBox::activated, this, &VisionComparison::choose);
    refresh();
}

void VisionComparison::setTheme(const FigureTheme& theme) {
    map_->setTheme(theme);
    difference_->setTheme(theme);
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
    const bool begins = other_.isEmpty() && !other.isEmpty();
    other_ = other;
    picture_ = std::move(picture);
    list();
    if (begins)
        connect(&bench_.vision().second(), &VisionBridge::changed, this,
                [this](const std::shared_ptr<const VisionSnapshot>& snapshot) {
                    const bool isOther = snapshot->model != second_->model;
                    second_ = snapshot;
                    if (isOther) ask(); // only now are its patches and classes known
                    refresh();
                });
    if (other_.isEmpty()) {
        VisionBridge& bridge = bench_.vision().second();
        disconnect(&bridge, nullptr, this, nullptr);
        bridge.session().show({}); // frees the model
        second_ = std::make_shared<VisionSnapshot>();
    }
    ask();
    refresh();
}

std::optional<int> VisionComparison::sameClass(std::optional<int> label) const {
    if (!label || !other_.startsWith(QLatin1String(kModel))) return label;
    if (!first_->model || !second_->model) return {};
    return classNamed(*second_->model, first_->model->labelOf(*label));
}

void VisionComparison::follow(const VisionQuery& first) {
    query_ = first;
    ask();
}

void VisionComparison::ask() {
    if (other_.isEmpty()) return;
    VisionQuery query = query_;
    query.embedding = false;
    if (picture_) query.picture = picture_;
    if (other_.startsWith(QLatin1String(kModel))) query.model = other_.section(':', 1).toStdString();
    const bool isSameModel = query.model == query_.model;
    const bool isKnown = second_->model && second_->query.model == query.model && first_->model;
    if (!isSameModel) { // the changes refer to the first model's layers
        query.changes = {};
    }
    if (!isSameModel && !(isKnown && second_->model->grid == first_->model->grid)) query.hidden.clear();
    query.rolloutClass = isSameModel ? query_.rolloutClass : isKnown ? sameClass(query_.rolloutClass) : std::nullopt;
    if (query.model.empty()) return;
    bench_.vision().second().session().show(query);
}

void VisionComparison::showFirst(const std::shared_ptr<const VisionSnapshot>& first, const VisionLook& look) {
    first_ = first;
    look_ = look;
    refresh();
}

void VisionComparison::refresh() {
    const bool hasBoth = first_->model && first_->answer && second_->model && second_->answer && !other_.isEmpty();
    map_->setVisible(hasBoth);
    difference_->setVisible(hasBoth);
    views_->setVisible(hasBoth);
    showClasses();
    if (!hasBoth) {
        message_->setText(other_.isEmpty()       ? tr("Choose a second picture or model to compare with.")
                          : second_->failure     ? QString::fromStdString(second_->failure->sentence())
                          : query_.model.empty() ? tr("Open a vision model first.")
                                                 : tr("Computing the comparison…"));
        message_->show();
        return;
    }
    PatchOverlayFigure map = overlayFigure(pictureRun(*second_), look_);
    map.title = tr("B: %1. %2").arg(with_->currentText(), map.title);
    map_->setFigure(std::move(map));
    const PatchRow a = rowOf(pictureRun(*first_), look_), b = rowOf(pictureRun(*second_), look_);
    const bool agree = first_->model->grid == second_->model->grid && !a.patches.empty() && !b.patches.empty();
    difference_->setVisible(agree);
    message_->setVisible(!agree);
    if (!agree) message_->setText(tr("No difference to show: both need attention over the same grid of patches."));
    PatchOverlayFigure figure;
    if (agree) {
        figure = pictureRun(*first_).axis().overlay(difference(a, b));
        figure.isSigned = true;
        figure.opacity = std::max(look_.opacity, 0.75);
        figure.isSmooth = look_.isSmooth;
        figure.title = tr("A − B");
    }
    difference_->setFigure(std::move(figure));
}

/// Lists the most probable classes of the first, then those of the second that are not among them.
void VisionComparison::showClasses() {
    classes_->clear();
    const bool hasBoth = !other_.isEmpty() && first_->model && first_->answer && second_->model && second_->answer;
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
