#include "app/lab/panels/vision_panel.h"

#include "app/figures/difference.h"
#include "app/figures/read_image.h"
#include "app/lab/bridge/training_bridge.h"
#include "app/lab/bridge/vision_bridge.h"
#include "app/lab/common/panel_theme.h"
#include "app/lab/panels/attention_settings.h"
#include "app/lab/panels/shown_picture.h"
#include "app/lab/panels/vision_views.h"
#include "app/lab/widgets/choice_keys.h"
#include "app/lab/widgets/patch_overlay_view.h"
#include "app/lab/widgets/picture_patches.h"
#include "app/lab/workbench/undo_commands.h"
#include "engine/io/run_folder.h"
#include "engine/models/hook_names.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QJsonArray>
#include <QLabel>
#include <QPointer>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <QSplitter>
#include <QTreeWidget>

#include <algorithm>
#include <numeric>
#include <utility>

namespace attn {
namespace {

using VisionEdit = StateEdit<VisionSetup, 4>;

constexpr int kMostAnswers = 10;

/// @return the folder of the training run that a checkpoint belongs to; the path itself if it is no checkpoint
QString runOf(const QString& path) {
    const std::filesystem::path folder = path.toStdString();
    return checkpointStep(folder) ? QString::fromStdString(folder.parent_path().parent_path().string()) : path;
}

/// @return "4", or "3 to 24" if layers have different numbers of heads
QString headsText(const ModelInfo& info) {
    const int fewest = std::ranges::min(info.structure.sites, {}, &Site::heads).heads;
    return fewest == info.heads ? QString::number(info.heads) : VisionPanel::tr("%1 to %2").arg(fewest).arg(info.heads);
}

} // namespace

VisionPanel::VisionPanel(Workbench& bench, QWidget* parent)
    : Panel(parent), bench_(bench), shown_(std::make_shared<VisionSnapshot>()) {
    setAcceptDrops(true);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(8, 8, 8, 8);
    auto* split = new QSplitter(Qt::Horizontal);
    split->setChildrenCollapsible(false);
    split->addWidget(makeControls());
    overlay_ = new PatchOverlayView;
    overlay_->setObjectName("visionOverlay");
    views_ = new VisionViews(bench_);
    auto* views = new QSplitter(Qt::Horizontal);
    views->setChildrenCollapsible(false);
    views->addWidget(overlay_);
    views->addWidget(views_);
    views->setStretchFactor(0, 1);
    views->setStretchFactor(1, 1);
    split->addWidget(views);
    split->setStretchFactor(1, 1);
    row->addWidget(split);
    connect(overlay_, &PatchOverlayView::pointedAt, this, [this](std::optional<int> patch) {
        if (pointed_ == patch) return;
        pointed_ = patch;
        showLook();
    });
    const auto choosePatch = [this](int patch) {
        patch_ = patch_ == patch ? std::nullopt : std::optional(patch);
        showLook();
    };
    connect(overlay_, &PatchOverlayView::chosen, this, choosePatch);
    connect(overlay_, &PatchOverlayView::crossed, this, &VisionPanel::cross);
    connect(overlay_, &PatchOverlayView::crossingEnded, this, [this] {
        if (!hide_->isChecked()) return;
        const VisionSetup after = setup_;
        setup_ = before_;
        edit(after, tr("hiding patches"), QStringLiteral("patches %1").arg(bench_.undoStack().count()));
    });
    connect(hide_, &QCheckBox::toggled, this, &VisionPanel::setCrossing);
    connectChanges();
    connect(views_, &VisionViews::headChosen, this, [this](int layer, int head) {
        view_->setCurrentIndex(0);
        layerBox_->setValue(layer);
        head_->setCurrentIndex(head_->findData(head));
    });
    connect(views_, &VisionViews::patchChosen, this, choosePatch);
    connect(views_, &VisionViews::pageChanged, this, &VisionPanel::ask);
    const auto setTheme = [this](ThemeId theme) { overlay_->setTheme(figureTheme(theme)); };
    connect(&bench_, &Workbench::themeChanged, this, setTheme);
    setTheme(bench_.theme());
    connect(&bench_.vision(), &VisionBridge::changed, this, &VisionPanel::receive);
    connect(&bench_.training(), &TrainingBridge::visionMoment, this, &VisionPanel::showMoment);
    connect(&bench_, &Workbench::pictureRequested, this,
            [this](const std::shared_ptr<const Image>& picture, const QString& name) {
                editPicture(name, picture);
                bench_.showPanel("vision");
            });
    const BuiltInPicture& first = builtInPictures().front();
    apply({.name = QLatin1String(first.id), .picture = std::make_shared<const Image>(imageFrom(first.draw()))});
    showModel();
    showAnswers();
    showLook();
}

// The model and the picture -------------------------------------------------------------------------------------------

void VisionPanel::openModel(const QString& path) {
    bench_.training().cancelShow();
    loadModel(path);
}

void VisionPanel::loadModel(const QString& path) {
    if (!moment_.isEmpty()) bench_.training().follow(false);
    model_ = path;
    weights_.reset();
    moment_.clear();
    showOtherModel();
}

/// Shows a checkpoint of a training run. Another checkpoint of the same run keeps the chosen patch.
void VisionPanel::showMoment(const std::shared_ptr<const WeightSet>& weights, const QString& path,
                             const QString& title) {
    const QString run = runOf(path);
    const bool isOtherRun = moment_.isEmpty() || run != runOf(model_);
    model_ = path;
    weights_ = weights;
    moment_ = title;
    if (isOtherRun)
        showOtherModel();
    else
        ask();
}

void VisionPanel::showOtherModel() {
    patch_.reset();
    pointed_.reset();
    weighted_->setCurrentIndex(0); // another model has other classes
    examples_.clear();
    setup_.change = {}; // it refers to the previous model's layers
    stop(reading_);
    picksExample_ = true;
    listExamples();
}

void VisionPanel::showEvent(QShowEvent* event) {
    Panel::showEvent(event);
    if (model_.isEmpty() && !defaultModel_.isEmpty()) loadModel(defaultModel_);
}

void VisionPanel::ask() {
    const int weighted = weighted_->currentData().toInt();
    const VisionQuery query{
        .model = model_.toStdString(),
        .weights = weights_,
        .moment = moment_.toStdString(),
        .picture = setup_.picture,
        .hidden = setup_.hidden,
        .changes = setup_.change.changes,
        .other = setup_.change.other,
        .rollout = {.fusion = static_cast<HeadFusion>(fusion_->currentIndex()), .discard = discard_->value() / 100.0},
        .rolloutClass = weighted >= 0 ? std::optional(weighted) : std::nullopt,
        .embedding = views_->needsEmbedding()};
    bench_.vision().session().show(query);
    views_->follow(query);
}

void VisionPanel::editPicture(const QString& name, std::shared_ptr<const Image> picture) {
    picksExample_ = false;
    edit({.name = name, .picture = std::move(picture), .hidden = {}, .change = setup_.change}, tr("choosing a picture"),
         "picture");
}

void VisionPanel::edit(const VisionSetup& setup, const QString& text, const QString& what) {
    if (setup == setup_) return;
    if (setup.change != setup_.change && bench_.shownRun() == ShownRun::Original)
        bench_.showRun(ShownRun::Changed); // so that the new change is visible
    const QPointer<VisionPanel> panel = this;
    bench_.undoStack().push(new VisionEdit(
        text,
        [panel](const VisionSetup& state) {
            if (panel) panel->apply(state);
        },
        setup_, setup, what, bench_.undoSteps().step()));
}

void VisionPanel::showProblem(const QString& text) {
    problem_ = text;
    message_->setText(text);
    message_->show();
}

QString VisionPanel::message(const Failure& failure) {
    QStringList parts{QString::fromStdString(failure.what)};
    if (!failure.where.empty()) parts.prepend(QString::fromStdString(failure.where));
    if (!failure.hint.empty()) parts.append(QString::fromStdString(failure.hint));
    return parts.join(QStringLiteral(": "));
}

void VisionPanel::apply(const VisionSetup& setup) {
    problem_.clear();
    setup_ = setup;
    listPictures();
    showAll_->setEnabled(!setup_.hidden.empty());
    views_->changes().setChange(setup_.change);
    if (!isChanged() && bench_.changes().empty()) bench_.showRun(ShownRun::Changed); // no runs to choose from
    ask();
    emit changed();
}

/// Hides or shows a patch. The first patch of a drag decides which of the two the drag does.
void VisionPanel::cross(int patch, bool isFirst) {
    if (views_->changes().isPainting()) return views_->changes().paint(patch, isFirst);
    const auto at = std::ranges::lower_bound(setup_.hidden, patch);
    const bool isHidden = at != setup_.hidden.end() && *at == patch;
    if (isFirst) {
        before_ = setup_;
        hidesMore_ = !isHidden;
    }
    if (isHidden == hidesMore_) return;
    VisionSetup next = setup_;
    const auto place = next.hidden.begin() + (at - setup_.hidden.begin());
    if (hidesMore_)
        next.hidden.insert(place, patch);
    else
        next.hidden.erase(place);
    apply(next);
}

void VisionPanel::receive(const std::shared_ptr<const VisionSnapshot>& snapshot) {
    const bool isOther = snapshot->model != shown_->model;
    shown_ = snapshot;
    if (snapshot->answer && snapshot->query.hidden.empty() && !snapshot->unedited) {
        plain_ = snapshot->answer->probabilities;
        plainOf_ = snapshot->query.picture;
    }
    if (isOther) showModel();
    showModelText();
    const bool isLooking = snapshot->model && snapshot->query.picture && !snapshot->answer;
    message_->setVisible(snapshot->failure || !problem_.isEmpty() || snapshot->progress < 1 || isLooking);
    if (snapshot->failure)
        message_->setText(message(*snapshot->failure));
    else if (!problem_.isEmpty())
        message_->setText(problem_);
    else
        message_->setText(snapshot->progress < 1 ? tr("Loading: %1 %").arg(qRound(snapshot->progress * 100))
                                                 : tr("Running the model…"));
    showAnswers();
    views_->showState(shown_);
    views_->showAnswer(drawn(), look());
    showOverlay();
    if (!snapshot->query.moment.empty() && (snapshot->answer || snapshot->failure))
        bench_.training().onVisionShown(snapshot->query.weights, QString::fromStdString(snapshot->query.model));
}

// What is shown -------------------------------------------------------------------------------------------------------

void VisionPanel::showModel() {
    const ModelInfo* info = shown_->model.get();
    {
        const QSignalBlocker quietLayer(layerBox_), quietHead(head_);
        const int layers = info ? info->layers : 1, heads = info ? info->heads : 1;
        layerBox_->setRange(0, layers - 1);
        layerBox_->setValue(layers - 1);
        head_->clear();
        head_->addItem(tr("Mean of all"), VisionLook::Mean);
        head_->addItem(tr("Maximum of all"), VisionLook::Maximum);
        for (int head = 0; head < heads; ++head) head_->addItem(QString::number(head), head);
    }
    {
        const QSignalBlocker quiet(weighted_);
        weighted_->clear();
        weighted_->addItem(tr("Nothing"), -1);
        for (int index = 0; info && index < info->classes; ++index)
            weighted_->addItem(QString::fromStdString(info->labelOf(index)), index);
    }
    for (QWidget* widget : std::initializer_list<QWidget*>{view_, attentionRow_, rolloutRow_, colours_, opacity_,
                                                           smooth_, hide_, fromAll_})
        widget->setEnabled(info);
    weighted_->setEnabled(weighted_->count() > 1);
    restoreViewOfModel();
    showModelText();
}

void VisionPanel::showModelText() {
    const ModelInfo* info = shown_->model.get();
    if (!info) {
        modelText_->setText(
            tr("Open or drop the folder of a vision model: ViT, DeiT, DINOv2, Swin, or a ViT from timm."));
        return;
    }
    QString text = tr("%1: %2, %3 layers of %4 heads, %5 × %6 patches of %7 × %7 pixels")
                       .arg(QString::fromStdString(info->name), QString::fromStdString(info->familyTitle))
                       .arg(info->layers)
                       .arg(headsText(*info))
                       .arg(info->grid.height)
                       .arg(info->grid.width)
                       .arg(info->patch);
    if (!shown_->query.moment.empty()) text.prepend(tr("%1 of ").arg(momentTitle()));
    for (const std::string& warning : info->warnings) text += "\n" + QString::fromStdString(warning);
    modelText_->setText(text);
}

void VisionPanel::showAnswers() {
    const ModelInfo* info = shown_->model.get();
    const auto& answer = shown_->answer;
    const bool hasAnswers = info && answer && !answer->probabilities.empty();
    answers_->setVisible(hasAnswers);
    answerText_->setText(!info || !answer ? QString()
                         : hasAnswers     ? tr("Prediction (%1 ms on %2):")
                                            .arg(answer->elapsedMs, 0, 'f', 0)
                                            .arg(QString::fromStdString(shown_->device))
                                      : tr("This model has no classifier. It only outputs features."));
    if (!hasAnswers) return;
    const auto& probabilities = answer->probabilities;
    std::vector<int> order(probabilities.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int a, int b) {
        return probabilities[static_cast<size_t>(a)] > probabilities[static_cast<size_t>(b)];
    });
    order.resize(std::min<size_t>(order.size(), kMostAnswers));
    const bool hasPlain = !shown_->query.hidden.empty() && plainOf_ == shown_->query.picture;
    const std::vector<float> before = shown_->unedited ? shown_->unedited->probabilities
                                      : hasPlain       ? plain_
                                                       : std::vector<float>();
    const bool hasChange = before.size() == probabilities.size();
    answers_->setColumnHidden(2, !hasChange);
    const QTreeWidgetItem* current = answers_->currentItem();
    const int kept = current ? current->data(0, Qt::UserRole).toInt() : -1;
    answers_->clear();
    for (const int index : order) {
        const auto at = static_cast<size_t>(index);
        const double value = static_cast<double>(probabilities[at]);
        auto* item = new QTreeWidgetItem(answers_, {QString::fromStdString(info->labelOf(index)),
                                                    tr("%1 %").arg(value * 100, 0, 'f', 1), QString()});
        item->setData(0, Qt::UserRole, index);
        if (index == kept) answers_->setCurrentItem(item); // the keyboard focus stays on the class
        item->setTextAlignment(1, Qt::AlignRight | Qt::AlignVCenter);
        item->setTextAlignment(2, Qt::AlignRight | Qt::AlignVCenter);
        if (!hasChange) continue;
        const double change = (value - static_cast<double>(before[at])) * 100;
        item->setText(2, formatSigned(change, 1));
    }
}

