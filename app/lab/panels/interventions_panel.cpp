#include "app/lab/panels/interventions_panel.h"

#include "app/figures/token_label.h"
#include "app/lab/panels/panel_theme.h"
#include "app/lab/panels/shown_tile.h"
#include "app/lab/undo_commands.h"
#include "app/lab/widgets/hint_label.h"
#include "app/lab/widgets/matrix_view.h"
#include "engine/analysis/continuation.h"
#include "engine/session/hook_edits.h"
#include "engine/session/sampling.h"

#include <QComboBox>
#include <QFormLayout>
#include <QHeaderView>
#include <QJsonArray>
#include <QJsonDocument>
#include <QLabel>
#include <QLineEdit>
#include <QMouseEvent>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

using EditsChange = StateEdit<Edits, 5>;

constexpr int kSteps = 100;
constexpr int kMostPainted = 64;    ///< tokens of a pattern that is painted
constexpr int kShownTokens = 8;     ///< of the effect
constexpr float kMostFactor = 4.0f; ///< of a direction, either way

enum Where { HeadOutput, AttentionOut, MlpOut, Stream, Embedding };

} // namespace

InterventionsPanel::InterventionsPanel(PanelContext& context, QWidget* parent)
    : Panel(parent), context_(context), title_(new QLabel), reset_(new QPushButton(tr("Reset"))) {
    title_->setObjectName("interventionsTitle");
    title_->setWordWrap(true);
    reset_->setObjectName("interventionsReset");
    reset_->setAccessibleName(tr("Run the model as it was loaded"));
    reset_->setToolTip(tr("Take back every change and open every gate"));
    connect(reset_, &QPushButton::clicked, this, &InterventionsPanel::reset);
    auto* head = new QHBoxLayout;
    head->addWidget(title_, 1);
    head->addWidget(reset_);

    list_ = new QTreeWidget;
    list_->setObjectName("interventionsList");
    list_->setAccessibleName(tr("What is changed"));
    list_->setToolTip(tr("Select a change to set how much of it, or to remove it"));
    list_->setHeaderHidden(true);
    list_->setRootIsDecorated(false);
    list_->setUniformRowHeights(true);
    list_->setFixedHeight(fontMetrics().height() * 5);
    remove_ = new QPushButton(tr("Remove"));
    remove_->setObjectName("interventionsRemove");
    remove_->setAccessibleName(tr("Take back the selected change"));
    remove_->setToolTip(remove_->accessibleName());
    connect(list_, &QTreeWidget::itemSelectionChanged, this,
            [this] { remove_->setEnabled(list_->currentItem() != nullptr && list_->currentItem()->isSelected()); });
    connect(remove_, &QPushButton::clicked, this, &InterventionsPanel::removeSelected);

    effect_ = new QTreeWidget;
    effect_->setObjectName("interventionsEffect");
    effect_->setAccessibleName(tr("Next tokens without and with the changes"));
    effect_->setToolTip(tr("Probabilities at temperature 1, before and after the changes, and their difference"));
    effect_->setHeaderLabels({tr("Next token"), tr("Before"), tr("After"), tr("Difference")});
    effect_->setRootIsDecorated(false);
    effect_->setUniformRowHeights(true);
    effect_->setSelectionMode(QAbstractItemView::NoSelection);
    effect_->header()->setStretchLastSection(false);
    effect_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    for (int column : {1, 2, 3}) effect_->header()->setSectionResizeMode(column, QHeaderView::ResizeToContents);
    effect_->setMinimumHeight(fontMetrics().height() * 6);

    write_ = new QPushButton(tr("Write on"));
    write_->setObjectName("interventionsWrite");
    write_->setAccessibleName(tr("Write on without and with the changes"));
    write_->setToolTip(tr("The likeliest 24 tokens, before and after the changes"));
    connect(write_, &QPushButton::clicked, this,
            [this] { context_.post(RunAnalysisCommand{std::make_shared<ContinuationAnalysis>()}); });
    written_ = makeHintLabel("interventionsWritten");
    written_->setAccessibleName(tr("What the model writes on without and with the changes"));
    written_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto* writeRow = new QHBoxLayout;
    writeRow->addWidget(write_, 0, Qt::AlignTop);
    writeRow->addWidget(written_, 1);

    auto* listRow = new QHBoxLayout;
    listRow->addWidget(list_, 1);
    listRow->addWidget(remove_, 0, Qt::AlignTop);
    auto* left = new QVBoxLayout;
    left->addWidget(makeForm());
    left->addLayout(listRow);
    left->addWidget(effect_, 1);
    left->addLayout(writeRow);
    auto* both = new QHBoxLayout;
    both->addLayout(left, 3);
    both->addWidget(makePattern(), 2);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
    column->addLayout(head);
    column->addLayout(both, 1);

    connect(&context_, &PanelContext::headSelected, this, [this](int layer, int which) {
        const QSignalBlocker quietLayer(layer_), quietHead(head_);
        layer_->setValue(layer);
        head_->setValue(which);
        showPattern();
    });
    connect(&context_, &PanelContext::interventionRequested, this, &InterventionsPanel::add);
    const auto setTheme = [this](ThemeId theme) { pattern_->setTheme(figureTheme(theme)); };
    connect(&context_, &PanelContext::themeChanged, this, setTheme);
    setTheme(context_.theme());
    showForm();
    showList();
    showEffect();
}

