#include "app/lab/panels/generate_panel.h"

#include "app/lab/common/control_groups.h"
#include "app/lab/common/icons.h"
#include "app/lab/common/theme.h"
#include "app/lab/controls/prompt_suggestions.h"
#include "app/lab/panels/writing_notes.h"
#include "app/lab/widgets/fit_to_font.h"
#include "app/lab/widgets/generated_text.h"
#include "app/lab/widgets/prompt_editor.h"
#include "app/lab/widgets/ranged_box.h"
#include "app/lab/widgets/token_chips.h"
#include "app/lab/widgets/two_line_hint.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/session_file.h"
#include "app/lab/workbench/undo_commands.h"
#include "engine/attention/position/dependency_tree.h"

#include <QCheckBox>
#include <QLineEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>

#include <algorithm>
#include <array>
#include <utility>

namespace attn {
namespace {

constexpr int kTypingPauseMs = 60; ///< before a model reads that cannot keep up with the keys
constexpr double kFastMs = 30;     ///< per prompt, of one that can
/// Tokens per second at each slider step. The step after the last one means "as fast as possible".
constexpr std::array kSpeeds = {0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 35.0, 60.0, 100.0};
constexpr int kInitialSpeed = 5;

/// A button that can be as narrow as its text.
class NarrowButton : public QPushButton {
public:
    explicit NarrowButton(const QString& text) : QPushButton(text) {
        setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    }
    QSize minimumSizeHint() const override {
        return {fontMetrics().horizontalAdvance(text()) + 2 * spacing::kGap, QPushButton::minimumSizeHint().height()};
    }
};

QWidget* group(const char* id, QLayout* layout) {
    auto* container = new QWidget;
    layout->setContentsMargins(0, 0, 0, 0);
    container->setLayout(layout);
    assignControlGroup(container, id);
    return container;
}

std::string joinIds(const std::vector<int>& ids) {
    std::string text;
    for (const int id : ids) text += (text.empty() ? "" : ", ") + std::to_string(id);
    return text;
}

/// Parses token ids, separated by anything that is not a digit.
std::vector<int> parseIds(const QString& text) {
    static const QRegularExpression separator("[^0-9]+");
    std::vector<int> ids;
    for (const QString& part : text.split(separator, Qt::SkipEmptyParts)) {
        bool fits = false;
        if (const int id = part.toInt(&fits); fits) ids.push_back(id);
    }
    return ids;
}

/// Whether a text ends with a space as a token of its own, in a model whose words begin with theirs.
bool endsWithLoneSpace(const Snapshot& snapshot) {
    const auto& tokens = snapshot.sequence->tokens;
    const auto& pieces = snapshot.model ? snapshot.model->tokenTexts : std::vector<std::string>();
    const auto words = std::ranges::count_if(
        pieces, [](const std::string& piece) { return piece.size() > 2 && piece.front() == ' '; });
    return !tokens.empty() && tokens.back().text == " " && 4 * words > std::ssize(pieces);
}

} // namespace

/// Text, or ids where the model has no tokenizer.
GivenText GeneratePanel::promptOf(const Snapshot& snapshot) {
    const Sequence& sequence = *snapshot.sequence;
    const RestoreBranchesCommand* unread = snapshot.unread.get();
    GivenText shown = unread ? unread->given : sequence.given;
    shown.target.clear();
    std::vector<int> ids = std::exchange(shown.tokens, {});
    if (!snapshot.model || snapshot.model->hasTokenizer) return shown;
    if (unread) {
        if (ids.empty()) ids = unread->source;
        if (ids.empty())
            for (const SavedToken& node : unread->nodes)
                if (std::ssize(ids) < unread->promptLength) ids.push_back(node.token);
        if (!ids.empty()) shown.text = joinIds(ids);
        return shown;
    }
    ids.clear();
    for (const TokenInfo& token : snapshot.model->readsSource ? sequence.source : sequence.tokens)
        if (token.isPrompt) ids.push_back(token.id);
    shown.text = joinIds(ids);
    return shown;
}

GivenText GeneratePanel::typedPrompt() const {
    return {
        .text = prompt_->toPlainText().toStdString(), .second = second_->text().toStdString(), .parents = typedTree()};
}

GeneratePanel::GeneratePanel(Workbench& bench, QWidget* parent) : Panel(bench, parent), hider_(bench) {
    generation_ = new QWidget; // a lock shows the group in it again
    makeColumn(generation_, 0, {makeRunGroup()});
    makeColumn(this, spacing::kGap, {makePromptGroup(), generation_, {makeTextGroup(), 1}});
    text_->setShade(predictionColour(bench_.theme()));
    connect(&bench_, &Workbench::themeChanged, this,
            [this](ThemeId theme) { text_->setShade(predictionColour(theme)); });
    typing_.setParent(this);
    typing_.setObjectName("typingPause");
    typing_.setSingleShot(true);
    connect(&typing_, &QTimer::timeout, this, &GeneratePanel::postPrompt);
    // The same token lights up here and in the rows and columns of the attention views.
    connect(chips_, &TokenChips::tokenHovered, this, [this](int index) {
        if (!readsSource()) bench_.hoverToken(index);
    });
    connect(text_, &GeneratedText::tokenHovered, this, [this](int index) { bench_.hoverToken(index); });
    connect(&bench_, &Workbench::tokenHovered, chips_,
            [this](int token) { chips_->setHighlighted(readsSource() ? -1 : token); });
    connect(&bench_, &Workbench::tokenHovered, text_, &GeneratedText::setHighlighted);
    updateButtons();
}

QWidget* GeneratePanel::makePromptGroup() {
    prompt_ =
        named(new PromptEditor, "prompt", tr("Prompt"), tr("The text that the model continues. Ctrl+Return runs it."));
    connect(prompt_, &QPlainTextEdit::textChanged, &typing_, qOverload<>(&QTimer::start));
    connect(prompt_, &PromptEditor::runRequested, this, &GeneratePanel::run);
    second_ = named(new QLineEdit, "second", tr("Second text"),
                    tr("A text that the model reads after the first one, for example the answer to a question"));
    second_->setPlaceholderText(tr("Second text (optional)"));
    second_->setMaxLength(static_cast<int>(kMostPromptBytes) / 4);
    connect(second_, &QLineEdit::textChanged, &typing_, qOverload<>(&QTimer::start));
    tree_ = named(
        new QLineEdit, "tree", tr("Dependency tree of the text"),
        tr("For each word, type the number of the word it depends on, counted from 1, and 0 for the root. Example: "
           "2, 0, 2. If you type nothing, the model uses the tree of its composition."));
    tree_->setPlaceholderText(tr("Dependency tree, such as 2, 0, 2 (optional)"));
    connect(tree_, &QLineEdit::textChanged, &typing_, qOverload<>(&QTimer::start));
    suggestions_ = spoken(new PromptSuggestions, "suggestions", tr("Prompts to try"));
    connect(suggestions_, &PromptSuggestions::chosen, prompt_, &QPlainTextEdit::setPlainText);
    tokenCount_ = new TwoLineHint("promptCount");
    connect(prompt_, &LimitedEditor::refused, this, &GeneratePanel::refuse);
    chips_ = spoken(new TokenChips, "promptTokens", tr("Tokens of the prompt"));
    chips_->setEmptyText(tr("The prompt's tokens appear here."));
    chips_->setMaximumHeight(fontMetrics().height() * 5);
    chips_->hide();
    connect(chips_, &TokenChips::tokenClicked, this, [this](int index) {
        if (!readsSource()) clickToken(index); // tokens of a source are not those that the model writes
    });
    showTokens_ = helped(new QCheckBox(tr("Show tokens")), "showTokens",
                         tr("Show the pieces into which the tokenizer splits the prompt, each with its id"));
    connect(showTokens_, &QCheckBox::toggled, chips_, &QWidget::setVisible);
    sourceTitle_ = identified(labelFor(prompt_, tr("Source")), "sourceTitle");
    return group("prompt", makeColumn({sourceTitle_, prompt_, suggestions_, second_, tree_,
                                       makeRow({{tokenCount_, 1}, showTokens_}), chips_}));
}

QWidget* GeneratePanel::makeRunGroup() {
    const auto button = [this](QPushButton* made, const char* id, const QString& help, void (GeneratePanel::*slot)()) {
        connect(made, &QPushButton::clicked, this, slot);
        return named(made, id, made->text(), help);
    };
    run_ = button(new QPushButton(tr("Run")), "run",
                  tr("Generate tokens until the chosen number is reached or you stop (Ctrl+R)"), &GeneratePanel::run);
    pressed_ = run_;
    run_->setProperty("primary", true);
    run_->setIcon(themedIcon("play", QPalette::HighlightedText));
    run_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    step_ = button(new NarrowButton(tr("Step")), "step", tr("Generate one token (Ctrl+T)"), &GeneratePanel::step);
    stop_ = button(new NarrowButton(tr("Stop")), "stop", tr("Stop reading, generating, loading or exporting (Ctrl+.)"),
                   &GeneratePanel::stop);
    reset_ = button(new NarrowButton(tr("Reset")), "reset",
                    tr("Return to the prompt; the branches are kept (Ctrl+Shift+R)"), &GeneratePanel::reset);
    speed_ = named(new QSlider(Qt::Horizontal), "speed", tr("Speed in tokens per second"),
                   tr("Tokens per second; the right end is as fast as the device allows"));
    speed_->setRange(0, static_cast<int>(kSpeeds.size()));
    speed_->setPageStep(1);
    speed_->setMinimumWidth(48);
    speed_->setValue(kInitialSpeed);
    speedLabel_ = plainLabel();
    keepWidthOf(speedLabel_, tr("%1 tokens/s").arg("0.5 "));
    amount_ = named(new WholeBox, "amount", tr("Maximum number of tokens that Run generates"));
    amount_->setSuffix(tr(" tokens"));
    connect(speed_, &QSlider::valueChanged, this, [this] {
        showSpeed();
        const bool isGenerating = snapshot_ && snapshot_->status.activity == Activity::Generating;
        if (isGenerating) {
            stop();
            run();
        }
    });
    showSpeed();
    return group("generation", makeColumn({makeRow({{run_, 1}, step_, stop_, reset_}),
                                           makeRow({amount_, {speed_, 1}, speedLabel_})}));
}

QWidget* GeneratePanel::makeTextGroup() {
    text_ = spoken(new GeneratedText, "text", tr("Text so far"));
    text_->setMinimumHeight(fontMetrics().lineSpacing() * 3);
    connect(text_, &GeneratedText::tokenClicked, this, &GeneratePanel::clickToken);
    notes_ = new WritingNotes(bench_, *amount_);
    targetTitle_ = identified(labelFor(text_, tr("Target")), "targetTitle");
    return group("text", makeColumn({targetTitle_, {text_, 1}, notes_}));
}

void GeneratePanel::type(const QString& text) { prompt_->showText(text); }

QString GeneratePanel::titleNow() const {
    const ModelInfo* model = snapshot_ ? snapshot_->model.get() : nullptr;
    return !model                ? QString()
           : model->readsSource  ? tr("Translate")
           : model->writesText() ? QString()
           : model->maskToken    ? tr("Fill the gap")
                                 : tr("Input");
}

bool GeneratePanel::readsSource() const { return snapshot_ && snapshot_->model && snapshot_->model->readsSource; }

void GeneratePanel::showModel() {
    const ModelInfo* model = snapshot_ ? snapshot_->model.get() : nullptr;
    if (model && model->writtenPicture) // one press writes all of it
        amount_->setValue(std::max(amount_->value(), static_cast<int>(model->writtenPicture->values())));
    const bool isFilling = model && model->maskToken, isWriting = !model || model->writesText();
    for (QLabel* title : {sourceTitle_, targetTitle_}) title->setVisible(readsSource());
    if (readsSource()) { // a target cannot be longer
        wantedAmount_ = std::max(wantedAmount_, amount_->value());
        amount_->setMaximum(model->contextLength);
    } else {
        amount_->setMaximum(WritingNotes::kMostAmount);
        if (const int wanted = std::exchange(wantedAmount_, 0); wanted > 0) amount_->setValue(wanted);
    }
    second_->setVisible(model && model->readsPairs);
    tree_->setVisible(model && model->readsTrees);
    generation_->setVisible(isWriting);
    prompt_->setPlaceholderText(!model || model->hasTokenizer ? tr("Type a prompt. The model reads it as you type.")
                                                              : tr("Type token ids, such as 1, 403, 407."));
    prompt_->setWhatsThis(model ? QString::fromStdString(model->tokenizerProblem) : QString());
    prompt_->setToolTip(readsSource()
                            ? tr("The source: the text that the model translates or rewrites. Ctrl+Return runs it.")
                        : isWriting ? tr("The text that the model continues. Ctrl+Return runs it.")
                        : isFilling ? tr("The text that the model reads. It fills in a hidden word.")
                                    : tr("The text that the model reads"));
    const QString click = isWriting   ? tr("Click to continue from here.")
                          : isFilling ? tr("Click to hide this word, or to show it again.")
                                      : QString();
    chips_->setClickHelp(readsSource() ? QString() : click);
    text_->setClickHelp(click);
    text_->setPlaceholderText(readsSource() ? tr("Press Run, and the model writes the target here, one token at a "
                                                 "time. Click a token to continue from there.")
                              : isWriting   ? tr("Press Run, and the model continues the prompt here, one token at a "
                                                   "time. Click a token to continue from there.")
                              : isFilling   ? tr("The text appears here. Click a word to hide it.")
                                            : tr("The text appears here."));
}

void GeneratePanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const bool isNewSequence = !snapshot_ || snapshot_->sequence != snapshot->sequence,
               isNewModel = !snapshot_ || snapshot_->model != snapshot->model,
               isNewPrompt = isNewSequence || snapshot_->unread != snapshot->unread;
    snapshot_ = snapshot;
    typing_.setInterval(snapshot->status.lastPrefillMs < kFastMs ? 0 : kTypingPauseMs);
    if (isNewModel) {
        suggestions_->showFor(QString::fromStdString(snapshot->path()));
        showModel();
    }
    if (isNewPrompt && snapshot->sequence) syncPrompt(*snapshot);
    if (isNewSequence && snapshot->sequence) {
        const auto& tokens = snapshot->sequence->tokens;
        std::vector<TokenInfo> prompt;
        std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(prompt),
                     [](const TokenInfo& token) { return token.isPrompt; });
        const int written = static_cast<int>(tokens.size() - prompt.size());
        chips_->setTokens(readsSource() ? std::span<const TokenInfo>(snapshot->sequence->source) : prompt);
        text_->setTokens(tokens);
        const int context = snapshot->model ? snapshot->model->contextLength : 0;
        const bool isWriting = !snapshot->model || snapshot->model->writesText();
        hint(readsSource() ? (chips_->count() == 1 ? tr("%L1 token in the source, %L2 of %L3 generated")
                                                   : tr("%L1 tokens in the source, %L2 of %L3 generated"))
                                 .arg(chips_->count())
                                 .arg(written)
                                 .arg(context)
             : isWriting ? tr("%L1 prompt + %L2 generated of %L3 tokens").arg(chips_->count()).arg(written).arg(context)
                         : tr("%L1 of %L2 tokens").arg(chips_->count()).arg(context));
        if (snapshot->model && snapshot->model->ownContext > context) // else the limit is the model's
            hint(tr("%1 (Attention Lab's limit)").arg(tokenCount_->text()),
                 tr("%1. Attention Lab reads at most %L2 of the %L3 tokens that this model allows.")
                     .arg(tokenCount_->text(), QLocale().toString(context),
                          QLocale().toString(snapshot->model->ownContext)));
        if (tokens.empty() && snapshot->model) hintAtEmpty();
        if (isWriting && endsWithLoneSpace(*snapshot))
            hint(tr("The prompt ends with a space. Remove it."),
                 tr("The prompt ends with a space, but this model's words begin with one. Remove it."));
        if (snapshot->model) hider_.follow(*snapshot);
    }
    if (snapshot->readsLongPrompt())
        hint(tr("Reading the prompt: %L1 characters…").arg(prompt_->toPlainText().size()));
    else if (snapshot->unread && snapshot->status.activity == Activity::Idle)
        hint(snapshot->model && snapshot->model->writesText()
                 ? tr("The model has not read this prompt. Run reads it.")
                 : tr("The model has not read this text. Press Ctrl+Return, and the model reads it."));
    notes_->setSnapshot(snapshot);
    text_->setEnabled(!snapshot->unread);
    chips_->setEnabled(!snapshot->unread);
    std::erase_if(inFlight_, [&](const Posted& each) { return each.number <= snapshot->promptNumber; });
    updateButtons();
}

