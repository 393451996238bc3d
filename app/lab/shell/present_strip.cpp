#include "app/lab/shell/present_strip.h"

#include "app/figures/drawing.h"
#include "app/figures/token_label.h"
#include "app/lab/common/control_groups.h"
#include "app/lab/common/theme.h"
#include "app/lab/models/candidate_model.h"
#include "app/lab/widgets/elided_label.h"
#include "app/lab/widgets/token_strip.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/answers.h"
#include "app/lab/workbench/workbench.h"

#include <QPushButton>

#include <algorithm>

namespace attn {
namespace {
constexpr int kShownAnswers = 3;
}

PresentStrip::PresentStrip(Workbench& bench, QWidget* parent)
    : QToolBar(tr("Presentation"), parent), bench_(bench), source_(new ElidedLabel), words_(new TokenStrip),
      place_(plainLabel()), answers_(makeTextLabel("presentAnswers")), candidates_(new CandidateModel(this)) {
    setObjectName("presentation");
    setMovable(false);
    setContextMenuPolicy(Qt::PreventContextMenu);
    toggleViewAction()->setVisible(false); // its own menu would hide it and leave nothing
    identified(source_, "presentSource");
    identified(words_, "presentWords");
    identified(place_, "presentPlace");
    place_->setFont(textFont(TextSize::Title));
    answers_->setFont(textFont(TextSize::Title));
    keys_ = makeHintLabel("presentKeys");
    assignControlGroup(answers_, "candidates");
    auto* leave = helped(new QPushButton(tr("Leave")), "presentLeave", tr("Show the whole window again"));
    leave->setFocusPolicy(Qt::TabFocus);
    connect(leave, &QPushButton::clicked, this, &PresentStrip::left);
    auto* content = new QWidget;
    auto* first = makeRow({place_, {answers_, 1}, leave});
    first->setSpacing(spacing::kWide);
    makeColumn(content, spacing::kTight, {source_, words_, first, keys_});
    content->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    addWidget(content);
    connect(words_, &TokenStrip::tokenClicked, &bench_, [this](int token) { bench_.selectRow(token); });
    connect(&bench_, &Workbench::snapshotChanged, this, &PresentStrip::showRun);
    connect(&bench_, &Workbench::samplingChanged, this, &PresentStrip::showRun);
    connect(&bench_, &Workbench::shownRunChanged, this, &PresentStrip::showRun);
    connect(&bench_, &Workbench::selectionChanged, this, &PresentStrip::showRun); // another site may have other tokens
    connect(&bench_, &Workbench::themeChanged, this, [this](ThemeId theme) {
        words_->setTheme(figureTheme(theme));
        place_->setFont(textFont(TextSize::Title));
        answers_->setFont(textFont(TextSize::Title));
    });
    words_->setTheme(figureTheme(bench_.theme()));
    showRun();
}

void PresentStrip::showRun() {
    const Snapshot* snapshot = bench_.snapshot().get();
    if (!snapshot || !snapshot->model) return;
    source_->setText(tr("Source: %1").arg(snapshot->sequence ? shownText(snapshot->sequence->given.text) : QString()));
    source_->setVisible(snapshot->model->readsSource && !isAtSource());
    words_->setLabels(tokenLabels(snapshot->queries(bench_.selection().site)));
    words_->setVisible(words_->count() > 0);
    answers_->setText(answers(*snapshot));
    QStringList keys{tr("← → head"), tr("↑ ↓ layer"),
                     bench_.reads(AxisKind::Tokens) ? tr("Page keys: token") : tr("Page keys: patch"),
                     tr("Enter: one head or all")};
    if (snapshot->model->writesText()) keys << tr("Space: write a token");
    keys << tr("Esc: leave");
    keys_->setText(keys.join(QStringLiteral(" · ")));
    showPlace();
}

void PresentStrip::showPlace() {
    const Selection& selected = bench_.selection();
    place_->setText(bench_.snapshot()->model->siteCount() > 0 ? bench_.headLabel(selected.site, selected.head)
                                                              : QString());
    words_->setMarks(selected.row.value_or(words_->count() - 1), -1);
}

bool PresentStrip::isAtSource() const {
    const ModelInfo& model = *bench_.snapshot()->model;
    return model.readsSource && model.site(bench_.selection().site).queryStream == 0;
}

/// The run keeps only the prediction after the last token, whichever is chosen.
QString PresentStrip::titleOf(const Snapshot& snapshot) const {
    const QString title = answerTitle(*snapshot.model);
    if (!snapshot.model->writesText() || !snapshot.next || !candidates_->listsTokens()) return title;
    const auto& row = bench_.selection().row;
    const bool isElsewhere = isAtSource() || (row && *row != snapshot.next->row);
    return isElsewhere ? tr("%1, after the last token").arg(title) : title;
}

QString PresentStrip::answers(const Snapshot& snapshot) const {
    if (snapshot.hasEnded) return tr("The text has ended.");
    QStringList parts;
    if (snapshot.answer) { // of a picture
        const auto rows = likelyAnswers(*snapshot.model, answerProbabilities(snapshot), *snapshot.model, {});
        for (size_t row = 0; row < std::min<size_t>(rows.size(), kShownAnswers); ++row)
            parts << tr("%1 %2").arg(rows[row].name,
                                     formatSaid(rows[row].first.value_or(0), snapshot.model->activation));
    } else {
        candidates_->rank(snapshot, bench_.sampling());
        for (int row = 0; row < std::min(candidates_->rowCount(), kShownAnswers); ++row)
            parts << (candidates_->listsTokens() ? tr("“%1” %2") : tr("%1 %2"))
                         .arg(candidates_->text(row),
                              candidates_->index(row, CandidateModel::ProbabilityColumn).data().toString());
    }
    return parts.isEmpty() ? QString() : tr("%1: %2").arg(titleOf(snapshot), parts.join(QStringLiteral(" · ")));
}

} // namespace attn