QWidget* InterventionsPanel::makeForm() {
    const auto named = [](auto* widget, const char* id, const QString& name, const QString& help = {}) {
        widget->setObjectName(QString::fromLatin1(id));
        widget->setAccessibleName(name);
        widget->setToolTip(help.isEmpty() ? name : help);
        return widget;
    };
    where_ = named(new QComboBox, "interventionWhere", tr("What is changed"));
    where_->addItems({tr("Output of head"), tr("Attention of layer"), tr("MLP of layer"), tr("Stream before layer"),
                      tr("Embedding")});
    layer_ = named(new QSpinBox, "interventionLayer", tr("Layer"));
    head_ = named(new QSpinBox, "interventionHead", tr("Head"));
    layer_->setPrefix(tr("layer "));
    head_->setPrefix(tr("head "));
    token_ = named(new QComboBox, "interventionToken", tr("At which token"));
    kind_ = named(
        new QComboBox, "interventionKind", tr("How it is changed"),
        tr("Remove; put the mean over a text in its place (mean ablation); put the value of another text's run in its\n"
           "place (activation patching); add the value of a text as a direction (steering)"));
    kind_->addItems({tr("Remove"), tr("Mean of a text"), tr("Value from a text"), tr("Add a direction")});
    text_ = named(new QLineEdit, "interventionText", tr("The text that the value is taken from"));
    text_->setPlaceholderText(tr("this prompt"));
    contrast_ = named(new QLineEdit, "interventionContrast", tr("Less the direction of this text"),
                      tr("The value at its last token is taken away: the direction from this text to the other"));
    contrast_->setPlaceholderText(tr("nothing"));
    textToken_ = named(new QSpinBox, "interventionTextToken", tr("Token of the text"));
    textToken_->setRange(-1, 1 << 20);
    textToken_->setSpecialValueText(tr("the same"));
    amount_ = named(
        new QSlider(Qt::Horizontal), "interventionAmount", tr("How much"),
        tr("The share that is replaced, or the factor of a direction; drag it for a change that is selected below"));
    amountText_ = new QLabel;
    amountText_->setMinimumWidth(fontMetrics().horizontalAdvance("-4.00 "));
    add_ = named(new QPushButton(tr("Add")), "interventionAdd", tr("Change the model so"));
    textLabel_ = new QLabel(tr("Text"));
    contrastLabel_ = new QLabel(tr("Less"));

    auto* form = new QWidget;
    auto* rows = new QFormLayout(form);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    const auto row = [](std::initializer_list<QWidget*> widgets) {
        auto* line = new QHBoxLayout;
        for (QWidget* widget : widgets)
            line->addWidget(widget, qobject_cast<QSpinBox*>(widget) || qobject_cast<QPushButton*>(widget) ||
                                            qobject_cast<QLabel*>(widget)
                                        ? 0
                                        : 1);
        return line;
    };
    rows->addRow(tr("Where"), row({where_, layer_, head_}));
    rows->addRow(tr("Token"), token_);
    rows->addRow(tr("How"), kind_);
    rows->addRow(textLabel_, row({text_, textToken_}));
    rows->addRow(contrastLabel_, contrast_);
    rows->addRow(tr("Amount"), row({amount_, amountText_, add_}));
    for (QComboBox* box : {where_, kind_})
        connect(box, &QComboBox::currentIndexChanged, this, &InterventionsPanel::showForm);
    for (QSpinBox* box : {layer_, head_})
        connect(box, &QSpinBox::valueChanged, this, [this] {
            showPattern();
            if (where_->currentIndex() == HeadOutput) context_.selectHead(layer_->value(), head_->value());
        });
    connect(amount_, &QSlider::valueChanged, this, &InterventionsPanel::changeSelected);
    connect(add_, &QPushButton::clicked, this, [this] { add(described()); });
    for (QLineEdit* line : {text_, contrast_})
        connect(line, &QLineEdit::returnPressed, this, [this] { add(described()); });
    return form;
}

