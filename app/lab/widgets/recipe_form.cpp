#include "app/lab/widgets/recipe_form.h"

#include "app/lab/widgets/catalogue_menu.h"
#include "app/lab/widgets/choice_keys.h"
#include "app/lab/widgets/param_controls.h"
#include "app/lab/widgets/search_box.h"
#include "app/lab/widgets/spec_line.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/attention/attention_spec.h"
#include "engine/core/attempt.h"
#include "engine/core/error.h"
#include "engine/session/snapshot.h"
#include "engine/training/attention_recipe.h"
#include "engine/training/precision.h"
#include "engine/training/recipe_fields.h"
#include "engine/training/tasks/catalogue.h"
#include "engine/training/tasks/translation.h"

#include <QComboBox>
#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QImageReader>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalBlocker>
#include <QStandardItemModel>
#include <QToolButton>

#include <algorithm>
#include <array>

namespace attn {
namespace {

using Kind = RecipeField::Kind;
using Section = RecipeField::Section;

std::vector<Param> paramsOf(Section section) {
    std::vector<Param> params;
    for (const RecipeField& field : recipeFields())
        if (field.section == section && !field.title.empty() && (field.isNumber() || field.kind == Kind::Toggle))
            params.push_back(field.param());
    return params;
}

/// Whether a control can change the training, or holds a value that its field cannot have here.
bool isUsable(const RecipeField& field, const Recipe& recipe) {
    if (!field.matters || (field.describesModel && field.value(recipe) != field.value(Recipe{}))) return true;
    try {
        return field.matters(recipe);
    } catch (const Error&) { // an unknown name, which the check reports
        return true;
    }
}

bool appliesTo(const RecipeField& field, const Task& task) { return !field.appliesTo || field.appliesTo(task); }

/// Whether the answers of a task stand in a table: several labels, or numbers.
bool readsTable(const Task& task) { return task.activation != ClassActivation::Softmax; }

QString fromView(std::string_view text) { return QCoreApplication::translate("attn::Task", std::string(text).c_str()); }

} // namespace

RecipeForm::RecipeForm(QWidget* parent) : QWidget(parent), draft_(suggestedRecipe(*taskCatalogue().front())) {
    modelControls_ = new ParamControls(paramsOf(Section::Model));
    trainingControls_ = new ParamControls(paramsOf(Section::Training));
    problem_ = makeHintLabel("recipeProblem");
    precisionCard_ = makeHintLabel("precisionCard");
    taskPart_ = makeTask();
    makeColumn(this, 0,
               {makeSettings(), makeModel(),
                makeSection(tr("Training"), "trainingSection", Section::Training, trainingControls_, precisionCard_),
                problem_});
    for (ParamControls* controls : {modelControls_, adapterControls_, trainingControls_})
        connect(controls, &ParamControls::valueChanged, this, [this](const QString& id, double value) {
            const std::string field = id.toStdString();
            set(field, findRecipeField(field)->kind == Kind::Toggle ? RecipeValue(value != 0) : RecipeValue(value));
        });
    watchData();
    const auto& tasks = taskCatalogue(); // the first task succeeds visibly within a minute
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
    model_ = makeSection(tr("Model"), "modelSection", Section::Model, modelControls_);
    makeColumn(container, 0, {attention_, model_});
    return container;
}

QWidget* RecipeForm::makeTask() {
    auto* container = new QWidget;
    task_ = named(new SearchBox, "task", tr("Task"), tr("What the model learns. Type to search the tasks"));
    listTasks();
    summary_ = makeHintLabel("taskSummary");
    text_ = new QWidget;
    auto* tokens = makeChoice(*findRecipeField("tokenizer"));
    translation_ = new QWidget;
    auto* installed = helped(new QPushButton(tr("Choose an installed catalogue")), "installedCatalogues",
                             tr("Texts of the programs on this computer, with their translations (gettext)"));
    auto* catalogues = new CatalogueMenu(installed);
    installed->setMenu(catalogues);
    connect(catalogues, &CatalogueMenu::chosen, this, &RecipeForm::take);
    makeColumn(translation_, 0,
               {makePathRow(translationPath_, "translation", tr("Translation (if it is a second file)"),
                            tr("A file whose lines translate those of the text file. Leave it empty if the text file "
                               "holds both languages: lines with a tab, TMX, .po or .mo")),
                installed});
    makeColumn(text_, 0,
               {makePathRow(textPath_, "text", tr("Text file"), tr("The text that the model learns from")),
                translation_, tokens});
    data_ = makePathRow(dataPath_, "data", tr("Folder of pictures"), {});
    makeColumn(container, 0,
               {task_, summary_, text_, makeLanguages(), data_, warning_ = makeHintLabel("recipeWarning")});
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
        for (size_t index = 0; index < tasks.size(); ++index) {
            if (!isOf(*tasks[index], kind)) continue;
            task_->addItem(fromView(tasks[index]->title), static_cast<int>(index));
            task_->setItemData(task_->count() - 1, fromView(tasks[index]->summary), Qt::AccessibleDescriptionRole);
        }
    }
}

