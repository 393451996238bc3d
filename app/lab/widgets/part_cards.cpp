#include "app/lab/widgets/part_cards.h"

#include "app/figures/map_figure.h"
#include "app/lab/widgets/engine_text.h"
#include "app/lab/widgets/formula_view.h"
#include "app/lab/widgets/matrix_view.h"
#include "app/lab/widgets/plain_table.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/attention/catalogue.h"
#include "engine/attention/execution.h"
#include "engine/attention/findings.h"
#include "engine/attention/head_counts.h"
#include "engine/attention/mask/catalogue.h"
#include "engine/playground/attention_run.h"
#include "engine/playground/part_growth.h"
#include "engine/training/attention_recipe.h"
#include "engine/training/initial_weights.h"
#include "engine/training/tasks/catalogue.h"

#include <QPushButton>
#include <QScrollArea>
#include <QTreeWidget>

#include <algorithm>
#include <array>

namespace attn {
namespace {

constexpr int kPartRole = Qt::UserRole, kRuleRole = Qt::UserRole + 1;
constexpr int64_t kRuleRows = 32; ///< rows of the matrix on the card of a rule
constexpr int64_t kTokens = 64;

/// Puts a part into a composition.
void put(AttentionSpec& spec, const Part& part) {
    if (part.slot == Slot::Mask)
        spec.mask = MaskExpression::parse(termText(part, initialValues(part)));
    else
        spec.set(part.slot, part.id);
}

/// @return the composition changed where its parts require it
AttentionSpec mended(AttentionSpec spec) {
    while (true) {
        const auto problems = check(spec);
        if (problems.empty() || !problems.front().nearest || *problems.front().nearest == spec) return spec;
        spec = *problems.front().nearest;
    }
}

/// @return a valid composition with this part and otherwise defaults, changed if the part requires it
AttentionSpec specOfCard(const Part& part) {
    AttentionSpec spec;
    put(spec, part);
    if (isOfBlock(part)) { // the map is made by a model with ordinary attention
        setHeads(spec, {4, 4});
        spec.mask = MaskExpression::causal();
    }
    if (part.slot == Slot::Output && part.mixesHeads) setHeads(spec, {4, 4});
    return mended(std::move(spec));
}

/// The names of the maps of a composition without the part of a slot.
std::vector<std::string> shownWithout(Slot slot, AttentionSpec spec) {
    if (slot == Slot::Mask)
        spec.mask = {};
    else
        spec.reset(slot);
    const AttentionSpec base = mended(std::move(spec));
    std::vector<std::string> names;
    const AttentionGraph built = attentionGraph(base, {.queries = kTokens, .keys = kTokens}, false);
    for (const auto& [name, tensor] : built.flow.shown) names.push_back(name);
    return names;
}

/// @return the map that shows this part: a map that the composition without the part does not have, or else the map
/// that the part produces (a mask, scores, an output), or the pattern; null: none
const PlaygroundMap* pictureOf(const Part& part, const PlaygroundSnapshot& snapshot) {
    const auto& maps = snapshot.maps;
    if (isOfBlock(part)) { // the last map; of a norm, its output
        const std::string own = std::string(nameOf(part.slot)) + '.';
        const auto found = std::ranges::find_if(maps.rbegin(), maps.rend(),
                                                [&](const PlaygroundMap& map) { return map.name.starts_with(own); });
        return found == maps.rend() ? nullptr : &*found;
    }
    static constexpr std::array kCommon{"scores", "mask", "pattern", "z"};
    const auto others = shownWithout(part.slot, snapshot.query.spec);
    const PlaygroundMap* own = nullptr;
    for (const PlaygroundMap& map : maps) {
        const bool isOwn = std::ranges::find(kCommon, map.name) == kCommon.end() &&
                           std::ranges::find(others, map.name) == others.end();
        if (isOwn && (!own || (part.slot == Slot::Mask && map.name.starts_with("mask.")))) own = &map;
    }
    if (own) return own;
    const char* usual = part.slot == Slot::Mask     ? "mask"
                        : part.slot == Slot::Score  ? "scores"
                        : part.slot == Slot::Output ? "z"
                                                    : "pattern";
    if (const auto* map = findMap(maps, usual)) return map;
    return findMap(maps, "z");
}

QString titleText(std::string_view title, std::string_view idea) {
    return QStringLiteral("<h3>%1</h3><p>%2</p>")
        .arg(fromEngine(title).toHtmlEscaped(), fromEngine(idea).toHtmlEscaped());
}
QString line(const QString& name, std::string_view text) {
    return text.empty()
               ? QString()
               : QStringLiteral("<p><b>%1</b> %2</p>").arg(name.toHtmlEscaped(), fromEngine(text).toHtmlEscaped());
}
QString sourceText(const Citation& source) {
    return QStringLiteral("<p><i>%1 (%2). %3. %4. %5</i></p>")
        .arg(fromEngine(source.authors).toHtmlEscaped(), QString::number(source.year),
             fromEngine(source.title).toHtmlEscaped(), fromEngine(source.where).toHtmlEscaped(),
             fromEngine(source.address).toHtmlEscaped());
}
QString findingText(std::string_view claim, std::string_view result, std::string_view command) {
    return line(PartCards::tr("Claim:"), claim) + line(PartCards::tr("Measured here:"), result) +
           QStringLiteral("<p><code>%1</code></p>").arg(fromEngine(command).toHtmlEscaped());
}

/// The composition in which to train a part: that of its card, made causal if nothing is masked and the part allows it,
/// so that the slot's task demonstrates the part. An encoder gets positions.
AttentionSpec trainedSpec(const Part& part) {
    if (!part.whole.empty()) return AttentionSpec::parse(part.whole);
    const AttentionSpec shown = specOfCard(part);
    AttentionSpec causal = shown, placed = shown;
    causal.mask = MaskExpression::causal();
    if (part.slot != Slot::Mask && shown.mask == MaskExpression() && check(causal, {.isCausalTask = true}).empty())
        return causal;
    if (part.slot == Slot::Position || shown.parts.at(Slot::Position) != AttentionSpec().parts.at(Slot::Position) ||
        !looksAhead(shown, AttentionUse().queries))
        return shown;
    placed.set(Slot::Position, "learned");
    return check(placed).empty() ? placed : shown;
}

/// How to train a model with a part, or the reason why that is not possible.
QString trainingText(const Part& part) {
    const Recipe recipe = suggestedRecipe(trainedSpec(part), part.slot);
    if (const auto problem = attentionProblem(recipe.architecture))
        return PartCards::tr("<p>This part cannot be trained by itself: %1</p>")
            .arg(fromEngine(problem->sentence).toHtmlEscaped());
    const QString text =
        part.whole.empty()
            ? PartCards::tr("<p><b>To train it:</b> <code>%1</code></p>")
            : PartCards::tr("<p><b>To train it, in the composition to which it belongs:</b> <code>%1</code></p>");
    return text.arg(QString::fromStdString(trainCommand(recipe)).toHtmlEscaped());
}

QString detailText(const Part& part) {
    QString text = sourceText(part.source);
    text += line(PartCards::tr("Time:"), part.time) + line(PartCards::tr("Memory:"), part.memory) +
            line(PartCards::tr("Measured time:"), growthRemark(part)) + line(PartCards::tr("Caution:"), part.caution);
    for (const Param& param : part.params) text += line(fromEngine(param.title) + ':', param.help);
    if (const Finding* finding = findingOf(part))
        text += findingText(finding->claim, finding->result, finding->command);
    return text + trainingText(part);
}

QString detailText(const Initialisation& rule) {
    return sourceText(rule.source) +
           line(PartCards::tr("Deviation:"),
                rule.hasDeviation ? "the standard deviation s is --initial-deviation" : "it follows from the widths") +
           findingText(rule.claim, rule.result, rule.command) +
           PartCards::tr("<p><b>To train with it:</b> <code>--init %1</code></p>").arg(fromEngine(rule.id));
}

/// A matrix that the rule draws for a model of two layers. The matrix does not write to the residual stream.
MatrixFigure pictureOf(const Initialisation& rule) {
    MatrixFigure figure;
    figure.setMatrix(kRuleRows, 2 * kRuleRows,
                     rule.draw({.rows = kRuleRows, .columns = 2 * kRuleRows, .layers = 2, .seed = 1}));
    figure.title = PartCards::tr("A matrix that the rule draws");
    figure.note = PartCards::tr("32 outputs and 64 inputs; it does not write to the residual stream");
    figure.rowTitle = PartCards::tr("output");
    figure.columnTitle = PartCards::tr("input");
    return figure;
}

} // namespace

AttentionSpec specWith(const Part& part, AttentionSpec spec) {
    put(spec, part);
    const AttentionSpec wanted = spec;
    spec = mended(std::move(spec));
    const bool isKept =
        part.slot == Slot::Mask ? spec.mask == wanted.mask : !isOfBlock(part) && spec.id(part.slot) == part.id;
    const bool isKeptInBlock = isOfBlock(part) && spec.blockPart(part.slot) == &part;
    return (isKept || isKeptInBlock) && check(spec).empty() ? spec : specOfCard(part);
}

void PartCards::showCard(const Card& card) { list_->setCurrentItem(card.item); }

template <class Described>
void PartCards::addCard(QTreeWidgetItem* group, const Described& described, int role, const QString& kind) {
    const QString title = fromEngine(described.title);
    auto* item = new QTreeWidgetItem(group, {title});
    item->setToolTip(0, title); // shown in full, because a narrow list truncates it
    item->setData(0, role, QVariant::fromValue(static_cast<const void*>(&described)));
    cards_.push_back({title, kind, fromEngine(described.idea), item});
}

PartCards::PartCards(QWidget* parent) : QWidget(parent) {
    list_ = named(new QTreeWidget, "partList", tr("Parts of attention"), tr("All parts. Choose one to see its card"));
    titleColumns(*list_, {{tr("Part"), tr("The parts of attention, by the place that they fill")}});
    list_->setRootIsDecorated(false);
    QTreeWidgetItem* group = nullptr;
    std::string_view slot;
    for (const Part* part : partCatalogue()) {
        if (nameOf(part->slot) != slot) {
            slot = nameOf(part->slot);
            group = new QTreeWidgetItem(list_, {fromEngine(slot).replace('_', ' ')});
            group->setFlags(Qt::ItemIsEnabled);
        }
        addCard(group, *part, kPartRole, tr("Part of attention"));
    }
    group = new QTreeWidgetItem(list_, {tr("initial weights")});
    group->setFlags(Qt::ItemIsEnabled);
    for (const Initialisation& rule : initialisations())
        addCard(group, rule, kRuleRole, tr("Rule for initial weights"));
    list_->expandAll();
    list_->setItemsExpandable(false);
    const auto label = [](const char* id, const QString& name) {
        QLabel* text = readsMarkup(makeTextLabel(id));
        text->setTextInteractionFlags(Qt::TextSelectableByMouse);
        text->setAlignment(Qt::AlignTop | Qt::AlignLeft);
        text->setAccessibleName(name);
        return text;
    };
    title_ = label("partText", tr("Reference card"));
    formula_ = identified(new FormulaView, "partFormula");
    details_ = label("partDetails", tr("Source, cost and settings of the part"));
    picture_ = identified(new MatrixView, "partPicture");
    try_ = helped(new QPushButton(tr("Try this part")), "tryPart",
                  tr("Put this part into the composed attention and see its heatmaps"));
    train_ = identified(new QPushButton, "trainPart");
    auto* text = identified(new QScrollArea, "partCard"); // scrolls, so that a long card can be read in a small window
    text->setWidgetResizable(true);
    text->setFrameShape(QFrame::NoFrame);
    text->setFocusPolicy(Qt::NoFocus);
    text->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* card = new QWidget;
    makeColumn(card, 0, {title_, formula_, {details_, 1}});
    text->setWidget(card);
    makeRow(this, 0, {{list_, 2}, {makeColumn({{text, 3}, {picture_, 2}, makeRow({try_, train_})}), 3}});
    connect(list_, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem* item) {
        if (item && item->data(0, kPartRole).isValid())
            choose(static_cast<const Part*>(item->data(0, kPartRole).value<const void*>()));
        if (item && item->data(0, kRuleRole).isValid())
            choose(*static_cast<const Initialisation*>(item->data(0, kRuleRole).value<const void*>()));
    });
    connect(try_, &QPushButton::clicked, this, [this] { emit tried(part_); });
    connect(train_, &QPushButton::clicked, this, [this] {
        if (part_) return emit trainingAsked(trainedSpec(*part_), part_->slot);
        Recipe recipe = suggestedRecipe(taskNamed("sort"));
        recipe.architecture.init = rule_->id;
        emit trainingAskedWith(withMoments(std::move(recipe)));
    });
    choose(partCatalogue().front());
}