QWidget* InterventionsPanel::makePattern() {
    pattern_ = new MatrixView;
    pattern_->setObjectName("interventionPattern");
    pattern_->setAccessibleName(tr("Pattern of the head, to paint on"));
    pattern_->setToolTip(
        tr("Press and drag to set weights: the rest of the row shares what is left. Return paints the framed cell."));
    pattern_->installEventFilter(this);
    connect(pattern_, &MatrixView::activated, this, [this] {
        if (const auto& cell = pattern_->figure().hovered) paint(*cell);
    });
    brush_ = new QSlider(Qt::Horizontal);
    brush_->setObjectName("interventionBrush");
    brush_->setAccessibleName(tr("Weight that is painted"));
    brush_->setToolTip(brush_->accessibleName());
    brush_->setRange(0, kSteps);
    brush_->setValue(kSteps);
    const auto button = [this](const char* id, const QString& title, const QString& help) {
        auto* made = new QPushButton(title);
        made->setObjectName(QString::fromLatin1(id));
        made->setAccessibleName(help);
        made->setToolTip(help);
        return made;
    };
    uniform_ = button("interventionUniform", tr("Uniform"), tr("Every query looks at all it sees alike"));
    pin_ = button("interventionPin", tr("Pin"),
                  tr("Every query looks at the token chosen above, or at the first, and at nothing else"));
    own_ = button("interventionOwn", tr("Its own"), tr("The head's own pattern again"));
    connect(uniform_, &QPushButton::clicked, this, [this] {
        applyPattern([](PatternEdit& edit) { edit.kind = PatternEdit::Kind::Uniform; }, tr("uniform pattern"));
    });
    connect(pin_, &QPushButton::clicked, this, [this] {
        const int key = std::max(0, token_->currentIndex() - 1);
        applyPattern(
            [key](PatternEdit& edit) {
                edit.kind = PatternEdit::Kind::Pin;
                edit.key = key;
            },
            tr("pinned pattern"));
    });
    connect(own_, &QPushButton::clicked, this, [this] {
        Edits after = edits();
        std::erase_if(after.patterns, [this](const PatternEdit& edit) {
            return edit.layer == layer_->value() && edit.head == head_->value();
        });
        apply(std::move(after), tr("return to the head's own pattern"), "own");
    });
    auto* part = new QWidget;
    auto* column = new QVBoxLayout(part);
    column->setContentsMargins(0, 0, 0, 0);
    auto* hint = makeHintLabel();
    hint->setText(tr("Pattern by hand: paint, pin or level it"));
    column->addWidget(hint);
    column->addWidget(pattern_, 1);
    auto* buttons = new QHBoxLayout;
    for (QWidget* each : std::initializer_list<QWidget*>{brush_, uniform_, pin_, own_}) buttons->addWidget(each);
    column->addLayout(buttons);
    return part;
}

const Edits& InterventionsPanel::edits() const {
    static const Edits none;
    return snapshot_ && snapshot_->edits ? *snapshot_->edits : none;
}

void InterventionsPanel::apply(Edits after, const QString& text, const QString& what) {
    if (!snapshot_ || !snapshot_->model || after == edits()) return;
    context_.undoStack().push(new EditsChange(
        text,
        [post = context_.poster()](const Edits& edits) { post(SetEditsCommand{std::make_shared<const Edits>(edits)}); },
        edits(), std::move(after), what));
}

void InterventionsPanel::add(const Intervention& intervention) {
    Edits after = edits();
    after.interventions.push_back(intervention);
    apply(std::move(after), tr("intervention"), QStringLiteral("add %1").arg(after.interventions.size()));
}

