#include "app/lab/panels/compare_panel.h"

#include "app/figures/difference.h"
#include "app/figures/token_label.h"
#include "app/lab/bridge/session_bridge.h"
#include "app/lab/bridge/token_text.h"
#include "app/lab/common/panel_theme.h"
#include "app/lab/panels/front_watch.h"
#include "app/lab/panels/shown_tile.h"
#include "app/lab/widgets/choice_keys.h"
#include "app/lab/widgets/hint_label.h"
#include "app/lab/widgets/matrix_view.h"
#include "engine/analysis/token_alignment.h"
#include "engine/inference/pattern_divergence.h"
#include "engine/inference/sampling.h"

#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSplitter>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace attn {
namespace {

constexpr const char* kWithKeys[] = {"nothing", "unedited", "text", "model"};
constexpr int kMostTokens = 1024; ///< longest pattern that is shown cell by cell
constexpr int kShownTokens = 10;
constexpr int kMostExact = 256; ///< most tokens of a thumbnail with one pixel per token

/// Numbers the token texts of both sequences. Equal texts get equal numbers, also where the models' token ids differ.
std::pair<std::vector<int>, std::vector<int>> contents(const Sequence& a, const Sequence& b) {
    std::map<QString, int> numbers;
    const auto numbered = [&](const Sequence& sequence) {
        std::vector<int> result;
        for (const QString& label : tokenLabels(&sequence))
            result.push_back(numbers.emplace(label, static_cast<int>(numbers.size())).first->second);
        return result;
    };
    std::vector<int> first = numbered(a);
    return {std::move(first), numbered(b)};
}

} // namespace

ComparePanel::ComparePanel(Workbench& bench, QWidget* parent)
    : Panel(parent), bench_(bench), second_(std::make_shared<Snapshot>()), with_(new QComboBox), text_(new QLineEdit),
      path_(new QLineEdit), compare_(new QPushButton(tr("Compare"))), message_(makeHintLabel("compareMessage")),
      maps_(new QSplitter), a_(new MatrixView), b_(new MatrixView), difference_(new MatrixView),
      heads_(new QTreeWidget), next_(new QTreeWidget) {
    const auto name = [](QWidget* widget, const char* id, const QString& title, const QString& help = {}) {
        widget->setObjectName(QString::fromLatin1(id));
        widget->setAccessibleName(title);
        widget->setToolTip(help.isEmpty() ? title : help);
    };
    name(with_, "compareWith", tr("Compare with"));
    with_->addItems({tr("No comparison"), tr("Same model without changes"), tr("Same model on another text"),
                     tr("Another model or checkpoint")});
    setChoiceKeys(*with_, kWithKeys);
    name(text_, "compareText", tr("Text of run B"));
    text_->setPlaceholderText(tr("Type another text; tokens that match the prompt are compared"));
    name(path_, "comparePath", tr("Model of run B: a folder, a file or a built-in name"));
    path_->setPlaceholderText(tr("folder, file, or builtin:stories"));
    name(compare_, "compareRun", tr("Compare now"));
    name(a_, "compareA", tr("A: pattern of the current run"));
    name(b_, "compareB", tr("B: pattern of the other run"));
    name(difference_, "compareDifference", tr("A − B"),
         tr("Attention weights of A minus those of B; empty where a token has no match in B"));
    name(heads_, "compareHeads", tr("Difference between A and B for each head"),
         tr("Jensen-Shannon divergence of the rows, in bits from 0 to 1, over matched tokens. Click a head to show "
            "it."));
    heads_->setHeaderLabels({tr("Head"), tr("Divergence")});
    name(next_, "compareNext", tr("Next tokens of A and B"), tr("Probabilities at temperature 1"));
    next_->setHeaderLabels({tr("Next token"), tr("A"), tr("B"), tr("A − B")});
    for (QTreeWidget* table : {heads_, next_}) {
        table->setRootIsDecorated(false);
        table->setUniformRowHeights(true);
        table->header()->setStretchLastSection(false);
        table->header()->setSectionResizeMode(0, QHeaderView::Stretch);
        for (int column = 1; column < table->columnCount(); ++column)
            table->header()->setSectionResizeMode(column, QHeaderView::ResizeToContents);
        table->setMinimumHeight(fontMetrics().height() * 6);
    }
    maps_->setChildrenCollapsible(false);
    for (MatrixView* view : {a_, b_, difference_}) {
        maps_->addWidget(view);
        connect(view, &MatrixView::pointedAt, this, &ComparePanel::link);
    }
    auto* top = new QHBoxLayout;
    top->addWidget(with_);
    top->addWidget(text_, 1);
    top->addWidget(path_, 1);
    top->addWidget(compare_);
    auto* tables = new QHBoxLayout;
    tables->addWidget(heads_, 1);
    tables->addWidget(next_, 2);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
    column->addLayout(top);
    column->addWidget(message_);
    column->addWidget(maps_, 3);
    column->addLayout(tables, 2);

    connect(with_, &QComboBox::currentIndexChanged, this, &ComparePanel::choose);
    connect(compare_, &QPushButton::clicked, this, [this] {
        followed_ = 0;
        follow();
    });
    for (QLineEdit* line : {text_, path_}) connect(line, &QLineEdit::returnPressed, compare_, &QPushButton::click);
    connect(heads_, &QTreeWidget::itemClicked, this, [this](const QTreeWidgetItem* item) {
        if (!first_ || !first_->model) return;
        const int at = item->data(0, Qt::UserRole).toInt();
        bench_.selectHead(at / first_->model->heads, at % first_->model->heads);
    });
    connect(&bench_, &Workbench::headSelected, this, [this] {
        postView();
        showMaps();
    });
    const auto setTheme = [this](ThemeId theme) {
        for (MatrixView* view : {a_, b_, difference_}) view->setTheme(figureTheme(theme));
    };
    connect(&bench_, &Workbench::themeChanged, this, setTheme);
    setTheme(bench_.theme());
    front_ = new FrontWatch(this, [this](bool) { wantPatterns(); });
    choose();
}

