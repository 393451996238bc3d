#include "app/lab/panels/text_panel.h"

#include "app/figures/drawing.h"
#include "app/figures/token_label.h"
#include "app/lab/bridge/token_text.h"
#include "app/lab/widgets/choice_keys.h"
#include "app/lab/widgets/flow_layout.h"
#include "app/lab/widgets/front_watch.h"
#include "app/lab/widgets/limited_editor.h"
#include "app/lab/widgets/plain_table.h"
#include "app/lab/widgets/token_strip.h"
#include "app/lab/widgets/whole_rows.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/follow_theme.h"
#include "app/lab/workbench/snapshot_views.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHeaderView>
#include <QPushButton>
#include <QSignalBlocker>
#include <QTreeWidget>

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {
namespace {

constexpr const char* kShadeKeys[] = {"loss", "entropy", "rank", "attention"};
constexpr int kMostCharacters = 200'000; ///< of a text to score; each token is drawn by itself
constexpr double kDarkestNats = 8;       ///< loss with the darkest shade

} // namespace

TextPanel::TextPanel(Workbench& bench, QWidget* parent)
    : Panel(bench, parent), text_(new LimitedEditor(kMostCharacters)), score_(new QPushButton(tr("Score"))),
      prompt_(new QPushButton(tr("Score prompt"))), shade_(new QComboBox), words_(new QCheckBox(tr("Whole words"))),
      summary_(makeTextLabel("textSummary")), legend_(makeHintLabel("textLegend")),
      reading_(makeHintLabel("textReading")), strip_(new TokenStrip), alternatives_(new QTreeWidget) {
    named(text_, "scoredText", tr("Text to score"));
    text_->setPlaceholderText(tr("Paste any text, even one longer than the context"));
    text_->setTabChangesFocus(true);
    text_->setFixedHeight(fontMetrics().height() * 4);
    named(score_, "textScore", tr("Score the text"),
          tr("Measure how well the model predicts each token. Press Stop to end it."));
    named(prompt_, "textPrompt", tr("Score the prompt and the text generated after it"));
    named(
        shade_, "textShade", tr("What the shading shows"),
        tr("Loss: how surprised the model is by the token. Entropy: how undecided it was before it. Rank: the token's "
           "place when all are sorted by probability."));
    summary_->setToolTip(
        tr("Perplexity: how many equally likely tokens the model is effectively choosing between, on average; 1 is a "
           "perfect prediction. Loss: how surprised it is by the right token; 0 is a perfect "
           "prediction. A nat is its unit: 0.7 nats is a choice between two equally likely tokens."));
    shade_->addItems({tr("Loss"), tr("Entropy"), tr("Rank"), tr("Attention of the head")});
    setChoiceKeys(*shade_, kShadeKeys);
    named(words_, "textWords", tr("Show whole words instead of tokens"),
          tr("Add up the loss and entropy of each word's tokens. Untick to see tokens."));
    named(strip_, "textTokens", tr("Shaded text"), tr("Click a token to see what the model predicted there"));
    named(alternatives_, "textAlternatives", tr("Predictions of the model"));
    titleColumns(*alternatives_,
                 {{tr("Prediction"), tr("A token that the model expected here; the most probable one comes first")},
                  {tr("Probability"), tr("How likely the model found this token")}});
    alternatives_->setRootIsDecorated(false);
    alternatives_->setUniformRowHeights(true);
    alternatives_->header()->setStretchLastSection(false);
    alternatives_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    new WholeRows(*alternatives_, 5);
    strip_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    auto* controls = new FlowLayout;
    controls->addWidget(score_);
    controls->addWidget(prompt_);
    controls->addWidget(shade_);
    controls->addWidget(words_);
    makeColumn(this, spacing::kGap, {text_, controls, summary_, {strip_, 1}, legend_, reading_, alternatives_});
    connect(text_, &LimitedEditor::refused, summary_, &QLabel::setText);
    connect(score_, &QPushButton::clicked, this, [this] {
        if (!text_->toPlainText().isEmpty()) return score();
        summary_->setText(
            tr("There is no text to score. Type or paste one into the field above, or press Score prompt."));
        text_->setFocus();
    });
    connect(prompt_, &QPushButton::clicked, this, [this] {
        text_->clear();
        score();
    });
    connect(shade_, &QComboBox::currentIndexChanged, this, [this] {
        wantPattern();
        shade();
    });
    connect(words_, &QCheckBox::toggled, this, &TextPanel::cut);
    connect(strip_, &TokenStrip::tokenClicked, this, &TextPanel::choose);
    connect(strip_, &TokenStrip::tokenHovered, this, [this](int piece) {
        bench_.hoverToken(piece >= 0 && isPresent() ? static_cast<int>(pieces_[static_cast<size_t>(piece)].first) : -1);
    });
    connect(&bench_, &Workbench::headSelected, this, &TextPanel::shade);
    connect(&bench_, &Workbench::shownRunChanged, this, [this](ShownRun run) {
        if (!snapshot_) return;
        adoptBefore();
        cut();
        // The original run has no scores yet.
        if (run == ShownRun::Difference && front_->isInFront() && scores_) score();
    });
    followTheme(bench_, strip_);
    front_ = new FrontWatch(this, [this](bool) {
        wantPattern();
        scoreIfNew();
    });
    cut();
}

void TextPanel::wantPattern() {
    const bool isWanted = front_->isInFront() && shade_->currentIndex() == HeadRow;
    bench_.want(this, isWanted ? WantedViews::patterns() : WantedViews());
}

/// Scores the prompt automatically while the text field is empty.
void TextPanel::scoreIfNew() {
    // A model of pictures has the panel show its other page, and this one keeps an old snapshot.
    if (!front_->isInFront() || !bench_.reads(AxisKind::Tokens) || !text_->toPlainText().isEmpty() || !snapshot_ ||
        !snapshot_->sequence)
        return;
    if (snapshot_->status.activity != Activity::Idle || asked_ == snapshot_->sequenceVersion ||
        snapshot_->sequence->tokens.size() < 2)
        return;
    asked_ = snapshot_->sequenceVersion;
    score();
}

void TextPanel::score() {
    if (!snapshot_ || !snapshot_->model) return;
    const QString text = text_->toPlainText();
    if (const QString why = text_->objectionTo(text.size()); !why.isEmpty()) return summary_->setText(why);
    auto analysis = std::make_shared<TokenScoresAnalysis>();
    analysis->text = text.toStdString();
    bench_.post(RunAnalysisCommand{std::move(analysis)});
}

bool TextPanel::isPresent() const {
    if (!scores_ || !snapshot_->sequence || snapshot_->sequence->tokens.size() != scores_->tokens.size()) return false;
    return std::ranges::equal(snapshot_->sequence->tokens, scores_->tokens, {}, &TokenInfo::id);
}

void TextPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const auto before = std::exchange(snapshot_, snapshot);
    const auto found = resultIn<TokenScores>(snapshot->analyses, TokenScoresAnalysis{}.key());
    const bool isNew = found != scores_;
    scores_ = found;
    if (adoptBefore() || isNew) {
        cut();
    } else if (before && shade_->currentIndex() == HeadRow &&
               (before->detail != snapshot->detail || before->grid != snapshot->grid ||
                before->originalViews != snapshot->originalViews)) {
        shade();
    }
    if (const QString problem = failureIn(*snapshot, TokenScoresAnalysis{}.key()); !problem.isEmpty())
        summary_->setText(problem);
    scoreIfNew();
}