void InterventionsPanel::reset() {
    context_.undoStack().beginMacro(tr("reset of all changes"));
    if (snapshot_ && snapshot_->headGates) {
        std::vector<SetHeadGateCommand> before;
        const int heads = snapshot_->model ? snapshot_->model->heads : 1;
        for (size_t at = 0; at < snapshot_->headGates->size(); ++at)
            before.push_back({static_cast<int>(at) / heads, static_cast<int>(at) % heads, (*snapshot_->headGates)[at]});
        if (std::ranges::any_of(before, [](const SetHeadGateCommand& gate) { return gate.gate != 1; }))
            context_.undoStack().push(new GateChange(context_.poster(), std::move(before), {-1, -1, 1}));
    }
    apply({}, tr("reset of all changes"), "reset");
    context_.undoStack().endMacro();
}

QString InterventionsPanel::hookName() const {
    const QString block = QStringLiteral("blocks.%1.").arg(layer_->value());
    switch (where_->currentIndex()) {
    case HeadOutput:
        return block + "attn.hook_z";
    case AttentionOut:
        return block + "hook_attn_out";
    case MlpOut:
        return block + "hook_mlp_out";
    case Stream:
        return block + "hook_resid_pre";
    default:
        return "hook_embed";
    }
}

Intervention InterventionsPanel::described() const {
    const auto kind = static_cast<Intervention::Kind>(kind_->currentIndex());
    const bool isDirection = kind == Intervention::Kind::Steer;
    const float share = static_cast<float>(amount_->value()) / kSteps;
    Intervention made{.kind = kind,
                      .hook = hookName().toStdString(),
                      .head = where_->currentIndex() == HeadOutput ? head_->value() : -1,
                      .position = token_->currentIndex() - 1,
                      .amount = isDirection ? (2 * share - 1) * kMostFactor : share};
    if (kind == Intervention::Kind::Zero) return made;
    made.text = text_->text().toStdString();
    if (kind != Intervention::Kind::Mean) made.textPosition = textToken_->value();
    if (isDirection) made.contrast = contrast_->text().toStdString();
    return made;
}

void InterventionsPanel::showForm() {
    const auto kind = static_cast<Intervention::Kind>(kind_->currentIndex());
    const bool isDirection = kind == Intervention::Kind::Steer, hasText = kind != Intervention::Kind::Zero;
    for (QWidget* widget : std::initializer_list<QWidget*>{textLabel_, text_}) widget->setVisible(hasText);
    textToken_->setVisible(kind == Intervention::Kind::Patch || isDirection);
    textToken_->setSpecialValueText(isDirection ? tr("its last") : tr("the same"));
    for (QWidget* widget : std::initializer_list<QWidget*>{contrastLabel_, contrast_}) widget->setVisible(isDirection);
    layer_->setVisible(where_->currentIndex() != Embedding);
    head_->setVisible(where_->currentIndex() == HeadOutput);
    const QSignalBlocker quiet(amount_);
    amount_->setRange(0, kSteps);
    amount_->setValue(isDirection ? kSteps * 3 / 4 : kSteps);
    amountText_->setText(QString::number(static_cast<double>(described().amount), 'f', 2));
}

/// The amount of the selected change follows the slider; without one it is that of the next.
void InterventionsPanel::changeSelected() {
    amountText_->setText(QString::number(static_cast<double>(described().amount), 'f', 2));
    const QTreeWidgetItem* item = list_->currentItem();
    if (!item || !item->isSelected()) return;
    const auto at = static_cast<size_t>(list_->indexOfTopLevelItem(const_cast<QTreeWidgetItem*>(item)));
    Edits after = edits();
    if (at >= after.interventions.size()) return;
    Intervention& each = after.interventions[at];
    const float share = static_cast<float>(amount_->value()) / kSteps;
    each.amount = each.kind == Intervention::Kind::Steer ? (2 * share - 1) * kMostFactor : share;
    amountText_->setText(QString::number(static_cast<double>(each.amount), 'f', 2));
    apply(std::move(after), tr("amount of a change"), QStringLiteral("amount %1").arg(at));
}

