#include "app/lab/panels/lenses_panel.h"

#include "app/figures/token_label.h"
#include "app/lab/panels/front_watch.h"
#include "app/lab/panels/panel_theme.h"
#include "app/lab/widgets/hint_label.h"
#include "app/lab/widgets/lines_view.h"
#include "app/lab/widgets/matrix_view.h"

#include <QComboBox>
#include <QCoreApplication>
#include <QFormLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalBlocker>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <utility>

namespace attn {

LensesPanel::LensesPanel(PanelContext& context, QWidget* parent)
    : Panel(parent), context_(context), page_(new QComboBox), position_(new QComboBox), target_(new QLineEdit),
      against_(new QLineEdit), text_(new QLineEdit), run_(new QPushButton(tr("Run"))),
      explanation_(makeHintLabel("lensExplanation")), summary_(new QLabel), reading_(makeHintLabel("lensReading")),
      form_(new QFormLayout), matrix_(new MatrixView), bars_(new LinesView), table_(new QTreeWidget) {
    const auto name = [](QWidget* widget, const char* id, const QString& title, const QString& help = {}) {
        widget->setObjectName(QString::fromLatin1(id));
        widget->setAccessibleName(title);
        widget->setToolTip(help.isEmpty() ? title : help);
    };
    name(page_, "lensPage", tr("Lens"));
    for (const LensPage& page : lensPages())
        page_->addItem(QCoreApplication::translate("attn::Lens", page.title), QString::fromLatin1(page.id));
    name(position_, "lensPosition", tr("Token after which is asked"));
    name(target_, "lensTarget", tr("Token whose logit is asked about"),
         tr("A token as lists show it, or #id; the likeliest where empty"));
    target_->setPlaceholderText(tr("the likeliest"));
    name(against_, "lensAgainst", tr("Token whose logit is taken away"), tr("A token as lists show it, or #id"));
    against_->setPlaceholderText(tr("nothing"));
    name(text_, "lensText", tr("The other text, of as many tokens"));
    name(run_, "lensRun", tr("Work it out"), tr("Work it out; Stop ends it"));
    name(matrix_, "lensMatrix", tr("Lens as a matrix"));
    name(bars_, "lensBars", tr("Lens as lines"));
    name(table_, "lensTable", tr("Lens as a table"));
    table_->setRootIsDecorated(false);
    table_->setUniformRowHeights(true);
    table_->setMinimumHeight(fontMetrics().height() * 4);
    summary_->setObjectName("lensSummary");
    summary_->setWordWrap(true);

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
    column->addWidget(summary_);
    column->addWidget(matrix_, 3);
    column->addWidget(bars_, 2);
    column->addWidget(table_, 2);
    column->addWidget(reading_);
    column->addStretch(0);

    connect(page_, &QComboBox::currentIndexChanged, this, &LensesPanel::choosePage);
    connect(position_, &QComboBox::activated, this, &LensesPanel::ask);
    for (QLineEdit* line : {target_, against_, text_})
        connect(line, &QLineEdit::returnPressed, this, &LensesPanel::ask);
    connect(run_, &QPushButton::clicked, this, &LensesPanel::ask);
    connect(&context_, &PanelContext::headSelected, this, [this](int layer, int head) {
        if (std::exchange(layer_, layer) == layer && std::exchange(head_, head) == head) return;
        head_ = head;
        if (page().usesHead) ask();
    });
    connect(matrix_, &MatrixView::pointedAt, this, [this](const std::optional<Cell>& cell) {
        showReading();
        const bool hasTokens = static_cast<size_t>(matrix_->figure().columns()) ==
                               (snapshot_ && snapshot_->sequence ? snapshot_->sequence->tokens.size() : 0);
        context_.hoverToken(cell && hasTokens ? cell->key : -1);
    });
    connect(matrix_, &MatrixView::activated, this, [this] {
        const MatrixFigure& figure = matrix_->figure();
        const auto& cell = figure.hovered ? figure.hovered : figure.selected;
        if (!cell || !shown_ || !page().change) return;
        context_.requestIntervention(page().change(*shown_, question(), cell->query, cell->key));
        context_.showPanel("interventions");
    });
    connect(bars_, &LinesView::pointedAt, this, &LensesPanel::showReading);
    const auto setTheme = [this](ThemeId theme) {
        matrix_->setTheme(figureTheme(theme));
        bars_->setTheme(figureTheme(theme));
    };
    connect(&context_, &PanelContext::themeChanged, this, setTheme);
    setTheme(context_.theme());
    front_ = new FrontWatch(this, [this](bool isInFront) {
        if (isInFront) askIfQuick();
    });
    choosePage();
}

const LensPage& LensesPanel::page() const {
    return lensPages()[static_cast<size_t>(std::max(0, page_->currentIndex()))];
}

int LensesPanel::tokenOf(const QString& text) const {
    if (text.isEmpty() || !snapshot_ || !snapshot_->model) return -1;
    bool isNumber = false;
    const int id = text.mid(text.startsWith('#') ? 1 : 0).toInt(&isNumber);
    if (isNumber && (text.startsWith('#') || !snapshot_->model->hasTokenizer)) return id;
    const auto& texts = snapshot_->model->tokenTexts;
    for (const bool isLoose : {false, true}) // as written, else without the mark of a space before it
        for (size_t token = 0; token < texts.size(); ++token) {
            const QString each = QString::fromStdString(texts[token]);
            if (isLoose ? each.trimmed() == text.trimmed() : each == text || visibleText(each) == text)
                return static_cast<int>(token);
        }
    return -1;
}

LensQuestion LensesPanel::question() {
    LensQuestion question{.layer = layer_, .head = head_, .position = position_->currentIndex() - 1};
    question.text = text_->text().toStdString();
    QStringList unknown;
    for (const auto& [line, token] :
         {std::pair(target_, &question.target.token), std::pair(against_, &question.target.other)}) {
        *token = page().usesTarget ? tokenOf(line->text()) : -1;
        if (page().usesTarget && !line->text().isEmpty() && *token < 0) unknown << line->text();
    }
    if (!unknown.isEmpty())
        summary_->setText(tr("“%1” is no token of the model: the likeliest is taken.").arg(unknown.join("”, “")));
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
    showRow(2, now.usesText);
    shown_.reset();
    answer_ = {};
    asked_ = 0;
    showAnswer();
    askIfQuick();
}

void LensesPanel::ask() {
    if (!snapshot_ || !snapshot_->model || !snapshot_->sequence || snapshot_->sequence->tokens.empty()) return;
    asked_ = snapshot_->sequenceVersion;
    showReading();
    context_.post(RunAnalysisCommand{page().make(question())});
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
        answer_ = {};
        showAnswer();
    }
    askIfQuick();
    const auto found = snapshot->analyses.find(page().make({})->key());
    if (found != snapshot->analyses.end() && found->second != shown_ && snapshot->model) {
        shown_ = found->second;
        answer_ = page().show(*shown_, *snapshot);
        showAnswer();
    }
    const bool isOld = shown_ && shown_->sequenceVersion != snapshot->sequenceVersion;
    explanation_->setText(isOld ? tr("This speaks of the text or the model before its last change: press Run.")
                                : QCoreApplication::translate("attn::Lens", page().explanation));
}