ComparePanel::~ComparePanel() = default;

bool ComparePanel::waitIdle(double seconds) { return !bridge_ || bridge_->waitIdle(seconds); }

void ComparePanel::wantPatterns() {
    const bool isWanted = front_->isInFront() && with_->currentIndex() != Nothing;
    bench_.want(this, isWanted ? WantedViews::patterns() : WantedViews());
}

void ComparePanel::choose() {
    wantPatterns();
    const int with = with_->currentIndex();
    text_->setVisible(with == OtherText);
    path_->setVisible(with == OtherModel);
    compare_->setVisible(with == OtherText || with == OtherModel);
    if (with == Nothing) {
        bridge_.reset();
        openPath_.clear();
        second_ = std::make_shared<Snapshot>();
    }
    followed_ = 0;
    follow();
    showMaps();
    showHeads();
    showNext();
}

void ComparePanel::follow() {
    const int with = with_->currentIndex();
    const bool isReady = first_ && first_->model && first_->sequence && !first_->sequence->tokens.empty() &&
                         first_->status.activity == Activity::Idle;
    if (with == Nothing || !isReady || followed_ == first_->sequenceVersion) return;
    if ((with == OtherText && text_->text().isEmpty()) || (with == OtherModel && path_->text().isEmpty())) return;
    followed_ = first_->sequenceVersion;
    if (!bridge_) {
        bridge_ = std::make_unique<SessionBridge>(bench_.device());
        posted_.reset();
        connect(bridge_.get(), &SessionBridge::snapshotChanged, this,
                [this](const std::shared_ptr<const Snapshot>& snapshot) {
                    second_ = snapshot;
                    align();
                    showMaps();
                    showHeads();
                    showNext();
                });
        connect(bridge_.get(), &SessionBridge::failed, this, [this](const Failure& failure) {
            message_->setText(QString::fromStdString(failure.sentence()));
            openPath_.clear(); // the model may not be open
        });
    }
    std::vector<int> tokens;
    for (const TokenInfo& token : first_->sequence->tokens) tokens.push_back(token.id);
    std::string text = with == OtherText ? text_->text().toStdString() : std::string();
    // Another model may split the text into other tokens.
    if (with == OtherModel) text = first_->model->hasTokenizer ? first_->sequence->text : std::string();
    const std::string path = with == OtherModel ? path_->text().toStdString() : first_->path();
    if (!text.empty()) tokens.clear();
    if (openPath_ != path) {
        openPath_ = path;
        bridge_->post(OpenModelCommand{.path = path, .prompt = text, .promptTokens = tokens});
    } else {
        bridge_->post(SetPromptCommand{.text = text, .tokens = tokens});
    }
    postView();
    message_->setText(tr("Running B…"));
}

