#include "app/lab/widgets/spec_editor.h"
#include "app/lab/widgets/fit_to_font.h"

#include "app/lab/widgets/choice_keys.h"
#include "app/lab/widgets/engine_text.h"
#include "app/lab/widgets/idea_list.h"
#include "app/lab/widgets/list_control.h"
#include "app/lab/widgets/mask_term_controls.h"
#include "app/lab/widgets/param_controls.h"
#include "app/lab/widgets/spec_line.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/attention/catalogue.h"
#include "engine/attention/mask/catalogue.h"
#include "engine/core/error.h"

#include <QAbstractItemView>
#include <QComboBox>
#include <QCompleter>
#include <QCoreApplication>
#include <QGridLayout>
#include <QLineEdit>
#include <QSettings>
#include <QSignalBlocker>
#include <QToolButton>

#include <algorithm>
#include <array>
#include <span>

namespace attn {
namespace {

/// The slots of an attention besides its heads, position and mask.
constexpr std::array kMoreSlots{Slot::Projections, Slot::Score,  Slot::Normaliser,
                                Slot::Memory,      Slot::Output, Slot::Mixer};

/// @return the id of the part in a slot; empty: the composition names none
std::string idIn(const AttentionSpec& spec, Slot slot) {
    const auto found = spec.parts.find(slot);
    return found == spec.parts.end() ? std::string() : found->second.id;
}

QString slotTitle(Slot slot) {
    static const std::map<Slot, const char*> kTitles{
        {Slot::Heads, QT_TRANSLATE_NOOP("attn::SpecEditor", "Heads")},
        {Slot::Projections, QT_TRANSLATE_NOOP("attn::SpecEditor", "Projections")},
        {Slot::Position, QT_TRANSLATE_NOOP("attn::SpecEditor", "Position")},
        {Slot::Score, QT_TRANSLATE_NOOP("attn::SpecEditor", "Score")},
        {Slot::Normaliser, QT_TRANSLATE_NOOP("attn::SpecEditor", "Normaliser")},
        {Slot::Memory, QT_TRANSLATE_NOOP("attn::SpecEditor", "Memory")},
        {Slot::Output, QT_TRANSLATE_NOOP("attn::SpecEditor", "Output")},
        {Slot::Mixer, QT_TRANSLATE_NOOP("attn::SpecEditor", "Mixer")},
        {Slot::Norm, QT_TRANSLATE_NOOP("attn::SpecEditor", "Norm")},
        {Slot::FeedForward, QT_TRANSLATE_NOOP("attn::SpecEditor", "Feed-forward")},
        {Slot::Residual, QT_TRANSLATE_NOOP("attn::SpecEditor", "Residual")},
        {Slot::Layers, QT_TRANSLATE_NOOP("attn::SpecEditor", "Layers")}};
    return SpecEditor::tr(kTitles.at(slot));
}

int titleWidth(const QFontMetrics& font) {
    int width = 0;
    for (const auto& slots_ : {std::span<const Slot>(kSpecSlots), std::span<const Slot>(kBlockSlots)})
        for (const Slot slot : slots_) width = std::max(width, font.horizontalAdvance(slotTitle(slot)));
    return width + 4;
}

/// The parameters that have a number each.
std::span<const Param> singleParams(const Part* part) {
    if (!part) return {};
    return part->params.first(part->params.size() - (part->takesList ? 1 : 0));
}

} // namespace

SpecEditor::SpecEditor(QWidget* parent) : QWidget(parent) {
    auto* column = layoutOf<QVBoxLayout>(this);
    for (const Slot slot : {Slot::Heads, Slot::Position}) makeSlot(column, slot);
    makeMask(column);
    makeText(column);
    moreToggle_ = makeFold(column, "moreToggle", tr("More parts"),
                           tr("Projections, score, normaliser, memory, output and mixer"), kMoreSlots);
    blockToggle_ = makeFold(
        column, "blockToggle", tr("Rest of the model"),
        tr("Norm, feed-forward layer, residual connection and layers of the model around the attention"), kBlockSlots);
    setSpec(spec_, use_, 64);
}

QToolButton* SpecEditor::makeFold(QVBoxLayout* column, const QString& name, const QString& title, const QString& help,
                                  std::span<const Slot> slots_) {
    auto* toggle = named(new QToolButton, name, title, help);
    toggle->setText(title);
    toggle->setCheckable(true);
    toggle->setAutoRaise(true);
    toggle->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    auto* body = new QWidget;
    auto* inner = layoutOf<QVBoxLayout>(body);
    for (const Slot slot : slots_) makeSlot(inner, slot);
    place(column, {toggle, body});
    const auto show = [toggle, body](bool isOpen) {
        toggle->setArrowType(isOpen ? Qt::DownArrow : Qt::RightArrow);
        body->setVisible(isOpen);
    };
    connect(toggle, &QToolButton::toggled, body, show);
    connect(toggle, &QToolButton::clicked, this, [name](bool isOpen) { QSettings().setValue(name, isOpen); });
    show(false);
    toggle->setChecked(QSettings().value(name).toBool());
    return toggle;
}

void SpecEditor::makeText(QVBoxLayout* column) {
    text_ = new SpecLine(tr("Attention as text"),
                         tr("The whole composition in one line. Edit it here or below. Example: heads=multi_head(4), "
                            "position=alibi, mask=causal & window(16)"),
                         "spec");
    column->addWidget(text_);
    connect(text_, &SpecLine::typed, this, &SpecEditor::readText);
    connect(text_, &SpecLine::finished, this, &SpecEditor::settleText);
    connect(text_, &SpecLine::mended, this,
            [this](const QString& nearest) { change(AttentionSpec::parse(nearest.toStdString()), "nearest"); });
}

void SpecEditor::makeSlot(QVBoxLayout* column, Slot slot) {
    SlotRow& row = rows_[slot];
    row.choice = spoken(new QComboBox, "slot." + fromEngine(nameOf(slot)), slotTitle(slot));
    showIdeas(*row.choice);
    setLeastCharacters(*row.choice, 12);
    const bool isOfBlock = std::ranges::find(kBlockSlots, slot) != kBlockSlots.end();
    if (isOfBlock) row.choice->addItem(tr("the model's own"), QString());
    for (const Part* part : partCatalogue()) {
        if (part->slot != slot) continue;
        row.choice->addItem(fromEngine(part->title), fromEngine(part->id));
        addIdea(*row.choice, fromEngine(part->idea), fromEngine(part->idea));
    }
    auto* title = labelFor(row.choice, slotTitle(slot));
    new FontFit(title, [title](const QFontMetrics& font) { title->setMinimumWidth(titleWidth(font)); });
    row.caution = makeHintLabel();
    row.column = makeColumn({makeRow({title, {row.choice, 1}}), row.caution});
    row.column->setSpacing(spacing::kTight);
    column->addLayout(row.column);
    connect(row.choice, &QComboBox::activated, this, [this, slot](int index) {
        AttentionSpec next = spec_;
        const std::string id = rows_[slot].choice->itemData(index).toString().toStdString();
        if (id == rows_[slot].shown) return;
        if (id.empty())
            next.parts.erase(slot);
        else
            next.set(slot, id);
        change(next, fromEngine(nameOf(slot)));
    });
}

void SpecEditor::makeMask(QVBoxLayout* column) {
    auto* grid = new QGridLayout;
    grid->setColumnStretch(2, 1);
    maskText_ =
        named(new QLineEdit, "maskText", tr("Mask as an expression"),
              tr("Terms joined by & (and), | (or) and ~ (not), with brackets: causal & (window(8) | global(2))"));
    auto* title = labelFor(maskText_, tr("Mask"));
    new FontFit(title, [title](const QFontMetrics& font) { title->setMinimumWidth(titleWidth(font)); });
    maskJoin_ = named(new QComboBox, "maskJoin", tr("How a chosen mask joins the expression"),
                      tr("Whether the chosen mask replaces the current one, narrows it (and) or widens it (or)"));
    maskJoin_->addItem(tr("replace"));
    maskJoin_->addItem(tr("and &"), QStringLiteral("&"));
    maskJoin_->addItem(tr("or |"), QStringLiteral("|"));
    makeMaskPick();
    maskError_ = makeHintLabel("maskError");
    maskTerms_ = identified(new MaskTermControls, "maskTerms");
    grid->addWidget(title, 0, 0);
    grid->addWidget(maskText_, 0, 1, 1, 2);
    grid->addWidget(maskJoin_, 1, 1);
    grid->addWidget(maskPick_, 1, 2);
    place(column, {grid, maskError_, maskTerms_});
    connect(maskText_, &QLineEdit::textEdited, this, &SpecEditor::readMask);
    connect(maskText_, &QLineEdit::editingFinished, this, [this] {
        if (maskError_->text().isEmpty()) maskText_->setText(QString::fromStdString(spec_.mask.text()));
    });
    connect(maskTerms_, &MaskTermControls::textChanged, this, &SpecEditor::readMask);
}

/// Makes the list of masks, sorted by title. Typed text finds the titles that contain it.
void SpecEditor::makeMaskPick() {
    maskPick_ = named(new QComboBox, "maskPick", tr("Masks from the literature"),
                      tr("Choose a mask from the list, or type a part of its name: bidirectional, window, BigBird"));
    setLeastCharacters(*maskPick_, 12);
    maskPick_->setEditable(true);
    maskPick_->setInsertPolicy(QComboBox::NoInsert);
    maskPick_->lineEdit()->setPlaceholderText(tr("Search masks"));
    QCompleter* search = maskPick_->completer();
    search->setCompletionMode(QCompleter::PopupCompletion);
    search->setFilterMode(Qt::MatchContains);
    struct Entry {
        QString title, expression, idea, help;
    };
    std::vector<Entry> entries;
    for (const Part* part : maskParts())
        entries.push_back({fromEngine(part->title), QString::fromStdString(termText(*part, initialValues(*part))),
                           fromEngine(part->idea), fromEngine(part->idea)});
    for (const MaskRecipe& recipe : maskRecipes())
        entries.push_back({fromEngine(recipe.title), fromEngine(recipe.expression), fromEngine(recipe.idea),
                           fromEngine(recipe.idea) + '\n' + fromEngine(recipe.expression)});
    std::ranges::sort(entries, [](const Entry& a, const Entry& b) { return a.title.localeAwareCompare(b.title) < 0; });
    for (const Entry& entry : entries) {
        maskPick_->addItem(entry.title, entry.expression);
        addIdea(*maskPick_, entry.idea, entry.help);
    }
    maskPick_->setCurrentIndex(-1);
    showIdeas(*maskPick_);
    connect(maskPick_, &QComboBox::activated, this, &SpecEditor::pickMask);
    // Enter takes the first title found, unless another one is chosen in the list.
    connect(maskPick_->lineEdit(), &QLineEdit::returnPressed, this, [this, search] {
        if (maskPick_->currentText().isEmpty() || search->popup()->currentIndex().isValid()) return;
        search->setCompletionPrefix(maskPick_->currentText());
        if (const QString found = search->currentCompletion(); !found.isEmpty()) pickMask(maskPick_->findText(found));
    });
}

void SpecEditor::pickMask(int index) {
    const QString picked = maskPick_->itemData(index).toString(), join = maskJoin_->currentData().toString();
    maskPick_->setCurrentIndex(-1);
    maskPick_->clearEditText();
    if (picked.isEmpty()) return;
    const QString now = QString::fromStdString(spec_.mask.text());
    readMask(join.isEmpty() ? picked : QStringLiteral("(%1) %2 (%3)").arg(now, join, picked));
}

void SpecEditor::settleText() {
    if (!text_->hasError()) text_->setText(spec_.text(), [](const std::string&) { return false; });
}

void SpecEditor::readText() {
    try {
        const AttentionSpec spec = AttentionSpec::parse(text_->text().toStdString());
        text_->showError({});
        change(spec, "text");
    } catch (const Error& error) {
        text_->showError(sentenceOf(error));
    }
}

void SpecEditor::readMask(const QString& text) {
    try {
        AttentionSpec spec = spec_;
        spec.mask = MaskExpression::parse(text.toStdString());
        showSentence(maskError_, {});
        change(spec, "mask");
    } catch (const Error& error) {
        showSentence(maskError_, sentenceOf(error));
    }
}

void SpecEditor::change(const AttentionSpec& spec, const QString& what) {
    if (spec != spec_) emit edited(spec, what);
}

void SpecEditor::setSpec(const AttentionSpec& spec, const AttentionUse& use, int64_t tokens) {
    spec_ = spec;
    use_ = use;
    failure_.clear();
    // A part that was chosen elsewhere is in sight.
    const AttentionSpec usual;
    const auto isNew = [&](Slot slot) {
        const std::string id = idIn(spec, slot);
        return id != idIn(usual, slot) && id != rows_[slot].shown;
    };
    if (std::ranges::any_of(kMoreSlots, isNew)) moreToggle_->setChecked(true);
    if (std::ranges::any_of(kBlockSlots, isNew)) blockToggle_->setChecked(true);
    for (const Slot slot : kSpecSlots) showSlot(slot, &spec.part(slot));
    for (const Slot slot : kBlockSlots) showSlot(slot, spec.blockPart(slot));
    text_->setText(spec.text(), [&](const std::string& text) { return AttentionSpec::parse(text) == spec; });
    putText(maskText_, spec.mask.text(),
            [&](const std::string& text) { return MaskExpression::parse(text) == spec.mask; });
    showSentence(maskError_, {});
    maskTerms_->setMask(spec.mask, static_cast<double>(tokens));
    showProblems();
}

void SpecEditor::showSlot(Slot slot, const Part* part) {
    SlotRow& row = rows_[slot];
    const std::string_view id = part ? part->id : std::string_view();
    if (!row.isShown || row.shown != id) {
        row.isShown = true;
        row.shown = id;
        row.choice->setCurrentIndex(row.choice->findData(fromEngine(id)));
        row.choice->setToolTip(part ? fromEngine(part->idea) + '\n' + fromEngine(part->formula)
                                    : tr("The rest of the model decides"));
        showSentence(row.caution, part ? fromEngine(part->caution) : QString());
        for (QWidget* controls : std::initializer_list<QWidget*>{row.controls, row.list}) {
            if (!controls) continue;
            // It may have sent the signal that is being handled, so it is deleted later.
            controls->hide();
            row.column->removeWidget(controls);
            controls->deleteLater();
        }
        row.controls = nullptr;
        row.list = nullptr;
        if (part && part->takesList) {
            row.list = new ListControl(part->params.back(), this);
            row.column->addWidget(row.list);
            connect(row.list, &ListControl::listChanged, this, [this, slot](const std::vector<double>& list) {
                AttentionSpec next = spec_;
                next.setList(slot, list);
                change(next, fromEngine(nameOf(slot)) + QStringLiteral(".list"));
            });
        }
        if (const auto single = singleParams(part); !single.empty()) {
            row.controls = new ParamControls(single, this);
            row.column->addWidget(row.controls);
            connect(row.controls, &ParamControls::valueChanged, this, [this, slot](const QString& param, double value) {
                AttentionSpec next = spec_;
                next.setValue(slot, param.toStdString(), value);
                change(next, fromEngine(nameOf(slot)) + '.' + param);
            });
        }
    }
    if (!part) return;
    const PartValues values = spec_.values(slot);
    if (row.list) row.list->setList(values.list(part->params.back().id));
    for (const Param& param : singleParams(part)) row.controls->setValue(param.id, values.real(param.id));
}

void SpecEditor::setFailure(const QString& sentence) {
    failure_ = sentence;
    showProblems();
}

void SpecEditor::showProblems() {
    const std::vector<SpecProblem> problems = check(spec_, use_);
    if (problems.empty()) return text_->showProblem(failure_, {});
    const auto& nearest = problems.front().nearest;
    text_->showProblem(QString::fromStdString(problems.front().sentence), nearest ? nearest->text() : std::string());
}

} // namespace attn
