#include "app/lab/panels/lenses_panel.h"

#include "app/figures/head_lenses.h"
#include "app/figures/token_label.h"
#include "app/lab/bridge/token_text.h"
#include "app/lab/widgets/choice_keys.h"
#include "app/lab/widgets/front_watch.h"
#include "app/lab/widgets/patch_overlay_view.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/follow_theme.h"
#include "app/lab/workbench/input_kind.h"
#include "app/lab/workbench/snapshot_views.h"

#include <QComboBox>
#include <QCoreApplication>
#include <QFormLayout>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalBlocker>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace attn {

LensesPanel::LensesPanel(Workbench& bench, QWidget* parent)
    : Panel(bench, parent), page_(new QComboBox), position_(new QComboBox), target_(new QComboBox),
      hook_(new QComboBox), against_(new QLineEdit), text_(new QLineEdit), run_(new QPushButton),
      progress_(new QProgressBar), explanation_(makeHintLabel("lensExplanation")), form_(new QFormLayout),
      targetTitle_(identified(plainLabel(tr("Logit")), "lensTargetTitle")), view_(new LensAnswerView("lens")),
      overlay_(new PatchOverlayView) {
    target_->setEditable(true);
    target_->setInsertPolicy(QComboBox::NoInsert);
    name();
    layOut();
    for (const LensPage& each : lensPages())
        page_->addItem(QCoreApplication::translate("attn::Lens", each.title), QString::fromLatin1(each.id));
    connect(page_, &QComboBox::currentIndexChanged, this, &LensesPanel::choosePage);
    for (QComboBox* box : {position_, target_}) connect(box, &QComboBox::activated, this, &LensesPanel::ask);
    connect(hook_, &QComboBox::activated, this, [this] {
        chosenHook_ = hook_->currentText();
        ask();
    });
    for (QLineEdit* line : {target_->lineEdit(), against_, text_})
        connect(line, &QLineEdit::returnPressed, this, &LensesPanel::ask);
    connect(run_, &QPushButton::clicked, this, [this] {
        if (snapshot_ && snapshot_->status.activity == Activity::Analysing)
            bench_.post(StopCommand{});
        else
            ask();
    });
    connect(&bench_, &Workbench::headSelected, this, [this] {
        listHooks();
        if (page().usesHead) ask();
    });
    connect(view_, &LensAnswerView::pointedAt, this, [this](const std::optional<MatrixCell>& cell) {
        const MatrixFigure& matrix = view_->answer().matrix;
        const bool hasTokens = !matrix.columnsAreNamed && matrix.columns() == bench_.tokenCount();
        bench_.hoverToken(cell && hasTokens ? cell->column : -1);
        showOverlay(cell);
    });
    connect(view_, &LensAnswerView::activated, this, &LensesPanel::activate);
    connect(&bench_, &Workbench::shownRunChanged, this, [this](ShownRun run) {
        showIfNew();
        if (run != ShownRun::Difference) return;
        asked_ = 0; // the original run has no result yet
        askIfQuick();
    });
    followTheme(bench_, view_, overlay_);
    front_ = new FrontWatch(this, [this](bool isInFront) {
        if (isInFront) askIfQuick();
    });
    choosePage();
}

void LensesPanel::name() {
    named(page_, "lensPage", tr("Lens"));
    named(position_, "lensPosition", tr("Token to analyse"));
    named(target_, "lensTargets", tr("Token or class whose logit is analysed"),
          tr("A token as shown in lists, or #id; of a classifier, a class. If empty, the top prediction is used."));
    named(target_->lineEdit(), "lensTarget", target_->accessibleName(), target_->toolTip());
    target_->lineEdit()->setPlaceholderText(tr("top prediction"));
    setLeastCharacters(*target_, 8);
    named(against_, "lensAgainst", tr("Token or class whose logit is subtracted"),
          tr("A token as shown in lists, or #id; of a classifier, a class"));
    against_->setPlaceholderText(tr("another one (optional)"));
    named(hook_, "lensHook", tr("Values that the lens reads"),
          tr("What a layer computes: the lens shows it, or copies it from the other text"));
    named(text_, "lensText", tr("Other text, with the same number of tokens"));
    named(run_, "lensRun", tr("Run or stop this lens"), tr("Run this lens. Press Stop to end it early."));
    named(progress_, "lensProgress", tr("Progress of the lens"), tr("How much of the lens is done"));
    progress_->setRange(0, 100);
    named(overlay_, "lensPicture", tr("Result over the picture"), tr("The result for each patch"));
}

