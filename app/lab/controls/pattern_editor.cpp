#include "app/lab/controls/pattern_editor.h"

#include "app/figures/axis_display.h"
#include "app/figures/scale.h"
#include "app/figures/token_label.h"
#include "app/lab/controls/picture_views.h"
#include "app/lab/widgets/matrix_view.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/follow_theme.h"
#include "app/lab/workbench/input_kind.h"
#include "app/lab/workbench/picture_bench.h"
#include "app/lab/workbench/snapshot_views.h"

#include <QLabel>
#include <QMouseEvent>
#include <QPushButton>
#include <QSlider>

#include <algorithm>
#include <numeric>
#include <set>

namespace attn {
namespace {

constexpr int kMostPainted = 64; ///< most tokens of a pattern that can be painted
constexpr int kWeightSteps = 100;

bool isOfHead(const PatternChange& edit, const Selection& head) {
    return edit.site == head.site && edit.head == head.head;
}

} // namespace

PatternEditor::PatternEditor(Workbench& bench)
    : bench_(bench), hint_(makeHintLabel("interventionPatternHint")),
      matrix_(named(new MatrixView, "interventionPattern", tr("Pattern of the head, for painting"),
                    tr("Press and drag to set attention weights. The other cells of the row share the rest. Press "
                       "Return to paint the framed cell."))),
      picture_(new PictureView("interventionPicture", true, bench)), brush_(new QWidget),
      weight_(named(new QSlider(Qt::Horizontal), "interventionBrush", tr("Attention weight to paint"))) {
    matrix_->installEventFilter(this);
    weight_->setRange(0, kWeightSteps);
    weight_->setValue(kWeightSteps);
    auto* amount = identified(plainLabel(), "interventionBrushAmount");
    const auto showAmount = [this, amount] {
        amount->setText(QString::number(static_cast<double>(weight_->value()) / kWeightSteps, 'f', 2));
    };
    connect(weight_, &QSlider::valueChanged, amount, showAmount);
    showAmount();
    makeRow(brush_, 0, {labelFor(weight_, tr("Weight to paint")), {weight_, 1}, amount});
    makeButtons();
    makeColumn(this, 0, {hint_, {matrix_, 1}, {picture_, 1}, brush_, makeRow({paint_, uniform_, pin_, own_})});

    connect(matrix_, &MatrixView::activated, this, [this] {
        if (const auto& cell = matrix_->figure().hovered) paintCell(*cell);
    });
    connect(&bench_.pictures(), &PictureBench::crossed, this, &PatternEditor::paintPatch);
    connect(&bench_.pictures(), &PictureBench::brushChanged, this,
            [this] { paint_->setChecked(bench_.pictures().brush() == PictureBench::Brush::Paint); });
    connect(&bench_, &Workbench::selectionChanged, this, &PatternEditor::show);
    followTheme(bench_, matrix_);
}

void PatternEditor::makeButtons() {
    paint_ = named(new QPushButton(tr("Paint")), "interventionPaint", tr("Paint where the head looks"),
                   tr("Drag over patches in the picture: the selected patch then attends only to them (if no patch is "
                      "selected: CLS, or all patches). Drag over them again to remove them"));
    paint_->setCheckable(true);
    uniform_ = named(new QPushButton(tr("Make uniform")), "interventionUniform",
                     tr("Spread every query's attention evenly over all keys that it sees"));
    pin_ = named(new QPushButton(tr("Pin to token")), "interventionPin",
                 tr("Make every query look only at this token: the one that is chosen in the form, or else the "
                    "selected one, or else the first"));
    own_ = named(new QPushButton(tr("Restore pattern")), "interventionOwn", tr("Restore the head's original pattern"));
    connect(paint_, &QPushButton::toggled, this, [this](bool isOn) {
        using Brush = PictureBench::Brush;
        if (isOn || bench_.pictures().brush() == Brush::Paint)
            bench_.pictures().setBrush(isOn ? Brush::Paint : Brush::None);
    });
    connect(uniform_, &QPushButton::clicked, this, [this] {
        const Selection& head = bench_.selection();
        apply({.site = head.site, .head = head.head, .kind = PatternChange::Kind::Uniform},
              tr("making a pattern uniform"));
    });
    connect(pin_, &QPushButton::clicked, this, &PatternEditor::pin);
    connect(own_, &QPushButton::clicked, this, [this] {
        apply({.site = bench_.selection().site, .head = bench_.selection().head}, tr("restoring a pattern"));
    });
}

PatternChange PatternEditor::edit() const {
    for (const PatternChange& each : bench_.changes().patterns)
        if (isOfHead(each, bench_.selection())) return each;
    return {.site = bench_.selection().site, .head = bench_.selection().head};
}

void PatternEditor::apply(const PatternChange& edit, const QString& text) {
    Changes after = bench_.changes();
    std::erase_if(after.patterns, [&](const PatternChange& each) { return isOfHead(each, bench_.selection()); });
    if (edit.kind != PatternChange::Kind::Rows || !edit.rows.empty()) after.patterns.push_back(edit);
    bench_.change(std::move(after), text, QStringLiteral("pattern %1.%2").arg(edit.site).arg(edit.head));
}

void PatternEditor::pin() {
    if (!bench_.hasModel()) return;
    const Selection& selection = bench_.selection();
    apply({.site = selection.site,
           .head = selection.head,
           .kind = PatternChange::Kind::Pin,
           .key = isOfTwoTexts() ? pinnedRow() : rowAtSite(*bench_.snapshot(), pinnedRow(), selection.site)},
          tr("pinning a pattern"));
}

bool PatternEditor::isOfTwoTexts() const {
    return bench_.hasModel() && bench_.snapshot()->model->structure.isCross(bench_.selection().site);
}

int PatternEditor::pinnedRow() const {
    // The form and the selected row name tokens that look; a key of another text is chosen by a cell.
    if (isOfTwoTexts()) return bench_.selection().cell ? bench_.selection().cell->key : 0;
    const auto selected = bench_.selection().row;
    return row_.value_or(selected ? rowOfSelection(*bench_.snapshot(), *selected) : 0);
}

void PatternEditor::namePin() {
    const int row = bench_.hasModel() ? pinnedRow() : 0;
    const std::vector<QString> names =
        bench_.hasModel()
            ? inputAxis(*bench_.snapshot()->model, tokenLabels(bench_.snapshot()->keys(bench_.selection().site))).names
            : std::vector<QString>();
    const QString name =
        static_cast<size_t>(row) < names.size() ? withoutKeys(names[static_cast<size_t>(row)]) : QString();
    pin_->setText(name.isEmpty() ? tr("Pin to token") : tr("Pin to %1").arg(bench_.input().titleOf(row, name)));
}

void PatternEditor::setRow(std::optional<int> row) {
    row_ = row;
    namePin();
}

/// Sets the cell to the brush's weight and scales the other cells of the row to share the rest.
void PatternEditor::paintCell(const MatrixCell& cell) {
    const MatrixFigure& figure = matrix_->figure();
    if (figure.isEmpty() || cell.row >= figure.rows() || cell.column >= figure.columns()) return;
    bool looksAhead = isOfTwoTexts(); // or the model is not causal
    for (int query = 0; query < figure.rows(); ++query)
        for (int key = query + 1; key < figure.columns(); ++key) looksAhead |= figure.valueAt({query, key}) > 0;
    const auto rowOf = [&](int query) {
        std::vector<float> row;
        for (int key = 0; key < (looksAhead ? figure.columns() : query + 1); ++key) {
            const float value = figure.valueAt({query, key});
            row.push_back(std::isnan(value) ? 0 : value); // a model that looks ahead may give no weight at all
        }
        return row;
    };
    std::vector<float> row = rowOf(cell.row);
    const auto painted = static_cast<size_t>(cell.column);
    if (painted >= row.size()) return;
    if (row.size() == 1) return; // its only key has all of the weight
    const float weight = static_cast<float>(weight_->value()) / kWeightSteps;
    row[painted] = 0;
    const float rest = std::accumulate(row.begin(), row.end(), 0.0f);
    for (float& each : row)
        each = rest > 0 ? each * (1 - weight) / rest : (1 - weight) / static_cast<float>(row.size() - 1);
    row[painted] = weight;
    PatternChange after = edit();
    if (after.kind != PatternChange::Kind::Rows) // the pattern on screen becomes the rows
        for (int query = 0; query < figure.rows(); ++query) after.rows[query] = rowOf(query);
    after.kind = PatternChange::Kind::Rows;
    after.rows[cell.row] = std::move(row);
    apply(after, tr("painting a pattern"));
}

std::vector<int> PatternEditor::queries() const {
    const Snapshot& snapshot = *bench_.snapshot();
    const int site = bench_.selection().site;
    if (const auto patch = bench_.selection().row) return {rowAtSite(snapshot, rowOfSelection(snapshot, *patch), site)};
    if (!snapshot.model->prefix.empty()) return {0};
    // The classifier reads the mean of the patches.
    std::vector<int> all(static_cast<size_t>(rowsAtSite(snapshot, site)));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

/// Adds a patch to the painted keys of the queries, or removes it. The painted keys share the attention equally.
/// @param isFirst of a drag: this patch decides whether the whole drag adds or removes
void PatternEditor::paintPatch(int patch, bool isFirst) {
    if (!bench_.reads(AxisKind::Patches) || bench_.pictures().brush() != PictureBench::Brush::Paint) return;
    const Snapshot& snapshot = *bench_.snapshot();
    const int site = bench_.selection().site;
    PatternChange after = edit();
    if (after.kind != PatternChange::Kind::Rows) after = {.site = after.site, .head = after.head};
    const std::vector<int> rows = queries();
    const auto key = static_cast<size_t>(rowAtSite(snapshot, rowOfSelection(snapshot, patch), site));
    std::set<size_t> painted;
    if (const auto row = after.rows.find(rows.front()); row != after.rows.end())
        for (size_t at = 0; at < row->second.size(); ++at)
            if (row->second[at] > 0) painted.insert(at);
    if (isFirst) paintsMore_ = !painted.contains(key);
    if (painted.contains(key) == paintsMore_) return;
    if (paintsMore_)
        painted.insert(key);
    else
        painted.erase(key);
    for (const int row : rows) {
        after.rows.erase(row);
        if (painted.empty()) continue;
        std::vector<float>& weights = after.rows[row];
        weights.assign(static_cast<size_t>(rowsAtSite(snapshot, site)), 0);
        for (const size_t at : painted) weights[at] = 1 / static_cast<float>(painted.size());
    }
    apply(after, tr("painting a pattern"));
}

bool PatternEditor::eventFilter(QObject* watched, QEvent* event) {
    const bool isPress = event->type() == QEvent::MouseButtonPress, isMove = event->type() == QEvent::MouseMove;
    if (watched != matrix_ || (!isPress && !isMove)) return QWidget::eventFilter(watched, event);
    const auto* mouse = static_cast<QMouseEvent*>(event);
    if (isPress ? mouse->button() == Qt::LeftButton : (mouse->buttons() & Qt::LeftButton) != 0)
        if (const auto cell = matrix_->figure().cellAt(mouse->position(), matrix_->figureLayout())) paintCell(*cell);
    return QWidget::eventFilter(watched, event);
}

void PatternEditor::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const auto before = std::exchange(snapshot_, snapshot);
    if (!before || before->model != snapshot->model || before->sequence != snapshot->sequence ||
        before->detail != snapshot->detail || before->grid != snapshot->grid)
        show();
}

void PatternEditor::show() {
    const InputKind& kind = bench_.input();
    using enum AxisKind;
    showPages({{Tokens, matrix_}, {Tokens, brush_}, {Patches, picture_}, {Patches, paint_}}, kind.axis());
    hint_->setText(kind.say(&InputWords::paint));
    for (QPushButton* each : {paint_, uniform_, pin_, own_}) each->setEnabled(bench_.hasModel());
    namePin();
    if (matrix_->isHidden()) return;
    const auto [site, head] = std::pair(bench_.selection().site, bench_.selection().head);
    MatrixFigure figure;
    figure.title = bench_.headLabel(site, head) + bench_.conditionOf(site, head);
    figure.rowTitle = tr("query");
    figure.columnTitle = tr("key");
    figure.kind = MatrixFigure::Kind::Weights;
    const auto tile = snapshot_ ? shownTile(*snapshot_, site, head) : nullptr;
    if (tile && tile->isExact() && std::max(tile->rows, tile->columns) <= kMostPainted) {
        figure.setMatrix(tile->rows, tile->columns, visibleWeights(*tile));
        figure.rowLabels = tokenLabels(snapshot_->queries(site));
        figure.columnLabels = tokenLabels(snapshot_->keys(site));
        figure.rowLabels.resize(static_cast<size_t>(tile->rows));
        figure.columnLabels.resize(static_cast<size_t>(tile->columns));
    } else {
        figure.note = tr("Patterns of up to %1 tokens can be painted.").arg(kMostPainted);
    }
    matrix_->setFigure(std::move(figure));
}

} // namespace attn
