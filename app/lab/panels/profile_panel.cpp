#include "app/lab/panels/profile_panel.h"

#include "app/figures/drawing.h"
#include "app/figures/token_label.h"
#include "app/lab/controls/picture_views.h"
#include "app/lab/widgets/front_watch.h"
#include "app/lab/widgets/lines_view.h"
#include "app/lab/widgets/plain_table.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/follow_theme.h"

#include <QHeaderView>
#include <QSplitter>
#include <QTreeWidget>

#include <algorithm>
#include <bit>

namespace attn {
namespace {

/// Distances of a bin, in tokens: "0", "1", "2–3", "4–7" ...
QString distanceText(int bin) {
    if (bin < 2) return QString::number(bin);
    return QStringLiteral("%1–%2").arg(int64_t{1} << (bin - 1)).arg((int64_t{1} << bin) - 1);
}

} // namespace

ProfilePanel::ProfilePanel(Workbench& bench, QWidget* parent)
    : Panel(bench, parent), title_(makeTextLabel("profileTitle")), split_(new QSplitter), received_(new LinesView),
      distances_(new LinesView), largest_(new QTreeWidget) {
    received_->setObjectName("profileReceived");
    received_->setAccessibleName(tr("Attention received by each key from all queries"));
    distances_->setObjectName("profileDistances");
    distances_->setAccessibleName(tr("Share of attention by distance"));
    named(largest_, "profileLargest", tr("Largest attention weights of the head"),
          tr("Click a row to see how its weight is computed. The first token is left out if it sees only itself: its "
             "weight is always 1."));
    titleColumns(*largest_, {{tr("Query"), tr("The token that looks: its place in the text and the token")},
                             {tr("Key"), tr("The token that it looks at")},
                             {tr("Weight"), tr("The attention weight of this query on this key, from 0 to 1")}});
    largest_->setRootIsDecorated(false);
    largest_->setUniformRowHeights(true);
    largest_->header()->setStretchLastSection(false);
    largest_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    largest_->header()->setSectionResizeMode(1, QHeaderView::Stretch);
    largest_->header()->setSectionResizeMode(2, QHeaderView::ResizeToContents);
    largest_->setMinimumHeight(fontMetrics().height() * 4);
    split_->setChildrenCollapsible(false);
    for (QWidget* part : std::initializer_list<QWidget*>{received_, distances_, largest_}) split_->addWidget(part);
    makeColumn(this, spacing::kGap, {title_, {split_, 1}});

    connect(received_, &LinesView::pointedAt, this, [this](std::optional<int> place) {
        bench_.hoverToken(place && shown_ && shown_->keysOfPlace == 1 ? *place : -1);
    });
    for (LinesView* view : {received_, distances_})
        connect(view, &LinesView::pointedAt, this, &ProfilePanel::showTitle);
    const auto open = [this](QTreeWidgetItem* item) {
        const auto row = static_cast<size_t>(largest_->indexOfTopLevelItem(item));
        if (!shown_ || row >= shown_->largest.size()) return;
        const HeadProfile::Cell& cell = shown_->largest[row];
        bench_.select({.site = shown_->site, .head = shown_->head, .cell = Cell{cell.query, cell.key}});
        bench_.showPanel("cell");
    };
    connect(largest_, &QTreeWidget::itemClicked, this, open);
    connect(largest_, &QTreeWidget::itemActivated, this, open);
    connect(&bench_, &Workbench::shownRunChanged, this, &ProfilePanel::showIfNew);
    connect(&bench_, &Workbench::shownRunChanged, this, &ProfilePanel::showTitle);
    connect(&bench_, &Workbench::changesChanged, this, &ProfilePanel::showTitle);
    followTheme(bench_, received_, distances_);
    new FrontWatch(this, [this](bool isInFront) { bench_.want(this, {.profile = isInFront}); });
    showProfile();
}

void ProfilePanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    snapshot_ = snapshot;
    showIfNew();
}

void ProfilePanel::showIfNew() {
    if (!snapshot_) return;
    const OriginalViews* compared = bench_.compared(*snapshot_);
    std::shared_ptr<const HeadProfile> before = compared ? compared->profile : nullptr;
    const auto& now = snapshot_->profile; // for a while they may belong to different heads or rows
    if (before && (!now || now->site != before->site || now->head != before->head || now->exactRows < 1 ||
                   now->received.size() != before->received.size()))
        before = nullptr;
    if (shown_ == now && before_ == before && shownVersion_ == snapshot_->sequenceVersion) return;
    shown_ = now;
    before_ = before;
    shownVersion_ = snapshot_->sequenceVersion;
    showProfile();
}

void ProfilePanel::resizeEvent(QResizeEvent* event) {
    Panel::resizeEvent(event);
    split_->setOrientation(width() > height() ? Qt::Horizontal : Qt::Vertical);
}

QString ProfilePanel::tokenText(std::span<const TokenInfo> tokens, int token) {
    if (token < 0 || static_cast<size_t>(token) >= tokens.size()) return QString::number(token);
    return tr("%1 “%2”").arg(token).arg(tokenLabel(tokens[static_cast<size_t>(token)]));
}

