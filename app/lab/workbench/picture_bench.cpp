#include "app/lab/workbench/picture_bench.h"

#include "app/lab/workbench/undo_commands.h"
#include "app/lab/workbench/workbench.h"

#include <QPointer>

#include <utility>

namespace attn {
namespace {

using PictureStep = StateStep<PictureSetup, 4>;

} // namespace

PictureBench::PictureBench(Workbench& bench) : bench_(bench) {
    connect(&bench_, &Workbench::selectionChanged, this, &PictureBench::lookChanged);
}

void PictureBench::set(const PictureSetup& setup) {
    if (setup == setup_) return;
    setup_ = setup;
    post();
    emit changed();
}

void PictureBench::forgetModel() {
    look_.head = VisionLook::Mean;
    rollout_.target.reset();
    rolledOut_ = 0;
    pointed_.reset();
}

void PictureBench::post() {
    if (bench_.reads(AxisKind::Patches)) bench_.post(SetPictureCommand{setup_.given});
}

void PictureBench::edit(const PictureSetup& setup, const QString& text, const QString& what) {
    if (setup == setup_) return;
    const QPointer<PictureBench> self = this;
    bench_.undoStack().push(new PictureStep(
        text,
        [self](const PictureSetup& state) {
            if (self) self->set(state);
        },
        setup_, setup, what, bench_.undoSteps().step()));
}

void PictureBench::setOther(const QString& name, std::shared_ptr<const Image> picture) {
    PictureSetup next = setup_;
    next.otherName = name;
    next.given.other = std::move(picture);
    edit(next, tr("choosing the other picture"), "other");
    Changes changes = bench_.changes();
    for (ValueChange& each : changes.valueChanges)
        if (!each.text.empty()) each.text = name.toStdString(); // empty: from this picture
    if (changes != bench_.changes()) bench_.setChanges(std::move(changes));
}

void PictureBench::setChoices(const Choices& choices) {
    choices_ = choices;
    emit choicesChanged();
}

VisionLook PictureBench::look() const {
    VisionLook look = look_;
    const Selection& selection = bench_.selection();
    look.site = selection.site;
    if (look.head >= 0) look.head = selection.head;
    look.patch = pointed_ && brush_ != Brush::Paint ? pointed_ : selection.row; // a brush points at keys
    return look;
}

void PictureBench::setLook(const VisionLook& look) {
    look_ = look;
    emit lookChanged();
}

void PictureBench::point(std::optional<int> patch) {
    if (std::exchange(pointed_, patch) != patch) emit lookChanged();
}

void PictureBench::showHead(int site, int head) {
    bench_.selectHead(site, head);
    look_.head = head; // also if it was selected already
    look_.isRollout = false;
    emit lookChanged();
}

void PictureBench::togglePatch(int patch) {
    bench_.selectRow(bench_.selection().row == patch ? std::nullopt : std::optional(patch));
}

void PictureBench::setRollout(const RolloutOptions& options, std::optional<LogitTarget> target) {
    rollout_.options = options;
    rollout_.target = target;
    rolledOut_ = 0;
    askForRollout();
    emit lookChanged();
}

void PictureBench::askForRollout() {
    if (!look_.isRollout || !bench_.hasModel() || !bench_.snapshot()->answer) return;
    if (std::exchange(rolledOut_, bench_.snapshot()->sequenceVersion) == bench_.snapshot()->sequenceVersion) return;
    bench_.post(RunAnalysisCommand{std::make_shared<RolloutAnalysis>(rollout_)});
}

void PictureBench::setBrush(Brush brush) {
    if (std::exchange(brush_, brush) == brush) return;
    pointed_.reset();
    emit brushChanged();
    emit lookChanged();
}

} // namespace attn