void PartCards::choose(const Part* part) {
    part_ = part;
    rule_ = nullptr;
    setButtons();
    title_->setText(titleText(part->title, part->idea));
    formula_->setText(fromEngine(part->formula), part->slot != Slot::Mask);
    details_->setText(detailText(*part));
    picture_->setFigure({});
    query_ = PlaygroundQuery{.spec = specOfCard(*part), .tokens = kTokens};
    emit queryChanged();
}

void PartCards::choose(const Initialisation& rule) {
    part_ = nullptr;
    rule_ = &rule;
    setButtons();
    title_->setText(titleText(rule.title, rule.idea));
    formula_->setText(fromEngine(rule.formula));
    details_->setText(detailText(rule));
    picture_->setFigure(pictureOf(rule));
}

void PartCards::setButtons() {
    try_->setEnabled(part_ != nullptr); // the Playground trains nothing
    train_->setText(part_ ? tr("Train with this part") : tr("Train with this rule"));
    train_->setToolTip(part_ ? tr("Set up the Train panel with this part and a task that shows its effect")
                             : tr("Set up the Train panel with this rule for initial weights"));
}

void PartCards::showPicture(const std::shared_ptr<const PlaygroundSnapshot>& snapshot) {
    if (!part_ || snapshot->query != query_) return;
    if (const PlaygroundMap* map = pictureOf(*part_, *snapshot))
        picture_->setFigure(mapFigure(*map, snapshot->query.spec, 0, 0));
}

void PartCards::setTheme(const FigureTheme& theme) { picture_->setTheme(theme); }

} // namespace attn