QWidget* RecipeForm::makeSettings() {
    auto* container = new QWidget;
    from_ = new QWidget;
    trained_ = makeChoice(*findRecipeField("trained"));
    adapterControls_ = new ParamControls(paramsOf(Section::Start));
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

/// Offers the families that can learn a task.
void RecipeForm::showFamilies(const Task& task) {
    const auto family =
        std::ranges::find(choices_, std::string_view("family"), [](const Choice& each) { return each.field->id; });
    const std::vector<std::string_view> usable = familiesFor(task);
    const QSignalBlocker quiet(family->box);
    family->box->clear();
    for (const RecipeChoice& choice : family->field->choices)
        if (std::ranges::find(usable, choice.id) != usable.end())
            family->box->addItem(fromView(choice.title), fromView(choice.id));
}

QWidget* RecipeForm::makePathRow(QLineEdit*& line, const char* field, const QString& title, const QString& help) {
    auto* container = new QWidget;
    line = named(new QLineEdit, QString("%1Path").arg(field), title, help);
    line->setPlaceholderText(title);
    line->setAcceptDrops(false); // it would take the address of a file as text
    auto* browse = new QPushButton(tr("Browse…"));
    browse->setAccessibleName(tr("Browse: %1").arg(title));
    browse->setToolTip(help);
    makeRow(container, 0, {{line, 1}, browse});
    connect(line, &QLineEdit::editingFinished, this, [this, line, field] { set(field, line->text().toStdString()); });
    connect(browse, &QPushButton::clicked, this, [this, title, line, field] { choosePath(title, field, line); });
    return container;
}

QComboBox* RecipeForm::makeChoice(const RecipeField& field) {
    QString help = fromView(field.help);
    help.front() = help.front().toUpper();
    auto* box = named(new QComboBox, fromView(field.id), fromView(field.title), help);
    setLeastCharacters(*box, 12);
    for (const RecipeChoice& choice : field.choices) {
        // Every choice begins with the title of its field.
        const QString title = fromView(choice.title), whole = tr("%1: %2").arg(fromView(field.title), title);
        box->addItem(title.contains(':') ? title : whole, fromView(choice.id));
        if (!choice.help.empty()) box->setItemData(box->count() - 1, fromView(choice.help), Qt::ToolTipRole);
    }
    connect(box, &QComboBox::activated, this,
            [this, box, &field] { set(field.id, box->currentData().toString().toStdString()); });
    choices_.push_back({&field, box});
    return box;
}

QWidget* RecipeForm::makeSection(const QString& title, const char* name, Section section, ParamControls* controls,
                                 QWidget* note) {
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
    for (const RecipeField& field : recipeFields())
        if (field.section == section && field.kind == Kind::Choice) inner->addWidget(makeChoice(field));
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
    const Task& before = taskNamed(draft_.task);
    // Otherwise the model cannot learn the task.
    const bool isSameKind = task.hasImages() == before.hasImages() && task.hasSource == before.hasSource &&
                            (task.readout == before.readout || !predictsTokens(task.readout));
    Recipe recipe = withMoments(suggestedRecipe(task, isSameKind ? draft_.start.model : std::string()));
    // Another task keeps the attention and the heads that it needs.
    Architecture& model = recipe.architecture;
    const Architecture& shown = draft_.architecture;
    if (!startsFromModel() && !shown.attention.empty() && std::ranges::count(familiesFor(task), shown.family) > 0)
        model.attention = shown.attention; // attention for text may be causal, which pictures are not
    if (!model.attention.empty()) {
        model.heads = shown.heads;
        model.keyValueHeads = shown.keyValueHeads;
        model.width = shown.width;
    }
    setRecipe(recipe);
    emit changed();
}

bool RecipeForm::takes(const QString& path) const {
    const QFileInfo file(path);
    const auto isShown = [this](const char* field) {
        return appliesTo(*findRecipeField(field), taskNamed(draft_.task)) && taskPart_->isEnabled();
    };
    if (file.isDir()) return isShown("data") && !QDir(path).exists("config.json");
    const QString suffix = file.suffix().toLower();
    const bool isTable = readsTable(taskNamed(draft_.task)) && QStringList{"csv", "tsv", "jsonl"}.contains(suffix);
    const bool isOther =
        QStringList{"attnlab", "safetensors", "json", "gguf", "onnx", "bin", "pt", "pth"}.contains(suffix) ||
        QImageReader::supportedImageFormats().contains(suffix.toLatin1());
    return file.isFile() && ((isShown("text") && !isOther) || (isShown("data") && isTable));
}

void RecipeForm::take(const QString& path) {
    const bool isText = appliesTo(*findRecipeField("text"), taskNamed(draft_.task));
    (isText ? textPath_ : dataPath_)->setText(path);
    set(isText ? "text" : "data", path.toStdString());
}

void RecipeForm::setRecipe(const Recipe& recipe) {
    draft_ = recipe;
    makeTaskControls();
    show();
    if (recipe.architecture.init != Recipe{}.architecture.init) // show what a card has set
        findChild<QToolButton*>(QStringLiteral("modelSection"))->setChecked(true);
    settle();
}

QString RecipeForm::save() const { return QString::fromStdString(draftToText(draft_)); }

void RecipeForm::restore(const QString& saved) {
    try {
        setRecipe(draftFromText(saved.toStdString()));
    } catch (const Error&) { // a recipe of another version of the program
    }
}

void RecipeForm::makeTaskControls() {
    const auto& tasks = taskCatalogue();
    const auto found = std::ranges::find(tasks, draft_.task, &Task::id);
    const Task& task = **found;
    {
        const QSignalBlocker quiet(task_);
        task_->setCurrentIndex(task_->findData(static_cast<int>(found - tasks.begin())));
    }
    summary_->setText(fromView(task.summary));
    const auto isShown = [&](const char* field) { return appliesTo(*findRecipeField(field), task); };
    text_->setVisible(isShown("text"));
    data_->setVisible(isShown("data"));
    dataPath_->setPlaceholderText(task.readsData ? tr("Folder of pictures")
                                                 : tr("Default: %1").arg(fromView(task.withoutData)));
    const QString help =
        readsTable(task) ? tr("A folder with pictures and the table metadata.csv, .jsonl or .tsv, or that table")
                         : tr("A folder with IDX files (such as MNIST), CIFAR-10's binary batches, or one subfolder of "
                              "pictures per class. The task Pixels also takes pictures without classes");
    dataPath_->setToolTip(help);
    data_->findChild<QPushButton*>()->setToolTip(help);
    translation_->setVisible(isShown("translation"));
    languages_->setVisible(isShown("languages"));
    for (const Choice& each : choices_) each.box->setVisible(appliesTo(*each.field, task));
    showFamilies(task);
    for (const Param& param : paramsOf(Section::Model)) modelControls_->setShown(param.id, isShown(param.id.data()));
    if (taskControls_) taskControls_->deleteLater();
    taskControls_ = new ParamControls(task.params);
    taskColumn_->addWidget(taskControls_);
    for (const auto& [id, value] : draft_.settings.values)
        if (std::ranges::find(task.params, id, &Param::id) != task.params.end()) // a file may contain others
            taskControls_->setValue(id, value);
    connect(taskControls_, &ParamControls::valueChanged, this, [this](const QString& id, double value) {
        draft_.settings.values[id.toStdString()] = value;
        settle();
        emit changed();
    });
}

void RecipeForm::greyUnused() {
    for (const Choice& each : choices_)
        if (each.field->matters) each.box->setEnabled(isUsable(*each.field, draft_));
    for (const auto& [section, controls] :
         {std::pair{Section::Model, modelControls_}, {Section::Training, trainingControls_}})
        for (const Param& param : paramsOf(section)) {
            const RecipeField& field = *findRecipeField(param.id);
            if (field.matters) controls->setUsable(param.id, isUsable(field, draft_));
        }
}

void RecipeForm::show() {
    for (const Choice& each : choices_) {
        const QSignalBlocker quiet(each.box);
        const QString id = QString::fromStdString(std::get<std::string>(each.field->value(draft_)));
        if (each.field->kind == Kind::Text && each.box->findData(id) < 0) each.box->addItem(id, id); // "bpe:750"
        if (const int index = each.box->findData(id); index >= 0) each.box->setCurrentIndex(index);
    }
    model_->setVisible(!startsFromModel());
    const bool hasSource = taskNamed(draft_.task).hasSource;
    attention_->setPlaceholder(startsFromModel() ? tr("The attention of the model to start from")
                               : hasSource       ? tr("The model family's own; cross: score=additive changes one kind")
                                                 : tr("The model family's own attention"));
    adapterControls_->setVisible(startsFromModel());
    trained_->setEnabled(draft_.start.adapters.rank == 0); // adapters leave all parameters unchanged
    fromPath_->setText(QString::fromStdString(draft_.start.model));
    textPath_->setText(QString::fromStdString(draft_.settings.data.text.string()));
    translationPath_->setText(QString::fromStdString(draft_.settings.data.translation.string()));
    const QStringList pair = QString::fromStdString(draft_.settings.data.languages).split('-');
    for (const auto& [box, code] : {std::pair{fromLanguage_, pair.front()}, std::pair{toLanguage_, pair.back()}})
        box->setCurrentIndex(box->findData(code));
    dataPath_->setText(QString::fromStdString(draft_.settings.data.pictures.string()));
    for (const auto& [section, controls] : {std::pair{Section::Model, modelControls_},
                                            {Section::Start, adapterControls_},
                                            {Section::Training, trainingControls_}})
        for (const Param& param : paramsOf(section)) {
            const RecipeValue value = findRecipeField(param.id)->value(draft_);
            const double* number = std::get_if<double>(&value);
            controls->setValue(param.id, number ? *number : std::get<bool>(value) ? 1 : 0);
        }
    showPrecision();
}

void RecipeForm::showPrecision() {
    const Precision& chosen = precisionOf(draft_.precision);
    if (chosen.dtype == DType::F32) return showSentence(precisionCard_, {});
    const Citation& source = chosen.source;
    QStringList sentences;
    for (const std::string_view each : {chosen.purpose, chosen.approximation, chosen.difference, chosen.result})
        if (!each.empty()) sentences << fromView(each);
    sentences << tr("Measure it again: %1").arg(fromView(chosen.command));
    sentences << tr("%1 %2, %3, %4, %5")
                     .arg(fromView(source.authors), QString::number(source.year), fromView(source.title),
                          fromView(source.where), fromView(source.address));
    showSentence(precisionCard_, sentences.join("\n\n"));
}

void RecipeForm::set(std::string_view id, const RecipeValue& value) {
    const RecipeField& field = *findRecipeField(id);
    const bool isOtherModel = id == "from" && value != field.value(draft_), isRank = id == "lora_rank";
    field.set(draft_, value);
    if (isOtherModel) {
        draft_.start.hash = draft_.architecture.attention = "";
        draft_.settings.data.tokens = startsFromModel() ? kModelTokens : DataSettings{}.tokens;
        if (!startsFromModel()) draft_.start.adapters.rank = 0;
    }
    if (isRank && draft_.start.adapters.rank != 0) draft_.start.trained = StartingPoint{}.trained;
    if (isOtherModel || isRank) show();
    showPrecision();
    settle();
    emit changed();
}

bool RecipeForm::startsFromModel() const { return !draft_.start.model.empty(); }

bool RecipeForm::settleAttention() {
    const std::string text = draft_.architecture.attention;
    attention_->setText(text, [&](const std::string& typed) { return typed == text; });
    if (startsFromModel()) { // the rest depends on the model, which is opened later
        const auto failure = attempt({}, [&] { specsIn(text); });
        attention_->showProblem(failure ? QString::fromStdString(failure->sentence()) : QString(), {});
        return !failure;
    }
    Architecture model = draft_.architecture;
    model.layers = Architecture().layers; // another message reports their number
    const auto problem = attentionProblem(model);
    attention_->showProblem(problem ? QString::fromStdString(problem->sentence) : QString(),
                            problem ? problem->nearest : std::string());
    return !problem;
}

QString RecipeForm::problem() const { return recipe_ ? QString() : problem_->text(); }

void RecipeForm::settle() {
    greyUnused();
    recipe_.reset();
    unreadable_ = unreadableData();
    if (!settleAttention()) return showSentence(problem_, {}); // the line of attention shows the problem itself
    QString problem;
    const auto failure = attempt({}, [&] {
        Recipe recipe = draft_;
        if (startsFromModel() && recipe.start.hash.empty()) { // the model determines its architecture
            recipe.start.asked.clear();
            for (const RecipeField& field : recipeFields())
                if (field.describesModel) field.set(recipe, field.value(Recipe{}));
        }
        check(recipe);
        if (taskNamed(recipe.task).readsText && recipe.settings.data.text.empty())
            problem = tr("Choose a text file, then press Train.");
        else if (taskNamed(recipe.task).readsData && recipe.settings.data.pictures.empty())
            problem = readsTable(taskNamed(recipe.task))
                          ? tr("Choose a folder of pictures with the table metadata.csv, then press Train.")
                          : tr("Choose a folder of pictures, then press Train.");
        else
            recipe_ = std::move(recipe);
    });
    if (failure) problem = QString::fromStdString(failure->sentence());
    showSentence(problem_, problem);
    warnOfUnknown();
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