/// Shows rollout weighted by the gradient of the class that was clicked.
void VisionPanel::chooseClass(const QTreeWidgetItem* item) {
    view_->setCurrentIndex(1);
    weighted_->setCurrentIndex(weighted_->findData(item->data(0, Qt::UserRole)));
}

VisionLook VisionPanel::look() const {
    return {.isRollout = showsRollout(),
            .site = layerBox_->value(),
            .head = head_->currentData().toInt(),
            .patch = pointed_ && !views_->changes().isPainting() ? pointed_ : patch_, // a brush points at keys
            .colours = colourMapFromKey(colours_->currentData().toString()),
            .opacity = opacity_->value() / 100.0,
            .isSmooth = smooth_->isChecked()};
}

bool VisionPanel::showsRollout() const { return view_->currentIndex() == 1; }

void VisionPanel::showOverlay() {
    const auto shown = drawn();
    PatchOverlayFigure figure = overlayFigure(pictureRun(*shown), look());
    if (bench_.shownRun() == ShownRun::Difference && shown_->unedited && shown_->answer)
        figure = differenceFigure(pictureRun(*shown_), pictureRun(*uneditedSnapshot(shown_)), look());
    figure.marked = patch_;
    figure.hovered = pointed_;
    overlay_->setFigure(std::move(figure));
    views_->setSelected(layerBox_->value(), showsRollout() ? -1 : head_->currentData().toInt());
    fromAll_->setText(shown_->model && !shown_->model->prefix.empty() ? tr("Show attention from CLS")
                                                                      : tr("Show attention from all patches"));
    fromAll_->setEnabled(patch_.has_value());
}