void InterventionsPanel::removeSelected() {
    QTreeWidgetItem* item = list_->currentItem();
    if (!item) return;
    auto at = static_cast<size_t>(list_->indexOfTopLevelItem(item));
    Edits after = edits();
    if (at < after.interventions.size())
        after.interventions.erase(after.interventions.begin() + static_cast<std::ptrdiff_t>(at));
    else if (at -= after.interventions.size(); at < after.patterns.size())
        after.patterns.erase(after.patterns.begin() + static_cast<std::ptrdiff_t>(at));
    apply(std::move(after), tr("removal of a change"), "remove");
}

void InterventionsPanel::applyPattern(const std::function<void(PatternEdit&)>& change, const QString& text) {
    Edits after = edits();
    const auto found = std::ranges::find_if(after.patterns, [this](const PatternEdit& edit) {
        return edit.layer == layer_->value() && edit.head == head_->value();
    });
    PatternEdit edit{.layer = layer_->value(), .head = head_->value()};
    if (found != after.patterns.end()) edit = *found;
    change(edit);
    if (found != after.patterns.end())
        *found = std::move(edit);
    else
        after.patterns.push_back(std::move(edit));
    apply(std::move(after), text, QStringLiteral("pattern %1.%2").arg(layer_->value()).arg(head_->value()));
}

/// The cell gets the brush's weight; what the row's others had is scaled to share the rest.
void InterventionsPanel::paint(const Cell& cell) {
    const MatrixFigure& figure = pattern_->figure();
    if (figure.isEmpty() || cell.key > cell.query || cell.query >= figure.rows()) return;
    std::vector<float> row;
    for (int key = 0; key <= cell.query; ++key) row.push_back(figure.valueAt({cell.query, key}));
    const float weight = static_cast<float>(brush_->value()) / kSteps;
    float rest = 0;
    for (int key = 0; key <= cell.query; ++key) rest += key == cell.key ? 0 : row[static_cast<size_t>(key)];
    for (int key = 0; key <= cell.query; ++key) {
        float& each = row[static_cast<size_t>(key)];
        if (key == cell.key)
            each = cell.query == 0 ? 1 : weight;
        else
            each = rest > 0 ? each * (1 - weight) / rest : (1 - weight) / static_cast<float>(cell.query);
    }
    const PatternEdit::Kind now = [&] {
        for (const PatternEdit& edit : edits().patterns)
            if (edit.layer == layer_->value() && edit.head == head_->value()) return edit.kind;
        return PatternEdit::Kind::Rows;
    }();
    applyPattern(
        [&](PatternEdit& edit) {
            if (now != PatternEdit::Kind::Rows) // what is seen becomes the rows
                for (int query = 0; query < figure.rows(); ++query)
                    for (int key = 0; key <= query; ++key) edit.rows[query].push_back(figure.valueAt({query, key}));
            edit.kind = PatternEdit::Kind::Rows;
            edit.rows[cell.query] = row;
        },
        tr("painted weight"));
}

bool InterventionsPanel::eventFilter(QObject* watched, QEvent* event) {
    const bool isPress = event->type() == QEvent::MouseButtonPress, isMove = event->type() == QEvent::MouseMove;
    if (watched != pattern_ || (!isPress && !isMove)) return Panel::eventFilter(watched, event);
    const auto* mouse = static_cast<QMouseEvent*>(event);
    if (isPress ? mouse->button() == Qt::LeftButton : (mouse->buttons() & Qt::LeftButton) != 0)
        if (const auto cell = pattern_->figure().cellAt(mouse->position(), pattern_->figureLayout())) paint(*cell);
    return Panel::eventFilter(watched, event);
}

void InterventionsPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const auto before = std::exchange(snapshot_, snapshot);
    const bool isNewModel = !before || before->model != snapshot->model;
    if (isNewModel && snapshot->model) {
        const QSignalBlocker quietLayer(layer_), quietHead(head_);
        layer_->setMaximum(snapshot->model->layers - 1);
        head_->setMaximum(snapshot->model->heads - 1);
    }
    if (isNewModel || before->sequence != snapshot->sequence) showTokens();
    if (isNewModel || before->detail != snapshot->detail || before->grid != snapshot->grid) showPattern();
    if (isNewModel || before->edits != snapshot->edits || before->headGates != snapshot->headGates) showList();
    if (isNewModel || before->next != snapshot->next || before->unedited != snapshot->unedited) showEffect();
    showWritten();
}