void GeneratePanel::syncPrompt(const Snapshot& snapshot) {
    const GivenText prompt = promptOf(snapshot);
    const bool isEcho = std::ranges::find(inFlight_, prompt, &Posted::prompt) != inFlight_.end();
    if (!isEcho && prompt != shownPrompt_ && prompt != typedPrompt()) {
        const QSignalBlocker quiet(prompt_), quietSecond(second_), quietTree(tree_);
        prompt_->showText(QString::fromStdString(prompt.text));
        prompt_->moveCursor(QTextCursor::End);
        second_->setText(QString::fromStdString(prompt.second));
        tree_->setText(QString::fromStdString(joinIds(prompt.parents)));
        typing_.stop();
    }
    shownPrompt_ = prompt;
}

void GeneratePanel::refuse(const QString& why) { hint(tr("%1 Use the Text tab for long texts.").arg(why)); }

void GeneratePanel::hintAtEmpty() {
    if (snapshot_->model->hasTokenizer)
        hint(tr("The prompt is empty. Type something."));
    else
        hint(tr("Type token ids, such as 1, 403, 407."),
             tr("This model has no tokenizer: type token ids, such as 1, 403, 407."));
}

void GeneratePanel::hint(const QString& text, const QString& help) {
    tokenCount_->setText(text);
    tokenCount_->setToolTip(help.isEmpty() ? text : help);
}