void LensesPanel::layOut() {
    view_->insert(overlay_, 4);
    form_->setContentsMargins(0, 0, 0, 0);
    form_->addRow(tr("After token"), position_);
    form_->addRow(targetTitle_, makeRow({{target_, 1}, plainLabel(tr("−")), {against_, 1}}));
    form_->addRow(tr("Other text"), text_);
    form_->addRow(tr("Values"), hook_);
    makeColumn(this, spacing::kGap, {makeRow({{page_, 1}, run_}), explanation_, form_, progress_, {view_, 1}});
}

std::vector<Panel::Place> LensesPanel::places() {
    std::vector<Place> places;
    for (int index = 0; const LensPage& each : lensPages())
        places.push_back({QCoreApplication::translate("attn::Lens", each.title), tr("Lens"),
                          [this, index = index++] {
                              bench_.showPanel("lenses");
                              page_->setCurrentIndex(index);
                          },
                          QCoreApplication::translate("attn::Lens", each.explanation)});
    return places;
}

const LensPage& LensesPanel::page() const { return *lensPageNamed(page_->currentData().toString().toStdString()); }

bool LensesPanel::hasInput() const {
    if (!snapshot_ || !snapshot_->model) return false;
    return canAnalyse(*snapshot_);
}

int LensesPanel::choiceOf(const QString& text) const {
    if (text.isEmpty() || !snapshot_ || !snapshot_->model) return -1;
    const ModelInfo& model = *snapshot_->model;
    bool isNumber = false;
    const int id = text.mid(text.startsWith('#') ? 1 : 0).toInt(&isNumber);
    if (isNumber && (text.startsWith('#') || model.classes > 0 || !model.hasTokenizer)) return id;
    if (model.classes > 0) {
        for (int index = 0; index < model.classes; ++index)
            if (shownText(model.labelOf(index)) == text) return index;
        return -1;
    }
    for (const bool isLoose : {false, true}) // exact text first, then without leading spaces
        for (size_t token = 0; token < model.tokenTexts.size(); ++token) {
            const QString each = QString::fromStdString(model.tokenTexts[token]);
            if (isLoose ? each.trimmed() == text.trimmed() : each == text || visibleText(each) == text)
                return static_cast<int>(token);
        }
    return -1;
}

LensQuestion LensesPanel::question() {
    const Selection& selection = bench_.selection();
    LensQuestion question{.site = selection.site, .head = selection.head, .position = position_->currentIndex() - 1};
    question.hook = hook_->currentData().toString().toStdString();
    if (const auto hidden = predictedWord(*snapshot_); hidden && question.position < 0) question.position = *hidden;
    question.text = bench_.input().otherText(bench_, text_->text()).toStdString();
    QStringList notices;
    const QString unknown = tr("“%1” is no token or class of this model. %2");
    for (const auto& [text, choice, instead] :
         {std::tuple(target_->currentText(), &question.target.token, tr("The top prediction is used instead.")),
          std::tuple(against_->text(), &question.target.other, tr("Nothing is subtracted."))}) {
        *choice = page().usesTarget ? choiceOf(text) : -1;
        if (page().usesTarget && !text.isEmpty() && *choice < 0) notices << unknown.arg(text, instead);
    }
    view_->setNotice(notices.join(' '));
    return question;
}