void InterventionsPanel::showWritten() {
    const auto found = snapshot_->analyses.find(ContinuationAnalysis{}.key());
    write_->setEnabled(snapshot_->sequence && !snapshot_->sequence->tokens.empty());
    if (found == snapshot_->analyses.end() || found->second->sequenceVersion != snapshot_->sequenceVersion) {
        written_->clear();
        return;
    }
    const auto& continuation = static_cast<const Continuation&>(*found->second);
    const auto line = [](const std::string& text) { return visibleText(QString::fromStdString(text)).toHtmlEscaped(); };
    written_->setText(
        tr("<b>Before</b> %1<br><b>After</b> %2").arg(line(continuation.textBefore), line(continuation.textAfter)));
}

void InterventionsPanel::showTokens() {
    const QSignalBlocker quiet(token_);
    const int current = token_->currentIndex();
    token_->clear();
    token_->addItem(tr("every token"));
    const std::vector<QString> labels = tokenLabels(snapshot_->sequence.get());
    for (size_t token = 0; token < labels.size() && token < 1024; ++token)
        token_->addItem(QStringLiteral("%1 “%2”").arg(token).arg(labels[token]));
    token_->setCurrentIndex(current >= 0 && current < token_->count() ? current : 0);
}

void InterventionsPanel::showPattern() {
    MatrixFigure figure;
    figure.title = tr("Layer %1, head %2").arg(layer_->value()).arg(head_->value());
    figure.rowTitle = tr("query");
    figure.columnTitle = tr("key");
    figure.kind = MatrixFigure::Kind::Weights;
    const auto tile = snapshot_ ? shownTile(*snapshot_, layer_->value(), head_->value()) : nullptr;
    if (tile && tile->isExact() && tile->rows == tile->columns && tile->rows <= kMostPainted) {
        figure.setMatrix(tile->rows, tile->columns, tile->values);
        figure.rowLabels = figure.columnLabels = tokenLabels(snapshot_->sequence.get());
        figure.rowLabels.resize(static_cast<size_t>(tile->rows));
        figure.columnLabels.resize(static_cast<size_t>(tile->columns));
    } else {
        figure.note = tr("a pattern of up to %1 tokens can be painted").arg(kMostPainted);
    }
    pattern_->setFigure(std::move(figure));
}

void InterventionsPanel::showList() {
    const int current = list_->currentItem() ? list_->indexOfTopLevelItem(list_->currentItem()) : -1;
    const int countBefore = list_->topLevelItemCount();
    {
        const QSignalBlocker quiet(list_);
        list_->clear();
        for (const Intervention& each : edits().interventions)
            new QTreeWidgetItem(list_, {QString::fromStdString(describe(each))});
        for (const PatternEdit& each : edits().patterns)
            new QTreeWidgetItem(list_, {QString::fromStdString(describe(each))});
        for (int i = 0; i < list_->topLevelItemCount(); ++i)
            list_->topLevelItem(i)->setToolTip(0, list_->topLevelItem(i)->text(0));
    }
    const int count = list_->topLevelItemCount();
    // What has just been added is selected, so that the slider goes on with it.
    const int selected =
        count > countBefore ? static_cast<int>(edits().interventions.size()) - 1 : std::min(current, count - 1);
    if (selected >= 0) list_->setCurrentItem(list_->topLevelItem(selected));
    remove_->setEnabled(selected >= 0);
    int gates = 0;
    if (snapshot_ && snapshot_->headGates)
        gates = static_cast<int>(std::ranges::count_if(*snapshot_->headGates, [](float gate) { return gate != 1; }));
    QStringList parts;
    if (count > 0) parts << tr("%n change(s)", nullptr, count);
    if (gates > 0) parts << tr("%n gate(s) not open", nullptr, gates);
    title_->setText(parts.isEmpty() ? tr("The model runs as it was loaded.")
                                    : tr("The model is edited: %1.").arg(parts.join(tr(", "))));
    reset_->setEnabled(!parts.isEmpty());
}