std::vector<int> GeneratePanel::typedTree() const {
    return parentsFrom(tree_->text().toStdString()).value_or(std::vector<int>());
}

QString GeneratePanel::objectionToTree(const std::vector<int>& parents) const {
    if (!snapshot_->model->readsTrees || tree_->text().trimmed().isEmpty()) return {};
    if (parents.empty()) return tr("Write the tree as numbers with commas between them, such as 2, 0, 2.");
    const auto problem = problemOf(std::vector<double>(parents.begin(), parents.end()));
    return problem ? tr("This is not a tree: %1.").arg(QString::fromStdString(problem->sentence)) : QString();
}

bool GeneratePanel::postPrompt() {
    typing_.stop();
    if (!snapshot_ || !snapshot_->model) return false;
    const bool hasTokenizer = snapshot_->model->hasTokenizer;
    const auto promptCommand = [&](GivenText typed) {
        if (!hasTokenizer) typed.tokens = parseIds(QString::fromStdString(std::exchange(typed.text, {})));
        return SetPromptCommand{std::move(typed)};
    };
    const QString shown = prompt_->toPlainText();
    if (const QString why = prompt_->objectionTo(shown.size()); !why.isEmpty()) {
        refuse(why);
        return false;
    }
    GivenText typed = typedPrompt();
    if (!snapshot_->model->readsPairs) typed.second.clear();
    if (!snapshot_->model->readsTrees) typed.parents.clear();
    if (const QString why = objectionToTree(typed.parents); !why.isEmpty()) {
        hint(why);
        return false;
    }
    SetPromptCommand command = promptCommand(typed);
    if (!hasTokenizer) typed.text = joinIds(command.given.tokens);
    const bool isPosted = typed == (inFlight_.empty() ? shownPrompt_ : inFlight_.back().prompt);
    if (isPosted) return true;
    // While a prompt that was typed before is still running, the snapshot is older than that one.
    Command before =
        snapshot_->unread ? *snapshot_->unread : SessionDocument::fromSnapshot(*snapshot_).restoreCommand();
    if (!inFlight_.empty()) before = promptCommand(inFlight_.back().prompt);
    if (hasTokenizer && !isLesson_) typed_ = shown;
    bench_.undoStack().push(
        new PromptStep(bench_.poster(), std::move(before), std::move(command), bench_.undoSteps().step()));
    inFlight_.push_back({typed, bench_.textNumber()});
    return true;
}