/// Asks B for patterns with as many pixels as A's, without the first token where A leaves it out.
void ComparePanel::postView() {
    if (!bridge_) return;
    const PatternGrid* grid = first_ ? first_->grid.get() : nullptr;
    const PatternTile* tile = grid && !grid->tiles.empty() ? &grid->tiles.front() : nullptr;
    const PatternRequest view{.site = bench_.selection().site,
                              .head = bench_.selection().head,
                              .thumbnailSize = !tile || tile->isExact() ? kMostExact : std::max(8, tile->rows),
                              .detailSize = kMostTokens,
                              .hidesFirst = tile && tile->leavesOutFirst};
    if (posted_ == view) return;
    posted_ = view;
    bridge_->post(view);
}

void ComparePanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const auto before = std::exchange(first_, snapshot);
    if (with_->currentIndex() == Nothing) return;
    follow();
    postView();
    align();
    if (!before || before->detail != snapshot->detail || before->grid != snapshot->grid) showMaps();
    if (!before || before->grid != snapshot->grid) showHeads();
    if (!before || before->next != snapshot->next) showNext();
}

void ComparePanel::align() {
    const auto sequences = first_ ? std::pair(first_->sequence, second_->sequence) : decltype(aligned_){};
    if (sequences == std::exchange(aligned_, sequences)) return;
    partners_.clear();
    if (!first_ || !first_->sequence || !second_->sequence) return;
    const auto [a, b] = contents(*first_->sequence, *second_->sequence);
    partners_ = alignTokens(a, b);
}

QString ComparePanel::alignedText() const {
    if (!first_ || !first_->sequence || !second_->sequence) return {};
    const size_t countA = partners_.size(), countB = second_->sequence->tokens.size();
    const auto count = static_cast<size_t>(std::ranges::count_if(partners_, [](int partner) { return partner >= 0; }));
    if (count == countA && count == countB) return {};
    return tr(". %1 tokens matched (A %2, B %3).").arg(count).arg(countA).arg(countB);
}

std::pair<std::shared_ptr<const PatternTile>, std::shared_ptr<const PatternTile>> ComparePanel::tiles() const {
    if (with_->currentIndex() == Nothing || !first_) return {};
    const auto [site, head] = std::pair(bench_.selection().site, bench_.selection().head);
    auto a = shownTile(*first_, site, head, true), b = shownTile(*second_, site, head, true);
    // Details of long texts differ in size; thumbnails do not.
    const bool isFine = a && b && (a->rows == b->rows || (a->isExact() && b->isExact()));
    if (a && b && !isFine) {
        a = shownTile(nullptr, first_->grid, 0, site, head, true);
        b = shownTile(nullptr, second_->grid, 0, site, head, true);
    }
    return {std::move(a), std::move(b)};
}