void LensesPanel::showTokens() {
    const QSignalBlocker quiet(position_);
    const int current = position_->currentIndex();
    position_->clear();
    position_->addItem(tr("the last one"));
    const std::vector<QString> labels = tokenLabels(snapshot_->sequence.get());
    for (size_t token = 0; token < labels.size() && token < 1024; ++token)
        position_->addItem(QStringLiteral("%1 “%2”").arg(token).arg(labels[token]));
    position_->setCurrentIndex(current >= 0 && current < position_->count() ? current : 0);
}

void LensesPanel::showAnswer() {
    summary_->setText(answer_.summary);
    summary_->setVisible(!answer_.summary.isEmpty());
    matrix_->setVisible(!answer_.matrix.isEmpty());
    bars_->setVisible(!answer_.bars.isEmpty());
    table_->setVisible(!answer_.rows.empty());
    matrix_->setFigure(answer_.matrix);
    bars_->setFigure(answer_.bars);
    table_->clear();
    table_->setColumnCount(static_cast<int>(std::max<qsizetype>(1, answer_.columns.size())));
    table_->setHeaderLabels(answer_.columns);
    for (const QStringList& row : answer_.rows) {
        auto* item = new QTreeWidgetItem(table_, row);
        for (int column = 0; column < row.size(); ++column) item->setToolTip(column, row[column]);
    }
    // What the first column speaks of is short; lists share the rest.
    for (int column = 0; column < answer_.columns.size(); ++column)
        table_->header()->setSectionResizeMode(column,
                                               column == 0 ? QHeaderView::ResizeToContents : QHeaderView::Stretch);
    showReading();
}

void LensesPanel::showReading() {
    QString text;
    if (const auto& cell = matrix_->figure().hovered; cell && !matrix_->figure().isEmpty()) {
        const MatrixFigure& figure = matrix_->figure();
        text = tr("%1, %2: %3")
                   .arg(figure.rowName(cell->query), figure.columnName(cell->key))
                   .arg(static_cast<double>(figure.valueAt(*cell)), 0, 'g', 4);
        const auto at = static_cast<size_t>(cell->query * figure.columns() + cell->key);
        if (page().change) text += QStringLiteral(" · ") + tr("double-click to change the model so");
        if (at < answer_.remarks.size()) text += QStringLiteral(" · ") + answer_.remarks[at];
    } else if (const QString reading = bars_->reading(); !bars_->isHidden() && !reading.isEmpty()) {
        text = reading;
    } else if (answer_.summary.isEmpty()) {
        const bool isAsked = snapshot_ && snapshot_->sequence && asked_ == snapshot_->sequenceVersion;
        text = isAsked          ? tr("Working it out…")
               : page().isQuick ? tr("Type a prompt under Generate.")
                                : tr("Press Run.");
    }
    reading_->setText(text);
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

QString LensesPanel::csv() const {
    if (!answer_.matrix.isEmpty()) return answer_.matrix.csv();
    if (!answer_.bars.isEmpty()) return answer_.bars.csv();
    QString text;
    for (const QStringList& row : answer_.rows) {
        QStringList cells;
        for (QString cell : row) cells << '"' + cell.replace('"', "\"\"") + '"';
        text += cells.join(',') + '\n';
    }
    return text.isEmpty() ? text : answer_.columns.join(',') + '\n' + text;
}

std::vector<NumberArray> LensesPanel::numbers() const {
    if (!answer_.matrix.isEmpty()) return answer_.matrix.numbers();
    return answer_.bars.numbers();
}

} // namespace attn