void GeneratePanel::addUnread(SessionDocument& document) const {
    const bool isUnread = typing_.isActive() || !inFlight_.empty();
    if (!isUnread || !snapshot_ || !snapshot_->model) return;
    document.given = typedPrompt();
    document.branches.clear(); // of the prompt before
    document.source.clear();
    document.current = -1;
    document.promptLength = 0;
}

void GeneratePanel::clickToken(int tokenIndex) {
    if (!snapshot_ || !snapshot_->model || bench_.isTextGone()) return;
    if (snapshot_->model->maskToken) return hider_.click(tokenIndex);
    if (snapshot_->model->writesText()) goTo(tokenIndex);
}

void GeneratePanel::goTo(int tokenIndex) {
    if (!snapshot_ || !snapshot_->sequence || !snapshot_->branches) return;
    const auto& tokens = snapshot_->sequence->tokens;
    if (tokenIndex < 0 || tokenIndex >= static_cast<int>(tokens.size())) return;
    const int node = tokens[static_cast<size_t>(tokenIndex)].branchNode;
    if (node == snapshot_->branches->current) return;
    bench_.undoStack().push(new BranchMove(bench_.poster(), snapshot_->branches->current, GoToBranchCommand{node},
                                           tr("moving to an earlier token")));
}

double GeneratePanel::tokensPerSecond() const {
    const auto at = static_cast<size_t>(speed_->value());
    return at < kSpeeds.size() ? kSpeeds[at] : 0;
}