void ComparePanel::showMaps() {
    const auto figureOf = [&](const Snapshot* snapshot, const std::shared_ptr<const PatternTile>& tile,
                              const QString& title) {
        MatrixFigure figure;
        figure.title = title;
        figure.rowTitle = tr("query");
        figure.columnTitle = tr("key");
        figure.kind = MatrixFigure::Kind::Weights;
        if (!tile || tile->rows == 0) return figure;
        figure.setMatrix(tile->rows, tile->columns, tile->values);
        if (!tile->isExact()) {
            figure.note = tile->leavesOutFirst ? tr("each pixel covers several tokens; the first token is left out")
                                               : tr("each pixel covers several tokens");
            return figure;
        }
        figure.rowLabels = figure.columnLabels = tokenLabels(snapshot->sequence.get());
        figure.rowLabels.resize(static_cast<size_t>(tile->rows));
        figure.columnLabels.resize(static_cast<size_t>(tile->columns));
        return figure;
    };
    const bool isOn = with_->currentIndex() != Nothing;
    const auto [one, other] = tiles();
    MatrixFigure a = figureOf(first_.get(), one,
                              tr("A: layer %1, head %2").arg(bench_.selection().site).arg(bench_.selection().head)),
                 b = figureOf(second_.get(), other, tr("B"));
    MatrixFigure difference;
    difference.title = tr("A − B");
    difference.rowTitle = tr("query");
    difference.columnTitle = tr("key");
    const bool isByToken = !a.rowLabels.empty() && !b.rowLabels.empty() &&
                           partners_.size() == static_cast<size_t>(a.rows()) &&
                           second_->sequence->tokens.size() == static_cast<size_t>(b.rows());
    const bool isAlike = one && other && one->leavesOutFirst == other->leavesOutFirst;
    if (!a.isEmpty() && isAlike && (isByToken || (a.rows() == b.rows() && a.columns() == b.columns()))) {
        std::vector<float> values;
        for (int row = 0; row < a.rows(); ++row)
            for (int column = 0; column < a.columns(); ++column) {
                const MatrixCell cell{row, column};
                const auto partner = isByToken ? partnerOf(cell) : cell;
                values.push_back(partner ? a.valueAt(cell) - b.valueAt(*partner)
                                         : std::numeric_limits<float>::quiet_NaN());
            }
        difference.setMatrix(a.rows(), a.columns(), std::move(values));
        difference.rowLabels = a.rowLabels;
        difference.columnLabels = a.columnLabels;
    } else if (!a.isEmpty() && !b.isEmpty()) {
        difference.note = tr("above %1 tokens, both texts need the same length").arg(kMostTokens);
    }
    maps_->setVisible(isOn);
    a_->setFigure(std::move(a));
    b_->setFigure(std::move(b));
    difference_->setFigure(std::move(difference));
}

void ComparePanel::showHeads() {
    heads_->clear();
    const bool isOn = with_->currentIndex() != Nothing;
    heads_->setVisible(isOn);
    next_->setVisible(isOn);
    if (!isOn) return message_->setText(tr("Choose a run to compare with the current run."));
    const PatternGrid *a = first_ ? first_->grid.get() : nullptr, *b = second_->grid.get();
    if (!a || !b || second_->status.activity != Activity::Idle) return;
    const bool hasSameHeads = a->sites == b->sites && a->heads == b->heads && !a->tiles.empty() && !b->tiles.empty();
    std::vector<int> partners;
    if (hasSameHeads) {
        const PatternTile &one = a->tiles.front(), &other = b->tiles.front();
        if (one.isExact() && other.isExact() && static_cast<size_t>(one.rows) == partners_.size() &&
            static_cast<size_t>(other.rows) == second_->sequence->tokens.size()) {
            partners = partners_;
        } else if (one.rows == other.rows) { // of pixels
            partners.resize(static_cast<size_t>(one.rows));
            std::iota(partners.begin(), partners.end(), 0);
        }
    }
    message_->setText(partners.empty() ? tr("To compare heads, both models need the same number of layers and heads "
                                            "and, for long texts, the same number of tokens.")
                                       : tr("A: %1 · B: %2%3")
                                             .arg(QString::fromStdString(first_->model->name),
                                                  QString::fromStdString(second_->model->name), alignedText()));
    if (partners.empty()) return;
    std::vector<std::pair<double, int>> rows;
    for (size_t at = 0; at < a->tiles.size(); ++at)
        rows.emplace_back(patternDivergence(a->tiles[at], b->tiles[at], partners), static_cast<int>(at));
    std::ranges::stable_sort(rows, std::greater(), &std::pair<double, int>::first);
    for (const auto& [value, at] : rows) {
        auto* item = new QTreeWidgetItem(
            heads_, {tr("layer %1, head %2").arg(at / a->heads).arg(at % a->heads), QString::number(value, 'f', 4)});
        item->setData(0, Qt::UserRole, at);
        item->setTextAlignment(1, Qt::AlignRight | Qt::AlignVCenter);
    }
}