bool TextPanel::adoptBefore() {
    auto before =
        std::static_pointer_cast<const TokenScores>(bench_.comparedAnalysis(*snapshot_, TokenScoresAnalysis{}.key()));
    if (before && (!scores_ || before->tokens != scores_->tokens)) before = nullptr;
    return std::exchange(before_, before) != before;
}

void TextPanel::cut() {
    pieces_.clear();
    chosen_ = -1;
    if (scores_ && snapshot_->model) {
        for (size_t token = 0; token < scores_->tokens.size(); ++token) {
            const QString text = tokenText(*snapshot_, scores_->tokens[token]);
            const bool continues = words_->isChecked() && !pieces_.empty() && token > 0 && !text.isEmpty() &&
                                   text.front().isLetterOrNumber() && !pieces_.back().label.isEmpty() &&
                                   pieces_.back().label.back().isLetterOrNumber();
            if (continues) {
                pieces_.back().label += visibleText(text);
                pieces_.back().end = token + 1;
            } else {
                pieces_.push_back({words_->isChecked() ? visibleText(text.trimmed().isEmpty() ? text : text.trimmed())
                                                       : visibleText(text),
                                   token, token + 1});
            }
        }
        QString summary = scores_->tokens.size() < 2 ? tr("A single token has nothing to be predicted from.")
                                                     : tr("Perplexity %1 · loss %2 nats per token over %3 tokens")
                                                           .arg(formatMeasured(scores_->perplexity(), 2))
                                                           .arg(formatMeasured(scores_->meanLoss(), 3))
                                                           .arg(scores_->tokens.size() - 1);
        if (before_ && scores_->tokens.size() > 1)
            summary += ' ' + tr("in the changed run; original %1 and %2. Red is an increase, blue a decrease.")
                                 .arg(formatMeasured(before_->perplexity(), 2))
                                 .arg(formatMeasured(before_->meanLoss(), 3));
        summary_->setText(summary);
    } else {
        summary_->setText(tr("Paste a text and press Score, or press Score prompt."));
    }
    std::vector<QString> labels;
    for (const Piece& piece : pieces_) labels.push_back(piece.label);
    strip_->setLabels(std::move(labels));
    choose(-1);
}