void InterventionsPanel::showEffect() {
    effect_->clear();
    if (!snapshot_ || !snapshot_->next || snapshot_->next->logits.empty()) return;
    const Sampling plain{.greedy = false};
    const auto after = rankCandidates(snapshot_->next->logits, plain, {}, -1);
    std::vector<float> then(after.size(), 0), now(after.size(), 0);
    for (const Candidate& each : after) now[static_cast<size_t>(each.token)] = each.probability;
    const bool isEdited = snapshot_->unedited != nullptr && snapshot_->unedited->logits.size() == after.size();
    for (int column : {2, 3}) effect_->setColumnHidden(column, !isEdited);
    effect_->headerItem()->setText(1, isEdited ? tr("Before") : tr("Probability"));
    std::vector<int> shown;
    const auto take = [&](const std::vector<Candidate>& from) {
        for (const Candidate& each : from)
            if (static_cast<int>(shown.size()) < kShownTokens && std::ranges::find(shown, each.token) == shown.end())
                shown.push_back(each.token);
    };
    if (isEdited) {
        auto before = rankCandidates(snapshot_->unedited->logits, plain, {}, -1);
        for (const Candidate& each : before) then[static_cast<size_t>(each.token)] = each.probability;
        before.resize(std::min<size_t>(before.size(), kShownTokens / 2));
        take(before);
    }
    take(after);
    std::ranges::stable_sort(shown, std::greater(), [&](int token) {
        return std::max(then[static_cast<size_t>(token)], now[static_cast<size_t>(token)]);
    });
    const auto percent = [](float value) {
        return QStringLiteral("%1 %").arg(static_cast<double>(value) * 100, 0, 'f', 1);
    };
    for (int token : shown) {
        const auto at = static_cast<size_t>(token);
        const auto& texts = snapshot_->model->tokenTexts;
        const QString label =
            at < texts.size() ? visibleText(QString::fromStdString(texts[at])) : QStringLiteral("#%1").arg(token);
        const float difference = now[at] - then[at];
        auto* item = new QTreeWidgetItem(
            effect_, {label, isEdited ? percent(then[at]) : percent(now[at]), isEdited ? percent(now[at]) : QString(),
                      isEdited ? QStringLiteral("%1%2 %")
                                     .arg(difference >= 0 ? "+" : "−")
                                     .arg(std::abs(static_cast<double>(difference)) * 100, 0, 'f', 1)
                               : QString()});
        for (int column : {1, 2, 3}) item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    }
}

QString InterventionsPanel::csv() const {
    QString text = "token,before,after,difference\n";
    for (int row = 0; row < effect_->topLevelItemCount(); ++row) {
        QStringList cells;
        for (int column = 0; column < 4; ++column)
            cells << "\"" + effect_->topLevelItem(row)->text(column).replace('"', "\"\"") + "\"";
        text += cells.join(',') + '\n';
    }
    return text;
}

QJsonObject InterventionsPanel::saveView() const {
    QJsonObject view;
    if (!edits().empty())
        view["edits"] = QJsonDocument::fromJson(QByteArray::fromStdString(editsToJson(edits()))).object();
    if (snapshot_ && snapshot_->headGates &&
        std::ranges::any_of(*snapshot_->headGates, [](float gate) { return gate != 1; })) {
        QJsonArray gates;
        for (float gate : *snapshot_->headGates) gates.append(static_cast<double>(gate));
        view["gates"] = gates;
    }
    return view;
}

void InterventionsPanel::restoreView(const QJsonObject& view) {
    const QJsonArray gates = view.value("gates").toArray();
    const int heads = snapshot_ && snapshot_->model ? snapshot_->model->heads : 0;
    if (snapshot_ && snapshot_->isEdited) context_.post(SetHeadGateCommand{-1, -1, 1});
    if (snapshot_ && snapshot_->headGates && gates.size() == static_cast<qsizetype>(snapshot_->headGates->size()))
        for (int at = 0; at < gates.size(); ++at)
            if (const double gate = gates[at].toDouble(1); gate != 1 && gate >= 0 && gate <= 1)
                context_.post(SetHeadGateCommand{at / heads, at % heads, static_cast<float>(gate)});
    if (!view.contains("edits") && !(snapshot_ && snapshot_->edits)) return;
    try {
        const QByteArray json = QJsonDocument(view.value("edits").toObject()).toJson(QJsonDocument::Compact);
        context_.post(SetEditsCommand{std::make_shared<const Edits>(editsFromJson(json.toStdString()))});
    } catch (const std::exception& error) { // the rest of the session is as it was saved
        title_->setText(QString::fromUtf8(error.what()));
    }
}

} // namespace attn