void ProfilePanel::showProfile() {
    const bool isEmpty = !shown_ || shown_->received.empty() || shown_->exactRows == 0 || !snapshot_->sequence;
    largest_->clear();
    LinesFigure received, distances;
    if (!isEmpty) {
        received.title = tr("Attention received");
        received.note = shown_->keysOfPlace == 1
                            ? tr("sum of a key's attention weights over all queries")
                            : tr("sum over all queries; mean of %1 keys each").arg(shown_->keysOfPlace);
        received.placeTitle = shown_->keysOfPlace == 1 ? tr("key") : tr("groups of %1 keys").arg(shown_->keysOfPlace);
        received.isBars = true;
        received.lines.push_back({before_ ? tr("difference in attention received") : tr("attention received"),
                                  lessBefore(shown_->received, &HeadProfile::received)});
        const std::span<const TokenInfo> queries = snapshot_->queries(shown_->site),
                                         keys = snapshot_->keys(shown_->site);
        if (shown_->keysOfPlace == 1) received.placeNames = tokenLabels(keys);
        // Show bins up to the largest possible distance.
        const auto bins = static_cast<size_t>(std::bit_width(keys.size() - 1)) + 1;
        distances.title = tr("Attention by distance");
        distances.note = shown_->distances.empty() ? tr("queries and keys are of different texts, without a distance")
                                                   : tr("distance in tokens, in doubling bins; 0 is the token itself");
        distances.placeTitle = tr("distance");
        distances.isBars = true;
        std::vector<float> shares = lessBefore(shown_->distances, &HeadProfile::distances);
        shares.resize(std::min(bins, shares.size()));
        distances.lines.push_back(
            {before_ ? tr("difference in share of attention") : tr("share of attention"), std::move(shares)});
        if (before_) {
            received.title = tr("Difference in attention received");
            distances.title = tr("Difference in attention by distance");
        }
        for (int bin = 0; bin < distances.places(); ++bin) distances.placeNames.push_back(distanceText(bin));
        for (const HeadProfile::Cell& cell : shown_->largest)
            new QTreeWidgetItem(largest_, {tokenText(queries, cell.query), tokenText(keys, cell.key),
                                           formatMeasured(static_cast<double>(cell.weight), 4)});
    }
    received_->setFigure(std::move(received));
    distances_->setFigure(std::move(distances));
    showTitle();
}

std::vector<float> ProfilePanel::lessBefore(std::vector<float> values, std::vector<float> HeadProfile::*part) const {
    if (before_)
        for (size_t i = 0; i < values.size(); ++i) values[i] -= ((*before_).*part)[i];
    return values;
}

void ProfilePanel::showTitle() {
    if (!shown_ || !snapshot_->sequence)
        return title_->setText(tr("Type a prompt in the Generate panel to see where a head looks."));
    const QString head = bench_.headLabel(shown_->site, shown_->head) + bench_.conditionOf(shown_->site, shown_->head);
    if (shown_->received.empty()) return title_->setText(tr("%1 has no pattern.").arg(head));
    if (shown_->exactRows == 0) return title_->setText(tr("Computing the profile of %1…").arg(head));
    QString title = shown_->hasChangedPattern ? tr("%1, changed pattern").arg(head) : head;
    if (before_) title += tr(" (changed minus original; the table shows the changed run)");
    if (shown_->exactRows < 1) title += tr(", from %1 % of the queries").arg(static_cast<int>(shown_->exactRows * 100));
    for (const LinesView* view : {received_, distances_})
        if (const QString reading = view->reading(); !reading.isEmpty()) title += QStringLiteral("  ·  ") + reading;
    title_->setText(title);
}

ExportNumbers ProfilePanel::numbers() const {
    if (!shown_) return {};
    const auto array = [](const char* name, const std::vector<float>& values) {
        return NumberArray{name, {static_cast<int64_t>(values.size())}, values};
    };
    const std::vector<NumberArray> arrays{
        array(before_ ? "received_change" : "received", lessBefore(shown_->received, &HeadProfile::received)),
        array(before_ ? "distances_change" : "distances", lessBefore(shown_->distances, &HeadProfile::distances))};
    return {
        .csv = [received = received_->figure(),
                distances = distances_->figure()] { return received.csv() + QStringLiteral("\r\n") + distances.csv(); },
        .arrays = [arrays] { return arrays; }};
}

PictureProfile::PictureProfile(Workbench& bench, QWidget* parent)
    : Panel(bench, parent), heads_(new PictureHeads("profilePicture", PictureHeads::Kind::Distances, bench)) {
    makeColumn(this, spacing::kGap, {heads_});
}

QWidget* PictureProfile::figure() { return heads_; }

ExportNumbers PictureProfile::numbers() const {
    return heads_->figure() ? numbersOf(*heads_->figure()) : ExportNumbers{};
}

} // namespace attn