void LensesPanel::listTargets() {
    const QString text = target_->currentText();
    const QSignalBlocker quiet(target_);
    target_->clear();
    if (snapshot_->model)
        for (int index = 0; index < snapshot_->model->classes; ++index)
            target_->addItem(shownText(snapshot_->model->labelOf(index)));
    target_->setEditText(choiceOf(text) < 0 ? QString() : text);
    const bool readsSource = snapshot_->model && snapshot_->model->readsSource,
               fillsIn = snapshot_->model && snapshot_->model->maskToken,
               isRegression = snapshot_->model && snapshot_->model->classes > 0 &&
                              snapshot_->model->activation == ClassActivation::None;
    targetTitle_->setText(isRegression ? tr("Answer for") : tr("Logit"));
    target_->setAccessibleName(isRegression ? tr("Quantity whose answer is analysed")
                                            : tr("Token or class whose logit is analysed"));
    target_->lineEdit()->setAccessibleName(target_->accessibleName());
    target_->lineEdit()->setPlaceholderText(isRegression ? tr("largest answer") : tr("top prediction"));
    against_->setAccessibleName(isRegression ? tr("Quantity whose answer is subtracted")
                                             : tr("Token or class whose logit is subtracted"));
    static_cast<QLabel*>(form_->labelForField(position_))->setText(fillsIn ? tr("At token") : tr("After token"));
    static_cast<QLabel*>(form_->labelForField(text_))->setText(readsSource ? tr("Other source") : tr("Other text"));
    text_->setAccessibleName(readsSource ? tr("Other source, with the same number of tokens")
                                         : tr("Other text, with the same number of tokens"));
    choosePage();
}

void LensesPanel::listHooks() {
    if (!snapshot_ || !snapshot_->model) return;
    const QSignalBlocker quiet(hook_);
    hook_->clear();
    if (!page().hooks) return;
    for (const std::string& hook : page().hooks(*snapshot_->model, bench_.selection().site))
        hook_->addItem(hookTitle(hook), QString::fromStdString(hook));
    hook_->setCurrentIndex(std::max(0, hook_->findText(chosenHook_))); // the same value of another layer
}

void LensesPanel::choosePage() {
    const auto showRow = [this](int row, bool isShown) {
        for (const auto role : {QFormLayout::LabelRole, QFormLayout::FieldRole})
            if (QLayoutItem* item = form_->itemAt(row, role)) {
                if (item->widget()) item->widget()->setVisible(isShown);
                if (QLayout* inner = item->layout())
                    for (int i = 0; i < inner->count(); ++i) inner->itemAt(i)->widget()->setVisible(isShown);
            }
    };
    const bool isOfWhole = page().usesTarget && snapshot_ && snapshot_->model && snapshot_->model->classes > 0,
               isText = bench_.reads(AxisKind::Tokens);
    showRow(0, page().usesPosition && isText && !isOfWhole);
    showRow(1, page().usesTarget);
    showRow(2, page().usesOther && isText); // the other picture is chosen in the Changes panel
    showRow(3, page().hooks != nullptr);
    listHooks();
    forget();
    askIfQuick();
    showIfNew();
}

void LensesPanel::forget() {
    shown_.reset();
    before_.reset();
    asked_ = 0;
    view_->setNotice({});
    view_->setAnswer({}, false);
    showOverlay({});
    showState();
}

QString LensesPanel::failure() const {
    const bool isAsked = snapshot_ && asked_ > 0 && asked_ == snapshot_->sequenceVersion;
    return isAsked ? failureIn(*snapshot_, page().make({})->key()) : QString();
}

void LensesPanel::ask() {
    if (!hasInput()) return;
    asked_ = snapshot_->sequenceVersion;
    showState();
    bench_.post(RunAnalysisCommand{page().make(question())});
}

void LensesPanel::askIfQuick() {
    if (!front_->isInFront() || !page().isQuick || !hasInput()) return;
    if (snapshot_->status.activity == Activity::Generating || asked_ == snapshot_->sequenceVersion) return;
    ask();
}

void LensesPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const auto before = std::exchange(snapshot_, snapshot);
    if (!before || before->sequence != snapshot->sequence) showTokens();
    if (!before || before->model != snapshot->model) {
        listHooks();
        listTargets();
    }
    if (shown_ && !hasInput()) forget();
    askIfQuick();
    showIfNew();
    showState();
}

void LensesPanel::showIfNew() {
    if (!hasInput()) return;
    const std::string key = page().make({})->key();
    const auto found = resultIn(snapshot_->analyses, key);
    if (!found && shown_ && !failure().isEmpty()) { // the former result answers another question
        shown_.reset();
        before_.reset();
        view_->setAnswer({}, false);
        showOverlay({});
    }
    if (!found) return;
    if (!inputKind(*snapshot_).keepsResults() && found->inputVersion != snapshot_->sequenceVersion) return;
    const auto before = bench_.comparedAnalysis(*snapshot_, key);
    if (found == shown_ && before == before_) return;
    shown_ = found;
    before_ = before;
    const LensAnswer answer = page().show(*shown_, subject(false));
    view_->setAnswer(before_ ? changeOf(answer, page().show(*before_, subject(true))) : answer,
                     page().change != nullptr);
    showOverlay({});
    showState();
}

