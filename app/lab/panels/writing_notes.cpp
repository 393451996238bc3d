#include "app/lab/panels/writing_notes.h"

#include "app/figures/token_label.h"
#include "app/lab/bridge/sampling_fields.h"
#include "app/lab/common/control_groups.h"
#include "app/lab/widgets/engine_text.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/answers.h"
#include "app/lab/workbench/snapshot_views.h"

#include <QPushButton>
#include <QSignalBlocker>
#include <QSpinBox>

#include <algorithm>
#include <utility>

namespace attn {
namespace {

constexpr int kUsualAmount = 100; ///< tokens of a run

} // namespace

WritingNotes::WritingNotes(Workbench& bench, QSpinBox& amount)
    : bench_(bench), amount_(amount), usualAmount_(kUsualAmount), ended_(makeHintLabel("textEnd")),
      notice_(makeHintLabel("textNotice")), own_(new QWidget) {
    amount_.setRange(1, kMostAmount);
    amount_.setValue(kUsualAmount);
    useOwn_ = helped(new QPushButton(tr("Use the model's settings")), "useModelSettings",
                     tr("Set the controls of Next token and the number of tokens as the model's folder says"));
    makeRow(own_, 0, {useOwn_});
    assignControlGroup(useOwn_, "sampling");
    ended_->hide();
    own_->hide();
    makeColumn(this, 0, {ended_, notice_, makeRow({own_, room()})});
    connect(useOwn_, &QPushButton::clicked, this, &WritingNotes::useFolder);
    connect(&bench_, &Workbench::samplingChanged, this, &WritingNotes::show);
    connect(&amount_, &QSpinBox::valueChanged, this, &WritingNotes::show);
}

void WritingNotes::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const auto before = std::exchange(snapshot_, snapshot);
    const bool isSame = before && before->model == snapshot->model && before->sequence == snapshot->sequence &&
                        before->ended == snapshot->ended && before->classes == snapshot->classes;
    if (isSame) return;
    const int usual = usualAmount(), last = std::exchange(usualAmount_, usual);
    if (amount_.value() == last) amount_.setValue(usual); // else a person has chosen another
    show();
}

bool WritingNotes::limitsAmount() const {
    if (!snapshot_ || !snapshot_->model || snapshot_->model->writtenPicture) return false;
    return snapshot_->model->rules.maxNewTokens || snapshot_->model->rules.maxLength;
}

int WritingNotes::usualAmount() const {
    if (!limitsAmount()) return kUsualAmount;
    const auto given = static_cast<size_t>(snapshot_->branches ? snapshot_->branches->promptLength : 0);
    const size_t most = mostTokens(snapshot_->model->rules, given, given + kMostAmount);
    return most > given ? static_cast<int>(most - given) : 1;
}

QStringList WritingNotes::differing() const {
    QStringList titles;
    const Sampling &now = bench_.sampling(), &usual = bench_.usualSampling();
    if (snapshot_->model->rules.choice) {
        if (now.greedy != usual.greedy) titles << tr("Greedy");
        for (const Param& param : samplingParams())
            if (isSamplingFieldUsed(now, param.id) && samplingValue(now, param.id) != samplingValue(usual, param.id))
                titles << fromEngine(param.title);
    }
    if (limitsAmount() && amount_.value() != usualAmount()) titles << tr("number of tokens");
    return titles;
}

QString WritingNotes::aboutFolder(const QStringList& differing) const {
    const GenerationRules& rules = snapshot_->model->rules;
    QStringList parts;
    if (rules.choice) parts << shownText(rules.choice->text());
    if (rules.maxNewTokens)
        parts << tr("at most %L1 new tokens").arg(*rules.maxNewTokens);
    else if (rules.maxLength)
        parts << tr("at most %L1 tokens with the prompt").arg(*rules.maxLength);
    if (parts.isEmpty() || snapshot_->model->writtenPicture) return {};
    const QString file = shownText(rules.file), said = parts.join(QStringLiteral(", "));
    if (rules.choice && rules.choice->beams > 1)
        return tr("%1 asks for a beam search: %2. Run does not search; the Beam search panel does.").arg(file, said);
    return differing.isEmpty() ? tr("%1 chooses how to write: %2. Change it below Next token.").arg(file, said)
                               : tr("%1 would write differently: %2. These controls differ: %3.")
                                     .arg(file, said, differing.join(QStringLiteral(", ")));
}

QString WritingNotes::aboutText() const {
    const ModelInfo* model = snapshot_->model.get();
    if (!model || model->writesText())
        return tr("The stronger the colour, the more probable the word. Click one to go back to it.");
    if (model->maskToken)
        return tr("Click a word to hide it. The model predicts it from the words on both sides. Click it again to show "
                  "it.");
    return snapshot_->classes ? tr("This model writes no text. The panel %1 lists what it says of this one. %2")
                                    .arg(answerTitle(*model), meaningOfAnswer(*model))
                                    .trimmed()
                              : tr("This model predicts no words. Its attention is in the other panels.");
}

void WritingNotes::show() {
    if (!snapshot_ || !snapshot_->sequence) return;
    const bool isWriting = snapshot_->model && snapshot_->model->writesText();
    QString ended = shownText(snapshot_->ended);
    if (isCompletePicture(*snapshot_))
        ended += ' ' + tr("Reset returns to the prompt.");
    else if (snapshot_->hasEnded)
        ended += ' ' + tr("Run continues the text, and Reset starts again.");
    ended_->setText(ended);
    ended_->setVisible(!ended.isEmpty());
    const QStringList differing = isWriting ? this->differing() : QStringList();
    const QString notice = shownText(snapshot_->sequence->notice);
    const QString folder = isWriting ? aboutFolder(differing) : QString();
    notice_->setText(!notice.isEmpty() ? notice : !folder.isEmpty() ? folder : aboutText());
    own_->setVisible(!differing.isEmpty());
}

void WritingNotes::useFolder() {
    Sampling sampling = bench_.usualSampling();
    sampling.seed = bench_.sampling().seed;
    amount_.setValue(usualAmount());
    bench_.setSampling(sampling);
}

} // namespace attn
