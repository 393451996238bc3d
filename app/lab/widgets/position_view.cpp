#include "app/lab/widgets/position_view.h"

#include "app/figures/map_figure.h"
#include "app/figures/token_label.h"
#include "app/lab/widgets/engine_text.h"
#include "app/lab/widgets/formula_view.h"
#include "app/lab/widgets/lines_view.h"
#include "app/lab/widgets/matrix_view.h"
#include "app/lab/widgets/param_controls.h"
#include "app/lab/widgets/plot_grid.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/attention/part.h"

#include <QSignalBlocker>

#include <algorithm>
#include <array>
#include <limits>

namespace attn {
namespace {

constexpr std::array kLengths{
    Param{"trained", "Trained length",
          "Number of places that the model is assumed to have seen in training. Places beyond it are marked",
          Param::Kind::Integer, 2, 128, 1, 32},
    Param{"places", "Places", "Number of places and distances to show", Param::Kind::Integer, 4, 128, 1, 64}};
constexpr int64_t kWaves = 6; ///< features that are drawn as waves

LinesFigure byDistance(const PlaygroundMap& map, const QString& title, const QString& note, int trained) {
    LinesFigure figure;
    figure.title = title;
    figure.note = note;
    figure.placeTitle = PositionView::tr("distance");
    if (trained < map.columns) figure.beyond = trained;
    for (int64_t head = 0; head < map.heads; ++head) {
        const auto values = map.at(head);
        figure.lines.push_back(
            {.label = PositionView::tr("head %1").arg(head), .values = {values.begin(), values.end()}});
    }
    return figure;
}

/// Shows a figure. The tool tip is its note, which a small figure truncates.
template <class View, class Shown> void showIn(View* view, Shown figure) {
    view->setToolTip(figure.note);
    view->setFigure(std::move(figure));
}

} // namespace

PositionView::PositionView(QWidget* parent) : QWidget(parent) {
    lengths_ = identified(new ParamControls(kLengths), "positionLengths");
    for (const Param& param : kLengths) lengths_->setValue(param.id, param.initial);
    title_ = makeHintLabel("positionTitle");
    formula_ = identified(new FormulaView, "positionFormula");
    reading_ = identified(plainLabel(), "positionReading");
    reading_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    grid_ = new PlotGrid("positionPlots");
    encodings_ = matrix("positionEncodings");
    relative_ = matrix("positionRelative");
    tree_ = identified(new TreeView(this), "positionTree");
    waves_ = plot("positionWaves");
    rotation_ = identified(new FigureView<RotationFigure>(this), "positionRotation");
    added_ = plot("positionAdded");
    factor_ = plot("positionFactor");
    slopes_ = plot("positionSlopes");
    similarity_ = plot("positionSimilarity");
    for (QWidget* view : std::initializer_list<QWidget*>{encodings_, relative_, tree_, waves_, rotation_, added_,
                                                         factor_, slopes_, similarity_})
        view->hide();
    makeColumn(this, 0, {lengths_, title_, formula_, {grid_, 1}, reading_});
    connect(lengths_, &ParamControls::valueChanged, this, &PositionView::queryChanged);
}

LinesView* PositionView::plot(const char* name) {
    auto* view = identified(new LinesView(this), name);
    connect(view, &LinesView::pointedAt, this, [this, view] {
        lastUsed_ = view;
        reading_->setText(view->reading());
    });
    return view;
}

MatrixView* PositionView::matrix(const char* name) {
    auto* view = identified(new MatrixView(this), name);
    connect(view, &MatrixView::pointedAt, this, [this, view](const std::optional<MatrixCell>& cell) {
        lastUsed_ = view;
        reading_->setText(cell ? readingOf(view->figure(), *cell) : QString());
    });
    return view;
}

int PositionView::trained() const { return static_cast<int>(lengths_->value("trained")); }

PositionQuery PositionView::query(const AttentionSpec& spec, int64_t width, uint64_t seed) const {
    return {.spec = spec, .tokens = static_cast<int64_t>(lengths_->value("places")), .width = width, .seed = seed};
}

void PositionView::showEncodings(const PlaygroundMap& map) {
    MatrixFigure figure;
    figure.setMatrix(static_cast<int>(map.rows), static_cast<int>(map.columns), map.values);
    figure.title = tr("Encodings");
    figure.note = trained() < map.rows
                      ? tr("added to the token at each position; from %1 on, beyond the trained length").arg(trained())
                      : tr("added to the token at each position");
    figure.rowTitle = tr("position");
    figure.columnTitle = tr("feature");
    figure.rowLabels = labels_;
    if (std::ssize(labels_) > map.rows) figure.rowLabels.resize(static_cast<size_t>(map.rows));
    showIn(encodings_, std::move(figure));

    LinesFigure waves;
    waves.title = tr("Waves");
    waves.note = tr("how single features change from position to position");
    waves.placeTitle = tr("position");
    if (trained() < map.rows) waves.beyond = trained();
    const int64_t count = std::min(kWaves, map.columns);
    for (int64_t wave = 0; wave < count; ++wave) {
        const int64_t feature = wave * map.columns / count;
        LinesFigure::Line line{.label = tr("feature %1").arg(feature), .values = {}};
        for (int64_t place = 0; place < map.rows; ++place)
            line.values.push_back(map.values[static_cast<size_t>(place * map.columns + feature)]);
        waves.lines.push_back(std::move(line));
    }
    showIn(waves_, std::move(waves));
}

void PositionView::showTree(const DependencyTree& tree) {
    const auto count = static_cast<size_t>(tree.end());
    const auto named = std::min(labels_.size(), count);
    const std::vector<QString> words(labels_.begin(), labels_.begin() + static_cast<std::ptrdiff_t>(named));
    TreeFigure figure;
    figure.title = tr("Dependency tree");
    figure.note = labels_.empty() || labels_.size() == count
                      ? tr("an arrow leads from each word to those that depend on it; the root hangs from above")
                      : tr("the tree ends at token %1, and the text has %2 tokens: %3")
                            .arg(QString::number(count), QString::number(labels_.size()),
                                 labels_.size() > count ? tr("those behind the tree have no position")
                                                        : tr("words behind the text are not read"));
    figure.labels = words;
    figure.leading = static_cast<int>(tree.leading());
    std::vector<float> relative(count * count, std::numeric_limits<float>::quiet_NaN());
    for (int64_t i = 0; i < tree.end(); ++i) {
        figure.parents.push_back(static_cast<int>(tree.parentOf(i)));
        for (int64_t j = 0; j < tree.end() && tree.holds(i); ++j)
            if (tree.holds(j))
                relative[static_cast<size_t>(i) * count + static_cast<size_t>(j)] =
                    static_cast<float>(tree.relative(i, j));
    }
    tree_->setToolTip(figure.note);
    tree_->setFigure(std::move(figure));
    tree_->updateGeometry();

    MatrixFigure map;
    map.setMatrix(static_cast<int>(count), static_cast<int>(count), std::move(relative));
    map.title = tr("Relative positions");
    map.note = tr("on one path to the root the difference of the depths, elsewhere their sum, signed by the order");
    map.rowTitle = tr("query");
    map.columnTitle = tr("key");
    map.rowLabels = map.columnLabels = words;
    map.writesValues = true;
    showIn(relative_, std::move(map));
}

void PositionView::showPictures(const std::shared_ptr<const PlaygroundSnapshot>& snapshot) {
    if (snapshot->positionFailure) {
        title_->setText(shownText(snapshot->positionFailure->sentence()));
        formula_->hide();
        return grid_->setPlots({});
    }
    if (!snapshot->positions || snapshot->positions == shown_) return;
    shown_ = snapshot->positions;
    const PositionPictures& pictures = *shown_;
    const Part& part = pictures.query.spec.part(Slot::Position);
    showTitle();
    formula_->setText(fromEngine(part.formula));
    formula_->show();
    std::vector<QWidget*> shown;
    if (pictures.tree) {
        showTree(*pictures.tree);
        shown.insert(shown.end(), {tree_, relative_});
    }
    if (pictures.encodings) {
        showEncodings(*pictures.encodings);
        shown.insert(shown.end(), {encodings_, waves_});
    }
    if (!pictures.planes.empty()) {
        RotationFigure figure;
        figure.title = tr("Rotation");
        figure.note =
            pictures.encodings
                ? tr("pairs of features at positions 0, 1, 2 …, dark to bright: each step turns a pair by the same "
                     "angle; "
                     "hollow: beyond the trained length")
                : tr("a unit vector at positions 0, 1, 2 …, dark to bright; hollow: beyond the trained length");
        if (trained() < pictures.query.tokens) figure.beyond = trained();
        for (const auto& plane : pictures.planes)
            figure.planes.push_back(
                {.label = tr("features %1 and %2").arg(plane.first).arg(plane.second), .x = plane.x, .y = plane.y});
        showIn(rotation_, std::move(figure));
        shown.push_back(rotation_);
    }
    if (pictures.added) {
        showIn(added_, byDistance(*pictures.added, tr("Bias by distance"),
                                  tr("added to the score of a key at this distance"), trained()));
        shown.push_back(added_);
    }
    if (pictures.factor) {
        showIn(factor_, byDistance(*pictures.factor, tr("Factor by distance"),
                                   tr("multiplies the score of a key at this distance"), trained()));
        shown.push_back(factor_);
    }
    if (!pictures.slopes.empty()) {
        LinesFigure figure;
        figure.title = tr("Slopes");
        figure.note = tr("change of the bias from one distance to the next");
        figure.placeTitle = tr("head");
        figure.isBars = true;
        figure.lines = {{.label = tr("slope"), .values = pictures.slopes}};
        showIn(slopes_, std::move(figure));
        shown.push_back(slopes_);
    }
    if (pictures.tree) return grid_->setPlots(shown); // a tree has no distances between positions
    showIn(similarity_,
           byDistance(pictures.similarity, tr("Score of identical tokens"),
                      tr("score of the last token with an identical token, by their distance"), trained()));
    shown.push_back(similarity_);
    grid_->setPlots(shown);
}

void PositionView::setSide(const QString& side) {
    side_ = side;
    showTitle();
}

void PositionView::showTitle() {
    if (!shown_) return;
    const QString part = fromEngine(shown_->query.spec.part(Slot::Position).title);
    QString text =
        side_.isEmpty() ? part : tr("%1: %2. Choose A or B at the left to see the other one.").arg(side_, part);
    if (shown_->isLearned) text += '\n' + tr("These are initial values. Training changes them.");
    title_->setText(text);
}

void PositionView::setLabels(const std::vector<QString>& labels) {
    if (labels == labels_) return;
    labels_ = labels;
    if (shown_ && shown_->encodings) showEncodings(*shown_->encodings);
    if (shown_ && shown_->tree) showTree(*shown_->tree);
}

const Figure& PositionView::current() const {
    if (lastUsed_ && lastUsed_->isVisibleTo(this)) {
        for (const MatrixView* view : {encodings_, relative_})
            if (lastUsed_ == view) return view->figure();
        return static_cast<const LinesView*>(lastUsed_)->figure();
    }
    if (shown_ && shown_->tree) return tree_->figure();
    return similarity_->figure();
}

QJsonObject PositionView::saveView() const {
    QJsonObject view;
    for (const Param& param : kLengths) view[QLatin1String(param.id.data())] = lengths_->value(param.id);
    return view;
}

void PositionView::restoreView(const QJsonObject& view) {
    for (const Param& param : kLengths)
        lengths_->setValue(param.id, std::clamp(view.value(QLatin1String(param.id.data())).toDouble(param.initial),
                                                param.minimum, param.maximum));
}

void PositionView::setTheme(const FigureTheme& theme) {
    for (MatrixView* view : {encodings_, relative_}) view->setTheme(theme);
    tree_->setTheme(theme);
    rotation_->setTheme(theme);
    for (LinesView* view : {waves_, added_, factor_, slopes_, similarity_}) view->setTheme(theme);
}

} // namespace attn