void GeneratePanel::showSpeed() {
    const double rate = tokensPerSecond();
    speedLabel_->setText(rate > 0 ? tr("%1 tokens/s").arg(rate) : tr("fastest"));
}

/// What was typed last may still be waiting, or reading it was stopped.
bool GeneratePanel::canRunPrompt() {
    if (typing_.isActive() && !postPrompt()) return false;
    const bool isEmpty = snapshot_ && snapshot_->model && snapshot_->sequence && bench_.tokenCount() == 0;
    if (isEmpty && !bench_.isTextGone()) {
        hintAtEmpty();
        return false;
    }
    const bool isLeft = snapshot_ && snapshot_->unread && !snapshot_->readsUnread;
    if (isLeft && inFlight_.empty()) bench_.post(*snapshot_->unread);
    return true;
}

void GeneratePanel::run() {
    if (!canRunPrompt() || (snapshot_ && snapshot_->model && !snapshot_->model->writesText())) return;
    write();
}

void GeneratePanel::write() {
    bench_.post(GenerateCommand{.maxTokens = amount_->value(), .tokensPerSecond = tokensPerSecond()});
}

void GeneratePanel::step() {
    if (canRunPrompt()) bench_.post(GenerateCommand{.maxTokens = 1, .tokensPerSecond = 0});
}

