#include "app/lab/panels/lenses_panel.h"

#include "app/figures/lens_answer.h"
#include "app/figures/token_label.h"
#include "app/lab/common/panel_theme.h"
#include "app/lab/panels/front_watch.h"
#include "app/lab/widgets/hint_label.h"

#include <QComboBox>
#include <QCoreApplication>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include <utility>

namespace attn {

LensesPanel::LensesPanel(Workbench& bench, QWidget* parent)
    : Panel(parent), bench_(bench), page_(new QComboBox), position_(new QComboBox), target_(new QLineEdit),
      against_(new QLineEdit), text_(new QLineEdit), run_(new QPushButton(tr("Run"))),
      explanation_(makeHintLabel("lensExplanation")), form_(new QFormLayout), view_(new LensAnswerView("lens")) {
    const auto name = [](QWidget* widget, const char* id, const QString& title, const QString& help = {}) {
        widget->setObjectName(QString::fromLatin1(id));
        widget->setAccessibleName(title);
        widget->setToolTip(help.isEmpty() ? title : help);
    };
    name(page_, "lensPage", tr("Lens"));
    for (const LensPage* page : lensPagesFor(AxisKind::Tokens))
        page_->addItem(QCoreApplication::translate("attn::Lens", page->title), QString::fromLatin1(page->id));
    name(position_, "lensPosition", tr("Token to analyse"));
    name(target_, "lensTarget", tr("Token whose logit is analysed"),
         tr("A token as shown in lists, or #id. If empty, the top prediction is used."));
    target_->setPlaceholderText(tr("top prediction"));
    name(against_, "lensAgainst", tr("Token whose logit is subtracted"), tr("A token as shown in lists, or #id"));
    against_->setPlaceholderText(tr("other token (optional)"));
    name(text_, "lensText", tr("Other text, with the same number of tokens"));
    name(run_, "lensRun", tr("Run this lens"), tr("Run this lens. Press Stop to end it."));

    auto* targets = new QHBoxLayout;
    targets->addWidget(target_);
    targets->addWidget(new QLabel(tr("−")));
    targets->addWidget(against_);
    form_->setContentsMargins(0, 0, 0, 0);
    form_->addRow(tr("After token"), position_);
    form_->addRow(tr("Logit"), targets);
    form_->addRow(tr("Other text"), text_);
    auto* top = new QHBoxLayout;
    top->addWidget(page_, 1);
    top->addWidget(run_);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
    column->addLayout(top);
    column->addWidget(explanation_);
    column->addLayout(form_);
    column->addWidget(view_, 1);

    connect(page_, &QComboBox::currentIndexChanged, this, &LensesPanel::choosePage);
    connect(position_, &QComboBox::activated, this, &LensesPanel::ask);
    for (QLineEdit* line : {target_, against_, text_})
        connect(line, &QLineEdit::returnPressed, this, &LensesPanel::ask);
    connect(run_, &QPushButton::clicked, this, &LensesPanel::ask);
    connect(&bench_, &Workbench::headSelected, this, [this] {
        if (page().usesHead) ask();
    });
    connect(view_, &LensAnswerView::pointedAt, this, [this](const std::optional<MatrixCell>& cell) {
        const bool hasTokens = static_cast<size_t>(view_->answer().matrix.columns()) ==
                               (snapshot_ && snapshot_->sequence ? snapshot_->sequence->tokens.size() : 0);
        bench_.hoverToken(cell && hasTokens ? cell->column : -1);
    });
    connect(view_, &LensAnswerView::activated, this, [this](const MatrixCell& cell) {
        if (!shown_ || !page().change) return;
        bench_.addChanges({page().change(*shown_, question(), cell.row, cell.column)});
        bench_.showPanel("interventions");
    });
    connect(&bench_, &Workbench::shownRunChanged, this, [this](ShownRun run) {
        showIfNew();
        if (run != ShownRun::Difference) return;
        asked_ = 0; // the original run has no result yet
        askIfQuick();
    });
    const auto setTheme = [this](ThemeId theme) { view_->setTheme(figureTheme(theme)); };
    connect(&bench_, &Workbench::themeChanged, this, setTheme);
    setTheme(bench_.theme());
    front_ = new FrontWatch(this, [this](bool isInFront) {
        if (isInFront) askIfQuick();
    });
    choosePage();
}

const LensPage& LensesPanel::page() const {
    return *lensPagesFor(AxisKind::Tokens)[static_cast<size_t>(std::max(0, page_->currentIndex()))];
}

int LensesPanel::tokenOf(const QString& text) const {
    if (text.isEmpty() || !snapshot_ || !snapshot_->model) return -1;
    bool isNumber = false;
    const int id = text.mid(text.startsWith('#') ? 1 : 0).toInt(&isNumber);
    if (isNumber && (text.startsWith('#') || !snapshot_->model->hasTokenizer)) return id;
    const auto& texts = snapshot_->model->tokenTexts;
    for (const bool isLoose : {false, true}) // exact text first, then without leading spaces
        for (size_t token = 0; token < texts.size(); ++token) {
            const QString each = QString::fromStdString(texts[token]);
            if (isLoose ? each.trimmed() == text.trimmed() : each == text || visibleText(each) == text)
                return static_cast<int>(token);
        }
    return -1;
}

LensQuestion LensesPanel::question() {
    LensQuestion question{
        .site = bench_.selection().site, .head = bench_.selection().head, .position = position_->currentIndex() - 1};
    question.text = text_->text().toStdString();
    QStringList unknown;
    for (const auto& [line, token] :
         {std::pair(target_, &question.target.token), std::pair(against_, &question.target.other)}) {
        *token = page().usesTarget ? tokenOf(line->text()) : -1;
        if (page().usesTarget && !line->text().isEmpty() && *token < 0) unknown << line->text();
    }
    if (!unknown.isEmpty())
        view_->setSummary(
            tr("“%1” is not a token of this model. The top prediction is used instead.").arg(unknown.join("”, “")));
    return question;
}

void LensesPanel::choosePage() {
    const LensPage& now = page();
    explanation_->setText(QCoreApplication::translate("attn::Lens", now.explanation));
    const auto showRow = [this](int row, bool isShown) {
        for (const auto role : {QFormLayout::LabelRole, QFormLayout::FieldRole})
            if (QLayoutItem* item = form_->itemAt(row, role)) {
                if (item->widget()) item->widget()->setVisible(isShown);
                if (QLayout* inner = item->layout())
                    for (int i = 0; i < inner->count(); ++i) inner->itemAt(i)->widget()->setVisible(isShown);
            }
    };
    showRow(0, now.usesPosition);
    showRow(1, now.usesTarget);
    showRow(2, now.usesOther);
    shown_.reset();
    asked_ = 0;
    showAnswer({});
    askIfQuick();
}

void LensesPanel::ask() {
    if (!snapshot_ || !snapshot_->model || !snapshot_->sequence || snapshot_->sequence->tokens.empty()) return;
    asked_ = snapshot_->sequenceVersion;
    showWaiting();
    bench_.post(RunAnalysisCommand{page().make(question())});
}

void LensesPanel::askIfQuick() {
    if (!front_->isInFront() || !page().isQuick || !snapshot_ || !snapshot_->sequence) return;
    if (snapshot_->status.activity == Activity::Generating || asked_ == snapshot_->sequenceVersion) return;
    ask();
}

void LensesPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const auto before = std::exchange(snapshot_, snapshot);
    if (!before || before->sequence != snapshot->sequence) showTokens();
    if (!before || before->model != snapshot->model) {
        shown_.reset();
        before_.reset();
        showAnswer({});
    }
    askIfQuick();
    showIfNew();
    const bool isOld = shown_ && shown_->inputVersion != snapshot->sequenceVersion;
    explanation_->setText(isOld ? tr("This result is for the previous text or model. Press Run to update it.")
                                : QCoreApplication::translate("attn::Lens", page().explanation));
}