bool TextPanel::showsChange() const {
    if (shade_->currentIndex() != HeadRow) return before_ != nullptr;
    return snapshot_ && bench_.compared(*snapshot_) != nullptr;
}

double TextPanel::valueOf(const Piece& piece, const TokenScores& scores) const {
    const int by = shade_->currentIndex();
    double value = 0;
    for (size_t token = piece.first; token < piece.end; ++token) {
        if (by == Rank)
            value = std::max(value, static_cast<double>(scores.rank[token]));
        else
            value += static_cast<double>(by == Loss ? scores.loss[token] : scores.entropy[token]);
    }
    return by == Rank && scores.rank[piece.first] < 0 ? std::numeric_limits<double>::quiet_NaN() : value;
}

double TextPanel::weightOf(const Piece& piece, const PatternTile* tile) const {
    if (!isPresent() || !tile || !tile->isExact() || tile->rows != static_cast<int>(scores_->tokens.size()))
        return std::numeric_limits<double>::quiet_NaN();
    const int query = chosen_ >= 0 ? static_cast<int>(pieces_[static_cast<size_t>(chosen_)].end) - 1 : tile->rows - 1;
    double sum = 0;
    for (size_t key = piece.first; key < piece.end; ++key)
        sum += static_cast<double>(tile->at(query, static_cast<int>(key)));
    return sum;
}

double TextPanel::shareOf(const Piece& piece) const {
    const int by = shade_->currentIndex();
    if (by == HeadRow) {
        const double weight =
            weightOf(piece, shownTile(*snapshot_, bench_.selection().site, bench_.selection().head).get());
        const OriginalViews* compared = bench_.compared(*snapshot_);
        if (!compared) return weight;
        const auto count = static_cast<int>(scores_->tokens.size());
        const auto [site, head] = std::pair(bench_.selection().site, bench_.selection().head);
        return weight - weightOf(piece, shownTile(compared->detail, compared->grid, count, site, head).get());
    }
    const double vocabulary = std::max(2, snapshot_->model->vocabulary);
    const auto share = [&](const TokenScores& scores) {
        const double value = valueOf(piece, scores);
        return by == Rank   ? std::log1p(value) / std::log(vocabulary)
               : by == Loss ? value / kDarkestNats
                            : value / std::log(vocabulary);
    };
    return share(*scores_) - (before_ ? share(*before_) : 0);
}

void TextPanel::shade() {
    std::vector<float> shades;
    for (const Piece& piece : pieces_) {
        const double share = shareOf(piece);
        shades.push_back(std::isfinite(share) ? static_cast<float>(std::clamp(share, -1.0, 1.0)) : 0.0f);
    }
    strip_->setShades(std::move(shades), showsChange());
    legend_->setVisible(!pieces_.empty());
    legend_->setText(pieces_.empty() ? QString() : legend());
    read();
}

QString TextPanel::legend() const {
    if (showsChange()) return tr("Red: more than in the original run. Blue: less. No colour: the same.");
    const int vocabulary = snapshot_->model->vocabulary;
    switch (shade_->currentIndex()) {
    case Loss:
        return tr("No colour: a loss of 0. Full colour: a loss of %1 nats or more.").arg(kDarkestNats);
    case Entropy:
        return tr("No colour: an entropy of 0. Full colour: %1 nats, when every token is as likely as any other.")
            .arg(formatNumber(std::log(std::max(2, vocabulary)), 1));
    case Rank:
        return tr("No colour: the most probable token. Full colour: the least probable one of %1.").arg(vocabulary);
    default:
        return tr("No colour: an attention weight of 0. Full colour: 1.");
    }
}

