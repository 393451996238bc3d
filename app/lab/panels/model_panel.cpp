#include "app/lab/panels/model_panel.h"

#include "app/figures/drawing.h"
#include "app/figures/token_label.h"
#include "app/lab/controls/patch_embedding_page.h"
#include "app/lab/models/parameter_tree_model.h"
#include "app/lab/widgets/long_words.h"
#include "app/lab/widgets/plain_table.h"
#include "app/lab/widgets/side_by_side.h"
#include "app/lab/widgets/weight_canvas.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/follow_theme.h"
#include "engine/core/quoting.h"
#include "engine/training/training_summary.h"

#include <QFontDatabase>
#include <QHeaderView>
#include <QLocale>
#include <QPlainTextEdit>
#include <QTabWidget>
#include <QTreeView>
#include <QTreeWidget>

namespace attn {
namespace {

constexpr size_t kMostAsked = 400; ///< bytes of the fields that one row shows

/// How many classes a model knows, or with how many numbers it answers.
QString answersText(const ModelInfo& model) {
    if (model.activation == ClassActivation::None)
        return model.classes == 1 ? ModelPanel::tr("answers with 1 number")
                                  : ModelPanel::tr("answers with %1 numbers").arg(model.classes);
    return model.classes == 1 ? ModelPanel::tr("1 class") : ModelPanel::tr("%1 classes").arg(model.classes);
}

QString factsOf(const Snapshot& snapshot) {
    const ModelInfo& model = *snapshot.model;
    QStringList facts;
    const Site& first = model.structure.sites.front();
    facts << ModelPanel::tr("%1: %2 layers, %3 heads of width %4")
                 .arg(QString::fromStdString(model.familyTitle), QString::number(model.layers),
                      QString::number(model.heads), QString::number(first.headWidth));
    if (first.keyValueHeads != first.heads)
        facts << ModelPanel::tr("%1 key/value heads, each shared by %2 query heads")
                     .arg(first.keyValueHeads)
                     .arg(first.heads / first.keyValueHeads);
    facts << ModelPanel::tr("width %1").arg(model.modelWidth);
    if (model.feedForwardWidth > 0) facts << ModelPanel::tr("feed-forward %1").arg(model.feedForwardWidth);
    if (model.grid.area() > 0)
        facts << ModelPanel::tr("%1 × %2 patches of %3 × %3 pixels")
                     .arg(model.grid.height)
                     .arg(model.grid.width)
                     .arg(model.patch);
    if (model.vocabulary > 0)
        facts << ModelPanel::tr("vocabulary %1, context %2").arg(model.vocabulary).arg(model.contextLength);
    if (model.cacheTokenBytes > 0)
        facts << ModelPanel::tr("cache: %1 for each token, %2 for the whole context")
                     .arg(QLocale().formattedDataSize(model.cacheTokenBytes, 1, QLocale::DataSizeIecFormat),
                          QLocale().formattedDataSize(model.cacheTokenBytes * model.contextLength, 1,
                                                      QLocale::DataSizeIecFormat));
    if (model.classes > 0) facts << answersText(model);
    facts << ModelPanel::tr("positions: %1").arg(shownText(model.positions));
    facts << ModelPanel::tr("%1 parameters (%2 as %3 on the device, %4 in the file)")
                 .arg(grouped(model.parameterCount),
                      QLocale().formattedDataSize(model.parameterBytes, 1, QLocale::DataSizeIecFormat),
                      QString::fromStdString(std::string(storageName(model.storage))), shownText(model.dtype));
    if (const std::string training = trainingSummary(snapshot.modelPath); !training.empty())
        facts << ModelPanel::tr("trained: %1").arg(shownText(training));
    if (const std::string parameters = trainedParameters(snapshot.modelPath); !parameters.empty())
        facts << ModelPanel::tr("learned with: %1").arg(shownText(parameters));
    return facts.join(QStringLiteral(" · "));
}

} // namespace

ModelPanel::ModelPanel(Workbench& bench, QWidget* parent)
    : Panel(bench, parent), facts_(plainLabel({}, this)), warnings_(plainLabel({}, this)),
      model_(new ParameterTreeModel(this)), tree_(new QTreeView(this)), tabs_(new QTabWidget(this)),
      weight_(new WeightCanvas), config_(new QPlainTextEdit), tokenizer_(plainLabel()),
      settings_(makePlainTable("modelSettings", tr("What the configuration asks for, and what is in force"),
                               tr("Compares the model's configuration with what this program does"),
                               {{tr("Setting"), tr("What the row is about")},
                                {tr("Asked for"), tr("Fields of the configuration and their values")},
                                {tr("In force"), tr("What this program does")}})),
      positions_(new PatchEmbeddingPage(PatchEmbeddingPage::Kind::Positions, bench)),
      filters_(new PatchEmbeddingPage(PatchEmbeddingPage::Kind::Filters, bench)) {
    facts_->setText(tr("Open a model (Ctrl+O) to see what it is made of."));
    for (QLabel* label : {facts_, warnings_, tokenizer_}) {
        label->setWordWrap(true);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    }
    warnings_->setAccessibleName(tr("Warnings about the model"));
    warnings_->hide();
    named(tree_, "parameters", tr("Parameters"), tr("Choose a parameter to see its values"));
    tree_->setModel(model_);
    tree_->setUniformRowHeights(true);
    fitColumns(*tree_, ParameterTreeModel::NameColumn);
    tree_->setMinimumSize(220, 120);
    connect(tree_->selectionModel(), &QItemSelectionModel::currentChanged, this, &ModelPanel::showWeight);

    config_->setReadOnly(true);
    QFont fixed;
    fixed.setFamilies(QFontDatabase::systemFont(QFontDatabase::FixedFont).families());
    config_->setFont(fixed); // the size follows the theme
    config_->setAccessibleName(tr("Configuration file of the model"));
    config_->setPlaceholderText(tr("This model has no configuration file."));
    tokenizer_->setAccessibleName(tr("Tokenizer"));
    tokenizer_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    tokenizer_->setMargin(spacing::kGap);
    settings_->setWordWrap(true);
    settings_->setUniformRowHeights(false);
    settings_->setTextElideMode(Qt::ElideNone);
    settings_->header()->setSectionResizeMode(QHeaderView::Interactive);
    settings_->header()->setStretchLastSection(true);
    tabs_->setObjectName("modelTabs");
    tabs_->setAccessibleName(tr("Parameter, configuration, tokenizer"));
    weight_->setObjectName("weight");
    tabs_->addTab(weight_, tr("Parameter"));
    tabs_->addTab(settings_, tr("Asked for / in force"));
    tabs_->addTab(config_, tr("Configuration"));
    tabs_->addTab(tokenizer_, tr("Tokenizer"));
    tabs_->addTab(positions_, tr("Patch positions"));
    tabs_->addTab(filters_, tr("Patch filters"));
    for (QWidget* page : {positions_, filters_}) tabs_->setTabVisible(tabs_->indexOf(page), false);

    followTheme(bench_, weight_);

    makeColumn(this, spacing::kGap, {facts_, warnings_, {new SideBySide(tree_, tabs_, 2, 3), 1}});
}

void ModelPanel::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const bool isNewModel = !snapshot_ || snapshot_->model != snapshot->model;
    snapshot_ = snapshot;
    if (isNewModel && snapshot->model) showModel();
    weight_->setWeight(snapshot->weight);
    positions_->setSnapshot(snapshot);
    filters_->setSnapshot(snapshot);
}