LensSubject LensesPanel::subject(bool isOriginal) const {
    return inputKind(*snapshot_).subject(*snapshot_, isOriginal);
}

void LensesPanel::showOverlay(const std::optional<MatrixCell>& cell) {
    const bool isPossible = snapshot_ && snapshot_->model && snapshot_->model->grid.area() > 0 && page().overlay;
    if (!shown_ || !isPossible)
        overlay_->setFigure({});
    else if (hasInput() && shown_->inputVersion == snapshot_->sequenceVersion) { // else the former one stays
        const PatchOverlayFigure figure = page().overlay(*shown_, subject(false), cell);
        overlay_->setFigure(before_ ? changeOf(figure, page().overlay(*before_, subject(true), cell)) : figure);
    }
    overlay_->setVisible(!overlay_->figure().isEmpty());
}

void LensesPanel::showTokens() {
    const QSignalBlocker quiet(position_);
    const int current = position_->currentIndex();
    position_->clear();
    position_->addItem(predictedWord(*snapshot_)                           ? tr("hidden word")
                       : snapshot_->model && snapshot_->model->classes > 0 ? tr("token of the class")
                                                                           : tr("last token"));
    const std::vector<QString> labels = tokenLabels(snapshot_->sequence.get());
    for (size_t token = 0; token < labels.size() && token < 1024; ++token)
        position_->addItem(QStringLiteral("%1 “%2”").arg(token).arg(labels[token]));
    position_->setCurrentIndex(current >= 0 && current < position_->count() ? current : 0);
}

void LensesPanel::activate(const MatrixCell& cell) {
    if (!shown_ || !page().change || std::isnan(view_->answer().matrix.valueAt(cell))) return;
    bench_.addChanges({page().change(*shown_, question(), snapshot_->model->structure, cell.row, cell.column)});
    bench_.showPanel("interventions");
}

void LensesPanel::showState() {
    const bool isAnalysing = snapshot_ && snapshot_->status.activity == Activity::Analysing,
               isAsked = snapshot_ && asked_ > 0 && asked_ == snapshot_->sequenceVersion,
               isOld = snapshot_ && shown_ && shown_->inputVersion != snapshot_->sequenceVersion;
    run_->setText(isAnalysing ? tr("Stop") : tr("Run"));
    run_->setEnabled(isAnalysing || hasInput());
    progress_->setVisible(isAnalysing && !page().isQuick);
    if (isAnalysing) progress_->setValue(qRound(snapshot_->status.progress * 100));
    const QString problem = failure();
    const InputKind& kind = bench_.input();
    explanation_->setText(shown_ && !problem.isEmpty() ? problem
                          : !isOld || (isAsked && page().isQuick)
                              ? QCoreApplication::translate("attn::Lens", page().explanation)
                              : tr("This result is for the previous %1 or model. Press Run to update it.")
                                    .arg(kind.say(&InputWords::noun)));
    view_->setWaiting(!problem.isEmpty() ? problem
                      : isAsked          ? tr("Computing…")
                      : !page().isQuick  ? tr("Press Run.")
                                         : kind.say(&InputWords::noInput));
}

QJsonObject LensesPanel::saveView() const {
    return {{"page", page_->currentData().toString()},
            {"target", target_->currentText()},
            {"against", against_->text()},
            {"text", text_->text()},
            {"hook", chosenHook_}};
}

void LensesPanel::restoreView(const QJsonObject& view) {
    against_->setText(view.value("against").toString());
    text_->setText(view.value("text").toString());
    target_->setEditText(view.value("target").toString());
    chosenHook_ = view.value("hook").toString();
    listHooks();
    // Earlier versions kept the lens of a picture by itself.
    for (const QJsonValue& id : {view.value("picture").toObject().value("lens"), view.value("page")})
        if (const LensPage* named = lensPageNamed(id.toString().toStdString()))
            page_->setCurrentIndex(page_->findData(QString::fromLatin1(named->id)));
}

ExportNumbers LensesPanel::numbers() const {
    LensFigure figure;
    figure.answer = view_->answer();
    figure.overlay = overlay_->figure();
    return numbersOf(figure);
}

} // namespace attn