void LensesPanel::showIfNew() {
    if (!snapshot_ || !snapshot_->model) return;
    const std::string key = page().make({})->key();
    const auto found = snapshot_->analyses.find(key);
    if (found == snapshot_->analyses.end()) return;
    const auto before = bench_.comparedAnalysis(*snapshot_, key);
    if (found->second == shown_ && before == before_) return;
    shown_ = found->second;
    before_ = before;
    const LensSubject subject{.model = *snapshot_->model, .axis = tokenAxis(tokenLabels(snapshot_->sequence.get()))};
    const LensAnswer answer = page().show(*shown_, subject);
    showAnswer(before_ ? changeOf(answer, page().show(*before_, subject)) : answer);
}

void LensesPanel::showTokens() {
    const QSignalBlocker quiet(position_);
    const int current = position_->currentIndex();
    position_->clear();
    position_->addItem(tr("last token"));
    const std::vector<QString> labels = tokenLabels(snapshot_->sequence.get());
    for (size_t token = 0; token < labels.size() && token < 1024; ++token)
        position_->addItem(QStringLiteral("%1 “%2”").arg(token).arg(labels[token]));
    position_->setCurrentIndex(current >= 0 && current < position_->count() ? current : 0);
}

void LensesPanel::showAnswer(LensAnswer answer) {
    showWaiting();
    view_->setAnswer(std::move(answer), page().change != nullptr);
}

void LensesPanel::showWaiting() {
    const bool isAsked = snapshot_ && snapshot_->sequence && asked_ == snapshot_->sequenceVersion;
    view_->setWaiting(isAsked          ? tr("Computing…")
                      : page().isQuick ? tr("Type a prompt in the Generate panel.")
                                       : tr("Press Run."));
}

QJsonObject LensesPanel::saveView() const {
    return {{"page", page_->currentData().toString()},
            {"target", target_->text()},
            {"against", against_->text()},
            {"text", text_->text()}};
}

void LensesPanel::restoreView(const QJsonObject& view) {
    target_->setText(view.value("target").toString());
    against_->setText(view.value("against").toString());
    text_->setText(view.value("text").toString());
    if (const int at = page_->findData(view.value("page").toString()); at >= 0) page_->setCurrentIndex(at);
}

ExportNumbers LensesPanel::numbers() const { return view_->numbers(); }

} // namespace attn