/// Draws the same answer with new settings.
void VisionPanel::showLook() {
    views_->setLook(look());
    showOverlay();
}

QJsonObject VisionPanel::saveView() const {
    return {{"model", model_},
            {"picture", setup_.name},
            {"view", savedChoice(*view_)},
            {"site", QString::fromStdString(siteName(layerBox_->value()))},
            {"head", head_->currentData().toInt()},
            {"fusion", savedChoice(*fusion_)},
            {"discard", discard_->value()},
            {"weighted", weighted_->currentData().toInt()},
            {"views", views_->saveView()},
            {"change", saveChange()},
            {"colours", colours_->currentData().toString()},
            {"opacity", opacity_->value()},
            {"smooth", smooth_->isChecked()}};
}

void VisionPanel::restoreView(const QJsonObject& view) {
    if (view.isEmpty()) return;
    if (const QString path = view["model"].toString(); path != model_) openModel(path);
    if (const QString name = view["picture"].toString();
        !name.isEmpty() && (name != setup_.name || picksExample_ || reading_.isRunning()))
        openPicture(name);
    restoreChoice(*view_, view["view"], kViewKeys);
    restoreChoice(*fusion_, view["fusion"], kFusionKeys);
    discard_->setValue(view["discard"].toInt());
    if (const int at = colours_->findData(view["colours"].toString()); at >= 0) colours_->setCurrentIndex(at);
    opacity_->setValue(view["opacity"].toInt(60));
    smooth_->setChecked(view["smooth"].toBool());
    views_->restoreView(view["views"].toObject());
    restoreChange(view["change"].toObject());
    viewOfModel_ = view;
    restoreViewOfModel();
}

/// Layers, heads and classes are known only when the model has loaded.
void VisionPanel::restoreViewOfModel() {
    if (viewOfModel_.isEmpty() || !shown_->model || shown_->query.model != model_.toStdString()) return;
    const QJsonObject view = std::exchange(viewOfModel_, {});
    layerBox_->setValue(savedLayer(view, layerBox_->value()));
    restoreGates(view["change"].toObject()["gates"].toArray());
    for (auto [box, key] : {std::pair(head_, "head"), std::pair(weighted_, "weighted")})
        if (const int at = box->findData(view[key].toInt(box->currentData().toInt())); at >= 0)
            box->setCurrentIndex(at);
}

QWidget* VisionPanel::figure() { return views_->figure() ? views_->figure() : overlay_; }
ExportNumbers VisionPanel::numbers() const {
    return views_->figure() ? views_->numbers() : numbersOf(overlay_->figure());
}

} // namespace attn