QJsonObject ModelPanel::saveView() const { return filters_->saveView(); }
void ModelPanel::restoreView(const QJsonObject& view) { filters_->restoreView(view); }

ExportNumbers ModelPanel::numbers() const {
    if (tabs_->currentWidget() == positions_) return positions_->numbers();
    if (tabs_->currentWidget() == filters_) return filters_->numbers();
    return weight_->numbers();
}

void ModelPanel::showModel() {
    const ModelInfo& model = *snapshot_->model;
    tabs_->setTabVisible(tabs_->indexOf(tokenizer_), model.vocabulary > 0);
    for (QWidget* page : {positions_, filters_}) tabs_->setTabVisible(tabs_->indexOf(page), model.grid.area() > 0);
    facts_->setText(factsOf(*snapshot_));
    QStringList warnings;
    for (const std::string& warning : model.warnings) warnings << QStringLiteral("⚠ ") + shownText(warning);
    warnings_->setText(warnings.join('\n'));
    warnings_->setVisible(!warnings.isEmpty());
    settings_->clear();
    for (const ModelSetting& setting : model.settings) {
        const QString asked = QString::fromStdString(printable(setting.asked, kMostAsked));
        new QTreeWidgetItem(settings_,
                            {QString::fromStdString(setting.name), asked, QString::fromStdString(setting.inForce)});
    }
    model_->setModel(snapshot_->model);
    tree_->expandToDepth(0);
    constexpr qsizetype kMostShown = 200'000; // characters; the rest of a longer file says nothing to a reader
    QString config = QString::fromStdString(model.configJson);
    if (config.size() > kMostShown) config = config.left(kMostShown) + QStringLiteral("\n…");
    config_->setWordWrapMode(LongWords().add(config));
    config_->setPlainText(config);
    tokenizer_->setText(model.hasTokenizer ? shownText(model.tokenizerSummary)
                        : !model.tokenizerProblem.empty()
                            ? tr("The tokenizer cannot be read, so prompts are token ids, such as 1, 403, 407: %1")
                                  .arg(shownText(model.tokenizerProblem))
                            : tr("This model has no tokenizer: prompts are token ids, such as 1, 403, 407."));
}

void ModelPanel::showWeight(const QModelIndex& index) {
    const QString parameter = index.data(ParameterTreeModel::ParameterRole).toString();
    if (parameter.isEmpty()) return;
    tabs_->setCurrentWidget(weight_);
    bench_.post(ShowWeightCommand{.name = parameter.toStdString()});
}

} // namespace attn