void TextPanel::choose(int piece) {
    chosen_ = piece;
    strip_->setMarks(piece, -1);
    alternatives_->clear();
    alternatives_->setVisible(piece >= 0);
    shade();
    if (piece < 0 || !scores_) return;
    const size_t token = pieces_[static_cast<size_t>(piece)].first;
    if (scores_->rank[token] < 0) return;
    for (size_t choice = 0; choice < static_cast<size_t>(scores_->choices); ++choice) {
        const size_t at = token * static_cast<size_t>(scores_->choices) + choice;
        auto* item =
            new QTreeWidgetItem(alternatives_, {visibleText(tokenText(*snapshot_, scores_->ids[at])),
                                                formatPercent(static_cast<double>(scores_->probabilities[at]), 2)});
        item->setTextAlignment(1, Qt::AlignRight | Qt::AlignVCenter);
    }
}

void TextPanel::read() {
    if (pieces_.empty() || !scores_) return reading_->clear();
    if (shade_->currentIndex() == HeadRow) {
        if (!isPresent())
            return reading_->setText(tr("Attention is only available for the prompt. Press Score prompt."));
        const auto tile = shownTile(*snapshot_, bench_.selection().site, bench_.selection().head);
        if (!tile || !tile->isExact())
            return reading_->setText(
                tr("For a text this long, open this head in the Attention panel to see its weights."));
    }
    if (shade_->currentIndex() == HeadRow)
        return reading_->setText(
            tr("%1, query “%2”. Click a token to make it the query.")
                .arg(bench_.headLabel(bench_.selection().site, bench_.selection().head),
                     pieces_[chosen_ < 0 ? pieces_.size() - 1 : static_cast<size_t>(chosen_)].label));
    if (chosen_ < 0) return reading_->setText(tr("Click a token to see what the model predicted there."));
    const Piece& each = pieces_[static_cast<size_t>(chosen_)];
    const size_t token = each.first;
    if (scores_->rank[token] < 0) return reading_->setText(tr("The first token is not predicted from anything."));
    const auto describe = [&](const TokenScores& scores) {
        double loss = 0;
        for (size_t at = each.first; at < each.end; ++at) loss += static_cast<double>(scores.loss[at]);
        return tr("loss %1 nats, probability %2 %, rank %3 in the vocabulary, entropy %4 nats")
            .arg(formatMeasured(loss, 3))
            .arg(std::exp(-loss) * 100, 0, 'g', 3)
            .arg(scores.rank[token] + 1)
            .arg(formatMeasured(static_cast<double>(scores.entropy[token]), 2));
    };
    reading_->setText(tr("“%1”: %2").arg(each.label, describe(*scores_)) +
                      (before_ ? tr("; original: %1").arg(describe(*before_)) : QString()));
}

QJsonObject TextPanel::saveView() const {
    return {{"text", text_->toPlainText()}, {"shade", savedChoice(*shade_)}, {"words", words_->isChecked()}};
}

void TextPanel::restoreView(const QJsonObject& view) {
    text_->setPlainText(view.value("text").toString());
    restoreChoice(*shade_, view.value("shade"), kShadeKeys);
    words_->setChecked(view.value("words").toBool());
}

ExportNumbers TextPanel::numbers() const {
    if (!scores_ || !snapshot_->model) return {};
    const auto csv = [scores = scores_, model = snapshot_->model] {
        QString text = "token,text,loss,entropy,rank\n";
        for (size_t token = 0; token < scores->tokens.size(); ++token) {
            const auto id = static_cast<size_t>(scores->tokens[token]);
            QString label = id < model->tokenTexts.size() ? QString::fromStdString(model->tokenTexts[id]) : QString();
            text += QStringLiteral("%1,\"%2\",%3,%4,%5\n")
                        .arg(QString::number(id), label.replace('"', "\"\""),
                             QString::number(static_cast<double>(scores->loss[token])),
                             QString::number(static_cast<double>(scores->entropy[token])),
                             QString::number(scores->rank[token]));
        }
        return text;
    };
    const auto arrays = [scores = scores_]() -> std::vector<NumberArray> {
        const auto count = static_cast<int64_t>(scores->tokens.size());
        return {{"loss", {count}, scores->loss}, {"entropy", {count}, scores->entropy}};
    };
    return {.csv = csv, .arrays = arrays};
}

} // namespace attn
