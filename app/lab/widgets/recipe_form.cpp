#include "app/lab/widgets/recipe_form.h"

#include "app/lab/widgets/catalogue_menu.h"
#include "app/lab/widgets/choice_keys.h"
#include "app/lab/widgets/param_controls.h"
#include "app/lab/widgets/spec_line.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/attention/attention_spec.h"
#include "engine/core/error.h"
#include "engine/session/snapshot.h"
#include "engine/training/attention_recipe.h"
#include "engine/training/initial_weights.h"
#include "engine/training/precision.h"
#include "engine/training/starting_model.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/translation.h"

#include <nlohmann/json.hpp>

#include <QComboBox>
#include <QCoreApplication>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalBlocker>
#include <QStandardItemModel>
#include <QToolButton>

#include <algorithm>
#include <array>

namespace attn {
namespace {

using Kind = Param::Kind;

// Ids are the fields of recipe.json.
constexpr std::array kModelParams{
    Param{"layers", "Layers", "Number of layers, each with attention and an MLP", Kind::Integer, 1, 12, 1, 2},
    Param{"heads", "Heads", "Attention heads per layer. They share the width of the model", Kind::Integer, 1, 16, 1, 4},
    Param{"key_value_heads", "Key/value heads",
          "Fewer than heads: groups of heads share keys and values. 0: as many as heads", Kind::Integer, 0, 16, 1, 0},
    Param{"patch", "Patch", "Side of a patch, in pixels. Each patch becomes one token", Kind::Integer, 1, 32, 1, 4},
    Param{"window", "Window",
          "Side of Swin's attention windows, in tokens. Every other layer shifts them. 0: no windows. Requires the "
          "mean of the patches as the source of the answer",
          Kind::Integer, 0, 16, 1, 0},
    Param{"merges", "Merges",
          "How many times 2 × 2 tokens are merged into one of twice the width, as in Swin. Requires the mean of "
          "the patches as the source of the answer",
          Kind::Integer, 0, 3, 1, 0},
    Param{"pooled_tokens", "Pooled tokens",
          "Number of tokens from the middle layer on, after similar ones are merged. 0: all", Kind::Integer, 0, 256, 1,
          0},
    Param{"width", "Width", "Numbers in each token's vector", Kind::Integer, 8, 512, 8, 64},
    Param{"feed_forward", "Feed-forward width", "Inner width of the feed-forward layers. 0: the default of the family",
          Kind::Integer, 0, 2048, 8, 0},
    Param{"initial_deviation", "Initial deviation",
          "Standard deviation of the weight matrices before training, for the normal rules", Kind::Real, 0, 1, 0.001,
          0.02},
    Param{"bias", "Biases", "Off: every bias stays at zero", Kind::Toggle, 0, 1, 1, 1},
    Param{"attention_only", "Attention only", "Leave out the feed-forward layers", Kind::Toggle, 0, 1, 1, 0},
};
constexpr std::array kAdapterParams{
    Param{"lora_rank", "Low-rank adapters (LoRA)",
          "Instead of the model's own parameters, train two narrow matrices A and B beside each matrix of queries and "
          "values, whose product is added to it. The number is their rank. 0: no adapters",
          Kind::Integer, 0, 64, 1, 0},
};
constexpr std::array kTrainingParams{
    Param{"steps", "Steps", "Number of updates of the parameters", Kind::Integer, 1, 1'000'000, 1, 1000},
    Param{"batch", "Batch", "Examples per step", Kind::Integer, 1, 256, 1, 64},
    Param{"learning_rate", "Learning rate", "Learning rate after the warm-up", Kind::Real, 0, 1, 0.00001, 0.003},
    Param{"final_learning_rate", "Final learning rate", "Learning rate at the last step", Kind::Real, 0, 1, 0.00001, 0},
    Param{"warm_up", "Warm-up", "Number of steps in which the learning rate rises", Kind::Integer, 0, 100'000, 1, 50},
    Param{
        "window_stages", "Window stages",
        "Equal parts of the training run. In each the windows of the attention's masks are twice as wide as in the one "
        "before, and the learning rate is half as high. 1: windows do not grow",
        Kind::Integer, 1, 8, 1, 1},
    Param{"beta2", "Beta2", "How long Adam remembers the size of gradients", Kind::Real, 0.8, 0.9999, 0.0001, 0.98},
    Param{"momentum", "Momentum", "Momentum of SGD", Kind::Real, 0, 0.99, 0.01, 0.9},
    Param{"weight_decay", "Weight decay", "How strongly weight matrices are pulled towards zero", Kind::Real, 0, 1,
          0.01, 0.1},
    Param{"clip", "Gradient clip", "Largest length of the gradient. 0: no limit", Kind::Real, 0, 10, 0.1, 1},
    Param{"layer_decay", "Layer decay",
          "Factor of the learning rate for each layer below the last. 1: all layers learn alike", Kind::Real, 0, 1,
          0.05, 1},
    Param{"dropout", "Dropout", "Share of activations that are set to zero at random", Kind::Real, 0, 0.5, 0.01, 0},
    Param{"smoothing", "Label smoothing", "Share of each target's probability that is spread over all tokens",
          Kind::Real, 0, 0.5, 0.01, 0},
    Param{"accumulation", "Accumulation", "Number of parts of the batch that run one after another", Kind::Integer, 1,
          16, 1, 1},
    Param{"gradient_checkpointing", "Gradient checkpointing",
          "Compute each layer's activations again in the backward pass: less memory, more time, identical results",
          Kind::Toggle, 0, 1, 1, 0},
    Param{"seed", "Seed", "Random seed of initial parameters, examples and dropout", Kind::Integer, 0, 1'000'000, 1, 0},
    Param{"evaluate_every", "Measure every", "Steps between measurements on examples outside the training data",
          Kind::Integer, 1, 100'000, 1, 50},
    Param{"checkpoint_every", "Checkpoint every", "Steps between the checkpoints in the timeline", Kind::Integer, 1,
          100'000, 1, 25},
};

QString fromView(std::string_view text) { return QCoreApplication::translate("attn::Task", std::string(text).c_str()); }

} // namespace

RecipeForm::RecipeForm(QWidget* parent)
    : QWidget(parent), json_(std::make_unique<nlohmann::json>(toJson(suggestedRecipe(*taskCatalogue().front())))) {
    modelControls_ = new ParamControls(kModelParams);
    trainingControls_ = new ParamControls(kTrainingParams);
    problem_ = makeHintLabel("recipeProblem");
    precisionCard_ = makeHintLabel("precisionCard");
    auto* precision = choice("precision", tr("Precision"), {}, {},
                             tr("How many bits activations and their gradients have from the forward to the backward "
                                "pass. The text below says what each choice is for"));
    for (const Precision& each : precisions())
        precision->addItem(tr("Precision: %1").arg(fromView(each.title)), fromView(each.id));
    taskPart_ = makeTask();
    makeColumn(
        this, 0,
        {makeSettings(), makeModel(),
         makeSection(
             tr("Training"), "trainingSection",
             {{"optimiser",
               choice("optimiser", tr("Optimiser"), {"adamw", "adam", "sgd"},
                      {tr("AdamW"), tr("Adam"), tr("SGD with momentum")}, tr("How gradients become updates"))},
              {"schedule", choice("schedule", tr("Schedule"), {"constant", "inverse-square-root", "cosine", "linear"},
                                  {tr("Constant"), tr("Inverse square root"), tr("Cosine"), tr("Linear")},
                                  tr("The learning rate after the warm-up"))},
              {"precision", precision}},
             trainingControls_, precisionCard_),
         problem_});
    for (ParamControls* controls : {modelControls_, adapterControls_, trainingControls_})
        connect(controls, &ParamControls::valueChanged, this, [this](const QString& id, double value) {
            const std::string field = id.toStdString();
            set(field, (*json_)[field].is_boolean() ? nlohmann::json(value != 0) : nlohmann::json(value));
        });
    const auto& tasks = taskCatalogue(); // a task that visibly succeeds within a minute
    chooseTask(static_cast<int>(std::ranges::find(tasks, "sort", &Task::id) - tasks.begin()));
}

RecipeForm::~RecipeForm() = default;

QWidget* RecipeForm::makeModel() {
    auto* container = new QWidget;
    attention_ = new SpecLine(
        tr("Attention"),
        tr("A composition as in the Playground, such as position=alibi, mask=causal & window(8). Separate "
           "several with ; to alternate them from layer to layer. Empty: the default of the family. Of a model to "
           "start from, it replaces only what it names"),
        "recipeAttention");
    connect(attention_, &SpecLine::typed, this, [this](const QString& text) { set("attention", text.toStdString()); });
    connect(attention_, &SpecLine::mended, this, [this](const QString& nearest) {
        set("attention", nearest.toStdString());
        show();
    });
    auto* init = choice("init", tr("Initial weights"), {}, {}, tr("The random numbers with which matrices begin"));
    for (const Initialisation& rule : initialisations()) {
        init->addItem(tr("Initial weights: %1").arg(fromView(rule.title)),
                      QString::fromUtf8(rule.id.data(), static_cast<qsizetype>(rule.id.size())));
        init->setItemData(init->count() - 1,
                          QStringLiteral("%1\n%2\n%3 %4")
                              .arg(fromView(rule.idea), fromView(rule.formula), fromView(rule.source.authors))
                              .arg(rule.source.year),
                          Qt::ToolTipRole);
    }
    model_ = makeSection(
        tr("Model"), "modelSection",
        {{"family", choice("family", tr("Family"), {}, {}, tr("Positions, norms and activation of the layers")),
          For::Sequences},
         {"pooling",
          choice("pooling", tr("Source of the answer"), {"cls", "mean"},
                 {tr("A CLS token"), tr("The mean of the patches")},
                 tr("What the classifier reads from the last layer")),
          For::Pictures},
         {"positions",
          choice("positions", tr("Positions"), {"learned", "sinusoidal", "none"},
                 {tr("Positions of the family"), tr("Sines of row and column"), tr("No positions")},
                 tr("How the model knows the position of a patch or a token")),
          For::PicturesAndSources},
         {"activation",
          choice("activation", tr("Activation"), {"gelu_new", "gelu", "relu"},
                 {tr("GELU (tanh)"), tr("GELU (exact)"), tr("ReLU")}, tr("Activation of the feed-forward layers"))},
         {"init", init}},
        modelControls_);
    makeColumn(container, 0, {attention_, model_});
    return container;
}

QWidget* RecipeForm::makeTask() {
    auto* container = new QWidget;
    task_ = named(new QComboBox, "task", tr("Task"), tr("What the model learns"));
    listTasks();
    summary_ = makeHintLabel("taskSummary");
    text_ = new QWidget;
    tokens_ = choice("tokenizer", tr("Tokens"), {"chars", "bytes", "bpe:500", "bpe:2000", kModelTokens},
                     {tr("Characters"), tr("Bytes"), tr("500 learned pieces (BPE)"), tr("2000 learned pieces (BPE)"),
                      tr("Those of the model to start from")},
                     tr("How to split the text into tokens"));
    choices_.push_back({"tokenizer", tokens_});
    translation_ = new QWidget;
    auto* installed = helped(new QPushButton(tr("Choose an installed catalogue")), "installedCatalogues",
                             tr("Texts of the programs on this computer, with their translations (gettext)"));
    auto* catalogues = new CatalogueMenu(installed);
    installed->setMenu(catalogues);
    connect(catalogues, &CatalogueMenu::chosen, this, [this](const QString& path) {
        textPath_->setText(path);
        set("text", path.toStdString());
    });
    makeColumn(translation_, 0,
               {makePathRow(translationPath_, "translation", tr("Translation (if it is a second file)"),
                            tr("A file whose lines translate those of the text file. Leave it empty if the text file "
                               "holds both languages: lines with a tab, TMX, .po or .mo")),
                installed});
    makeColumn(text_, 0,
               {makePathRow(textPath_, "text", tr("Text file"), tr("The text that the model learns from")),
                translation_, tokens_, warning_ = makeHintLabel("recipeWarning")});
    data_ = makePathRow(dataPath_, "data", tr("Folder of pictures"),
                        tr("A folder with IDX files (such as MNIST), CIFAR-10's binary batches, or one subfolder of "
                           "pictures per class. The task Pixels also takes pictures without classes"));
    makeColumn(container, 0, {task_, summary_, text_, makeLanguages(), data_});
    connect(task_, &QComboBox::activated, this, [this] { chooseTask(task_->currentData().toInt()); });
    return container;
}

void RecipeForm::listTasks() {
    const auto isOf = [](const Task& task, int kind) {
        return kind == (task.hasImages() || task.readsData || !task.withoutData.empty() ? 3
                        : task.hasSource                                                ? 2
                        : task.readsText                                                ? 1
                                                                                        : 0);
    };
    const QString kinds[] = {tr("Puzzles"), tr("Your own text"), tr("One text into another"), tr("Pictures")};
    const auto& tasks = taskCatalogue();
    for (int kind = 0; kind < 4; ++kind) {
        task_->addItem(kinds[kind]);
        static_cast<QStandardItemModel*>(task_->model())->item(task_->count() - 1)->setFlags(Qt::NoItemFlags);
        for (size_t index = 0; index < tasks.size(); ++index)
            if (isOf(*tasks[index], kind)) task_->addItem(fromView(tasks[index]->title), static_cast<int>(index));
    }
    task_->setMaxVisibleItems(14);
}

QWidget* RecipeForm::makeSettings() {
    auto* container = new QWidget;
    from_ = new QWidget;
    trained_ = choice("trained", tr("Trained parameters"), {"all", "norms and readout"},
                      {tr("Train all parameters"), tr("Train only norms and readout")},
                      tr("Which parameters training changes. The others stay as they are"));
    choices_.push_back({"trained", trained_});
    adapterControls_ = new ParamControls(kAdapterParams);
    QWidget* row = makePathRow(fromPath_, "from", tr("Model to start from"),
                               tr("A folder with a model that is trained further. It sets the architecture"));
    fromPath_->setPlaceholderText(tr("Start from: new parameters"));
    makeColumn(from_, 0, {row, trained_, adapterControls_});
    taskColumn_ = makeColumn(container, 0, {from_});
    return container;
}

QWidget* RecipeForm::makeLanguages() {
    languages_ = new QWidget;
    const auto box = [this](const char* name, const QString& title, const QString& help) {
        auto* made = named(new QComboBox, name, title, help);
        for (const auto& [code, language] : spelledLanguages())
            made->addItem(QString::fromStdString(language), QString::fromStdString(code));
        made->model()->sort(0);
        connect(made, &QComboBox::activated, this, [this] {
            set("languages",
                (fromLanguage_->currentData().toString() + "-" + toLanguage_->currentData().toString()).toStdString());
        });
        return made;
    };
    fromLanguage_ = box("fromLanguage", tr("From"), tr("The language that the model reads"));
    toLanguage_ = box("toLanguage", tr("To"), tr("The language that it writes"));
    makeRow(languages_, 0, {{fromLanguage_, 1}, makeTextLabel({}, tr("to")), {toLanguage_, 1}});
    return languages_;
}

void RecipeForm::showFamilies(const Task& task) {
    const std::map<std::string_view, QString> titles{
        {"gpt2", tr("GPT-2: learned positions, layer norm, GELU")},
        {"llama", tr("Llama: rotary positions, RMS norm, SwiGLU")},
        {"bert", tr("BERT: reads in both directions")},
        {"xlnet", tr("XLNet: predicts words in a random order")},
        {"t5", tr("T5: relative positions, RMS norm, gated GELU")},
        {"bart", tr("BART: learned positions, norms after the sums")},
        {"marian", tr("Marian: sines as positions, norms after the sums")}};
    const auto family = std::ranges::find(choices_, std::string_view("family"), &Choice::field);
    const QSignalBlocker quiet(family->box);
    family->box->clear();
    for (const std::string_view id : familiesFor(task))
        if (const auto title = titles.find(id); title != titles.end())
            family->box->addItem(title->second, fromView(id));
}

QWidget* RecipeForm::makePathRow(QLineEdit*& line, const char* field, const QString& title, const QString& help) {
    auto* container = new QWidget;
    line = named(new QLineEdit, QString("%1Path").arg(field), title, help);
    line->setPlaceholderText(title);
    auto* browse = new QPushButton(tr("Browse…"));
    browse->setAccessibleName(tr("Browse: %1").arg(title));
    browse->setToolTip(help);
    makeRow(container, 0, {{line, 1}, browse});
    connect(line, &QLineEdit::editingFinished, this, [this, line, field] { set(field, line->text().toStdString()); });
    connect(browse, &QPushButton::clicked, this, [this, title, line, field] { choosePath(title, field, line); });
    return container;
}

QComboBox* RecipeForm::choice(const char* field, const QString& title, const QStringList& ids,
                              const QStringList& titles, const QString& help) {
    auto* box = named(new QComboBox, field, title, help);
    setLeastCharacters(*box, 12);
    for (qsizetype i = 0; i < ids.size(); ++i) box->addItem(titles[i], ids[i]);
    connect(box, &QComboBox::activated, this,
            [this, box, field] { set(field, box->currentData().toString().toStdString()); });
    return box;
}

QWidget* RecipeForm::makeSection(const QString& title, const char* name, std::initializer_list<Choice> choices,
                                 ParamControls* controls, QWidget* note) {
    auto* container = new QWidget;
    auto* header = named(new QToolButton, name, title, tr("Show or hide: %1").arg(title));
    header->setText(title);
    header->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    header->setArrowType(Qt::RightArrow);
    header->setCheckable(true);
    header->setAutoRaise(true);
    auto* body = new QWidget;
    auto* inner = new QVBoxLayout(body);
    inner->setContentsMargins(spacing::kWide, 0, 0, spacing::kTight);
    for (const Choice& each : choices) {
        inner->addWidget(each.box);
        choices_.push_back(each);
    }
    if (note) inner->addWidget(note);
    inner->addWidget(controls);
    body->hide();
    makeColumn(container, 0, {header, body});
    connect(header, &QToolButton::toggled, body, [header, body](bool open) {
        body->setVisible(open);
        header->setArrowType(open ? Qt::DownArrow : Qt::RightArrow);
    });
    return container;
}

void RecipeForm::chooseTask(int index) {
    const Task& task = *taskCatalogue()[static_cast<size_t>(index)];
    const Task& before = taskNamed((*json_)["task"].get<std::string>());
    // Else the model cannot learn the task.
    const bool isSameKind = task.hasImages() == before.hasImages() && task.hasSource == before.hasSource &&
                            (task.readout == before.readout || !predictsTokens(task.readout));
    Recipe recipe =
        withMoments(suggestedRecipe(task, isSameKind ? (*json_)["from"].get<std::string>() : std::string()));
    // Another task keeps the attention, and the heads that it refers to.
    Architecture& model = recipe.architecture;
    const std::string family = (*json_)["family"].get<std::string>();
    const std::string attention = (*json_)["attention"].get<std::string>();
    if (!startsFromModel() && !attention.empty() && std::ranges::count(familiesFor(task), family) > 0)
        model.attention = attention; // attention for text may be causal, which pictures are not
    if (!model.attention.empty()) {
        model.heads = (*json_)["heads"].get<int64_t>();
        model.keyValueHeads = (*json_)["key_value_heads"].get<int64_t>();
        model.width = (*json_)["width"].get<int64_t>();
    }
    setRecipe(recipe);
    emit changed();
}

void RecipeForm::setRecipe(const Recipe& recipe) {
    *json_ = toJson(Recipe{}); // with the fields that a recipe which starts from a model leaves out
    json_->update(toJson(recipe));
    makeTaskControls();
    show();
    if (recipe.architecture.init != Recipe{}.architecture.init) // what a card asked for is in sight
        findChild<QToolButton*>(QStringLiteral("modelSection"))->setChecked(true);
    settle();
}

void RecipeForm::makeTaskControls() {
    const auto& tasks = taskCatalogue();
    const auto found =
        std::ranges::find_if(tasks, [&](const Task* task) { return task->id == (*json_)["task"].get<std::string>(); });
    const Task& task = **found;
    {
        const QSignalBlocker quiet(task_);
        task_->setCurrentIndex(task_->findData(static_cast<int>(found - tasks.begin())));
    }
    summary_->setText(fromView(task.summary));
    text_->setVisible(task.readsText);
    data_->setVisible(task.readsData || !task.withoutData.empty());
    dataPath_->setPlaceholderText(task.readsData ? tr("Folder of pictures")
                                                 : tr("Default: %1").arg(fromView(task.withoutData)));
    tokens_->setVisible(task.splitsText);
    translation_->setVisible(task.id == "translation");
    languages_->setVisible(task.readsLanguages);
    attention_->setVisible(!task.hasSource);
    for (const Choice& each : choices_)
        if (each.tasks != For::All)
            each.box->setVisible(each.tasks == For::Sequences
                                     ? !task.hasImages()
                                     : task.hasImages() || (task.hasSource && each.tasks == For::PicturesAndSources));
    showFamilies(task);
    for (const char* field : {"patch", "window", "merges", "pooled_tokens"})
        modelControls_->setShown(field, task.hasImages());
    for (const char* field : {"key_value_heads", "attention_only"})
        modelControls_->setShown(field, !task.hasImages() && !task.hasSource);
    if (taskControls_) taskControls_->deleteLater();
    taskControls_ = new ParamControls(task.params);
    taskColumn_->addWidget(taskControls_);
    for (const auto& [id, value] : (*json_)["values"].items())
        if (std::ranges::find(task.params, id, &Param::id) != task.params.end()) // a file may contain others
            taskControls_->setValue(id, value.get<double>());
    connect(taskControls_, &ParamControls::valueChanged, this, [this](const QString& id, double value) {
        (*json_)["values"][id.toStdString()] = value;
        settle();
        emit changed();
    });
}

void RecipeForm::show() {
    for (const Choice& each : choices_) {
        const QSignalBlocker quiet(each.box);
        const QString id = QString::fromStdString((*json_)[each.field].get<std::string>());
        if (each.tasks == For::Sequences && each.box->findData(id) < 0) continue; // "vit"
        if (each.box->findData(id) < 0) each.box->addItem(id, id);                // "bpe:750" from a file
        each.box->setCurrentIndex(each.box->findData(id));
    }
    model_->setVisible(!startsFromModel());
    attention_->setPlaceholder(startsFromModel() ? tr("The attention of the model to start from")
                                                 : tr("The model family's own attention"));
    adapterControls_->setVisible(startsFromModel());
    trained_->setEnabled((*json_)["lora_rank"].get<int64_t>() == 0); // adapters leave all parameters as they are
    fromPath_->setText(QString::fromStdString((*json_)["from"].get<std::string>()));
    textPath_->setText(QString::fromStdString((*json_)["text"].get<std::string>()));
    translationPath_->setText(QString::fromStdString((*json_)["translation"].get<std::string>()));
    const QStringList pair = QString::fromStdString((*json_)["languages"].get<std::string>()).split('-');
    for (const auto& [box, code] : {std::pair{fromLanguage_, pair.front()}, std::pair{toLanguage_, pair.back()}})
        box->setCurrentIndex(box->findData(code));
    dataPath_->setText(QString::fromStdString((*json_)["data"].get<std::string>()));
    const auto value = [&](std::string_view id) {
        const auto& field = (*json_)[std::string(id)];
        return field.is_boolean() ? (field.get<bool>() ? 1.0 : 0.0) : field.get<double>();
    };
    for (const Param& param : kModelParams) modelControls_->setValue(param.id, value(param.id));
    for (const Param& param : kAdapterParams) adapterControls_->setValue(param.id, value(param.id));
    for (const Param& param : kTrainingParams) trainingControls_->setValue(param.id, value(param.id));
    showPrecision();
}

void RecipeForm::showPrecision() {
    const Precision& chosen = precisionNamed((*json_)["precision"].get<std::string>());
    if (chosen.dtype == DType::F32) return showSentence(precisionCard_, {});
    const Citation& source = chosen.source;
    QStringList sentences;
    for (const std::string_view each : {chosen.purpose, chosen.approximation, chosen.difference, chosen.result})
        if (!each.empty()) sentences << fromView(each);
    sentences << tr("Measure it again: %1").arg(fromView(chosen.command));
    sentences << tr("%1 %2, %3, %4, %5")
                     .arg(fromView(source.authors))
                     .arg(source.year)
                     .arg(fromView(source.title), fromView(source.where), fromView(source.address));
    showSentence(precisionCard_, sentences.join("\n\n"));
}

void RecipeForm::set(const std::string& field, nlohmann::json value) {
    const bool isOtherModel = field == "from" && value != (*json_)["from"];
    (*json_)[field] = std::move(value);
    if (isOtherModel) {
        (*json_)["from_hash"] = "";
        (*json_)["attention"] = "";
        (*json_)["tokenizer"] = startsFromModel() ? kModelTokens : TaskSettings{}.tokens;
        if (!startsFromModel()) (*json_)["lora_rank"] = 0;
    }
    if (field == "lora_rank" && (*json_)[field] != 0) (*json_)["trained"] = StartingPoint{}.trained;
    if (isOtherModel || field == "lora_rank") show();
    if (field == "precision") showPrecision();
    settle();
    emit changed();
}

bool RecipeForm::startsFromModel() const { return !(*json_)["from"].get<std::string>().empty(); }

bool RecipeForm::settleAttention() {
    const std::string text = (*json_)["attention"].get<std::string>();
    attention_->setText(text, [&](const std::string& typed) { return typed == text; });
    if (startsFromModel()) try { // the rest depends on the model, which training opens
            specsIn(text);
            attention_->showProblem({}, {});
            return true;
        } catch (const Error& error) {
            attention_->showProblem(
                QString::fromStdString(Failure{error.message(), error.where(), error.hint()}.sentence()), {});
            return false;
        }
    const auto number = [&](const char* field) { return (*json_)[field].get<int64_t>(); };
    const Architecture model{.family = (*json_)["family"].get<std::string>(),
                             .heads = std::max<int64_t>(1, number("heads")),
                             .keyValueHeads = number("key_value_heads"),
                             .width = number("width"),
                             .attention = text};
    const auto problem = attentionProblem(model);
    attention_->showProblem(problem ? QString::fromStdString(problem->sentence) : QString(),
                            problem ? problem->nearest : std::string());
    return !problem;
}

QString RecipeForm::problem() const { return recipe_ ? QString() : problem_->text(); }

void RecipeForm::settle() {
    recipe_.reset();
    if (!settleAttention()) return showSentence(problem_, {}); // the line shows the problem itself
    QString problem;
    try {
        nlohmann::json said = *json_;
        if (startsFromModel() && said["from_hash"] == "") // the model describes itself
            for (const std::string_view field : modelFields()) said.erase(field);
        Recipe recipe = recipeFromJson(said, "the recipe");
        if (taskNamed(recipe.task).readsText && recipe.settings.text.empty())
            problem = tr("Choose a text file, then press Train.");
        else if (taskNamed(recipe.task).readsData && recipe.settings.data.empty())
            problem = tr("Choose a folder of pictures, then press Train.");
        else
            recipe_ = std::move(recipe);
    } catch (const Error& error) {
        problem = QString::fromStdString(Failure{error.message(), error.where(), error.hint()}.sentence());
    }
    showSentence(problem_, problem);
    warnOfUnknown();
}

void RecipeForm::warnOfUnknown() {
    const Recipe asked = recipe_.value_or(Recipe{});
    const auto subject = [](const Recipe& recipe) {
        return std::tuple(recipe.start.model, recipe.settings.text, recipe.settings.tokens, recipe.task,
                          recipe.architecture.attention);
    };
    if (subject(std::exchange(warned_, asked)) == subject(asked)) return;
    showSentence(warning_, {});
    warning_->hide();
    if (const std::string warning = emptyRowsWarning(asked.architecture); !warning.empty())
        return showSentence(warning_, QString::fromStdString(warning));
    reading_.start<std::string>(
        asked.settings.text.string(), [asked](const std::atomic<bool>&) { return unknownWarning(asked); },
        [this](const std::variant<std::string, Failure>& found) { // a text that cannot be read is refused by training
            if (const auto* sentence = std::get_if<std::string>(&found); sentence && !sentence->empty())
                showSentence(warning_, QString::fromStdString(*sentence));
        });
}

void RecipeForm::choosePath(const QString& title, const char* field, QLineEdit* line) {
    auto* dialog = makeFileDialog(this, title, line == textPath_ ? QFileDialog::ExistingFile : QFileDialog::Directory);
    connect(dialog, &QFileDialog::fileSelected, this, [this, line, field](const QString& path) {
        line->setText(path);
        set(field, path.toStdString());
    });
    dialog->open();
}

} // namespace attn