void ComparePanel::showNext() {
    next_->clear();
    if (with_->currentIndex() == Nothing || !first_ || !first_->next || !second_->next ||
        first_->next->logits.empty() || second_->next->logits.empty())
        return;
    const auto shares = [](const Snapshot& snapshot) { // by text, because two models may give a text different ids
        std::map<QString, double> byText;
        std::vector<QString> order;
        for (const Candidate& each : rankCandidates(snapshot.next->logits, {.greedy = false}, {}, 200)) {
            const QString label = visibleText(tokenText(snapshot, each.token));
            if (byText.emplace(label, static_cast<double>(each.probability)).second) order.push_back(label);
        }
        return std::pair(byText, order);
    };
    const auto [a, orderA] = shares(*first_);
    const auto [b, orderB] = shares(*second_);
    std::vector<QString> shown;
    for (size_t i = 0; i < std::max(orderA.size(), orderB.size()) && static_cast<int>(shown.size()) < kShownTokens; ++i)
        for (const auto* order : {&orderA, &orderB})
            if (i < order->size() && std::ranges::find(shown, (*order)[i]) == shown.end()) shown.push_back((*order)[i]);
    const auto of = [](const std::map<QString, double>& from, const QString& label) {
        const auto found = from.find(label);
        return found == from.end() ? 0.0 : found->second * 100;
    };
    for (const QString& label : shown) {
        const double own = of(a, label), other = of(b, label);
        auto* item = new QTreeWidgetItem(next_, {label, QStringLiteral("%1 %").arg(own, 0, 'f', 1),
                                                 QStringLiteral("%1 %").arg(other, 0, 'f', 1),
                                                 QStringLiteral("%1 %").arg(formatSigned(own - other, 1))});
        for (int column : {1, 2, 3}) item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    }
}

std::optional<MatrixCell> ComparePanel::partnerOf(const MatrixCell& cell) const {
    const auto of = [this](int token) { return partners_[static_cast<size_t>(token)]; };
    if (std::max(cell.row, cell.column) >= std::ssize(partners_) || of(cell.row) < 0 || of(cell.column) < 0) return {};
    return MatrixCell{of(cell.row), of(cell.column)};
}

void ComparePanel::link(const std::optional<MatrixCell>& cell) {
    const bool isByToken = !a_->figure().rowLabels.empty() && !b_->figure().rowLabels.empty();
    std::optional<MatrixCell> inA = cell, inB = cell;
    if (cell && isByToken && sender() == b_) {
        const auto of = [this](int token) {
            const auto found = std::ranges::find(partners_, token);
            return found == partners_.end() ? -1 : static_cast<int>(found - partners_.begin());
        };
        inA = MatrixCell{of(cell->row), of(cell->column)};
        if (std::min(inA->row, inA->column) < 0) inA.reset();
    } else if (cell && isByToken) {
        inB = partnerOf(*cell);
    }
    for (MatrixView* view : {a_, b_, difference_})
        if (view != sender()) view->setLinked(view == b_ ? inB : inA);
}

QJsonObject ComparePanel::saveView() const {
    return {{"with", savedChoice(*with_)}, {"text", text_->text()}, {"path", path_->text()}};
}

void ComparePanel::restoreView(const QJsonObject& view) {
    text_->setText(view.value("text").toString());
    path_->setText(view.value("path").toString());
    restoreChoice(*with_, view.value("with"), kWithKeys);
}

ExportNumbers ComparePanel::numbers() const {
    QString text = "head,divergence\n";
    for (int row = 0; row < heads_->topLevelItemCount(); ++row)
        text += '"' + heads_->topLevelItem(row)->text(0) + "\"," + heads_->topLevelItem(row)->text(1) + '\n';
    return {.csv = [text] { return text; }, .arrays = numbersOf(difference_->figure()).arrays};
}

} // namespace attn