void GeneratePanel::stop() { bench_.post(StopCommand{}); }

void GeneratePanel::reset() {
    stop();
    bench_.post(ResetCommand{});
}

QJsonObject GeneratePanel::saveView() const {
    return {{"tokens", showTokens_->isChecked()}, {"amount", amount_->value()}, {"speed", speed_->value()}};
}

void GeneratePanel::restoreView(const QJsonObject& view) { // files from before 0.4 have the first alone
    showTokens_->setChecked(view.value("tokens").toBool());
    amount_->setValue(view.value("amount").toInt(amount_->value()));
    speed_->setValue(view.value("speed").toInt(speed_->value()));
}

void GeneratePanel::focusPrompt() {
    prompt_->setFocus(Qt::ShortcutFocusReason);
    prompt_->selectAll();
}

void GeneratePanel::updateButtons() {
    const bool canGenerate = snapshot_ && snapshot_->next && snapshot_->model && snapshot_->model->writesText();
    const Activity activity = snapshot_ ? snapshot_->status.activity : Activity::Idle;
    const bool isBusy = activity == Activity::Generating, canStop = activity != Activity::Idle;
    // A button that is disabled gives its focus to the next one: Space would press Reset.
    QPushButton* const focused = run_->hasFocus()    ? run_
                                 : step_->hasFocus() ? step_
                                 : stop_->hasFocus() ? stop_
                                                     : nullptr;
    if (focused && focused != stop_) pressed_ = focused;
    run_->setEnabled(canGenerate && !isBusy);
    step_->setEnabled(canGenerate && !isBusy);
    stop_->setEnabled(canStop);
    reset_->setEnabled(canGenerate);
    if (focused) (isBusy || (focused == stop_ && canStop) ? stop_ : pressed_)->setFocus();
    prompt_->setEnabled(snapshot_ && snapshot_->model);
}

} // namespace attn
