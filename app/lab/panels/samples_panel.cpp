#include "app/lab/panels/samples_panel.h"

#include "app/lab/bridge/training_bridge.h"
#include "app/lab/models/image_prediction_model.h"
#include "app/lab/models/sample_model.h"
#include "app/lab/widgets/empty_state.h"
#include "app/lab/widgets/item_delegates.h"
#include "app/lab/widgets/predictions_view.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/follow_theme.h"

#include <QHeaderView>
#include <QTreeView>

namespace attn {

SamplesPanel::SamplesPanel(Workbench& bench, QWidget* parent)
    : Panel(bench, parent), model_(new SampleModel(this)), table_(new QTreeView(this)),
      predictions_(new PredictionsView(this)), hint_(makeHintLabel("samplesHint")) {
    empty_ =
        new EmptyState("samplesEmpty", tr("The answers of a model to questions that it did not train on appear here."));
    empty_->offerAction("trainPlay", tr("Train a model"));
    makeColumn(this, spacing::kGap, {hint_, {empty_, 1}, {table_, 1}, {predictions_, 1}});
    table_->setObjectName("samples");
    table_->setAccessibleName(tr("Sample answers"));
    table_->setModel(model_);
    table_->setItemDelegateForColumn(SampleModel::GivenColumn, new AnswerDelegate(table_));
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setSelectionMode(QAbstractItemView::SingleSelection);
    table_->setTextElideMode(Qt::ElideLeft);
    table_->setRootIsDecorated(false);
    table_->setUniformRowHeights(true);
    table_->header()->setSectionResizeMode(QHeaderView::Stretch);
    connect(table_, &QTreeView::activated, this, &SamplesPanel::showQuestion);
    connect(table_, &QTreeView::clicked, this, &SamplesPanel::showQuestion);
    connect(&bench_.training(), &TrainingBridge::changed, this, &SamplesPanel::refresh);
    connect(&bench_.training(), &TrainingBridge::shownStepChanged, this, &SamplesPanel::refresh);
    connect(&bench_.training(), &TrainingBridge::followingChanged, this, &SamplesPanel::refresh);
    connect(predictions_, &PredictionsView::chosen, this, &SamplesPanel::showPicture);
    followTheme(bench_, predictions_);
    refresh();
}

bool SamplesPanel::hasPictures() const { return answers_.predictions != nullptr; }

void SamplesPanel::refresh() {
    answers_ = bench_.training().answers().value_or(AnswersAtStep{});
    model_->setSamples(answers_.samples);
    predictions_->setPredictions(answers_.predictions);
    predictions_->setVisible(hasPictures());
    table_->setVisible(model_->rowCount() > 0);
    const QString hint = hintText();
    hint_->setText(hint);
    hint_->setVisible(!hint.isEmpty());
    empty_->setVisible(hint.isEmpty());
}

QString SamplesPanel::hintText() const {
    const auto& shownStep = bench_.training().shownStep();
    if (answers_.step < 0 && shownStep)
        return tr("The answers at step %1 are not known: they are kept while the run trains. Press Train to continue "
                  "the run.")
            .arg(shownStep->step);
    if (answers_.step < 0 && bench_.training().snapshot()->answers.step >= 0)
        return tr("The views show another model. Press Live in the Train panel to see the answers of the run.");
    if (answers_.step < 0) return {};
    const std::optional<double> error = hasPictures() ? predictions_->model().meanError() : model_->meanError();
    QString text =
        error ? tr("Step %1: the numbers are wrong by %2 on average. Click one to see where the model looks.")
                    .arg(answers_.step)
                    .arg(*error, 0, 'g', 3)
        : hasPictures()
            ? tr("Step %1: %2 of %3 right; the others are marked. Click a picture to see where the model looks.")
                  .arg(answers_.step)
                  .arg(predictions_->model().rightCount())
                  .arg(predictions_->model().rowCount())
            : tr("Step %1: %2 of %3 right; mistakes are marked. Click a row to see its attention.")
                  .arg(answers_.step)
                  .arg(model_->rightCount())
                  .arg(model_->rowCount());
    if (!bench_.training().isFollowing() && shownStep->step != answers_.step)
        text += ' ' + tr("The views show step %1, where the answers were not checked.").arg(shownStep->step);
    return text;
}

void SamplesPanel::showQuestion(const QModelIndex& index) {
    const auto samples = answers_.samples;
    if (!samples || index.row() >= static_cast<int>(samples->size())) return;
    const SampleAnswer& sample = (*samples)[static_cast<size_t>(index.row())];
    bench_.post(SetPromptCommand{sample.question});
}

void SamplesPanel::showPicture(int row) {
    const auto predictions = answers_.predictions;
    if (!predictions || row < 0 || row >= static_cast<int>(predictions->examples.size())) return;
    bench_.requestPicture(
        std::make_shared<const Image>(predictions->examples[static_cast<size_t>(row)].example.picture),
        tr("%1, picture %2").arg(predictions_->model().labelOf(row), QString::number(row + 1)));
}

ExportNumbers SamplesPanel::numbers() const {
    if (hasPictures() && !answers_.predictions->confusion.empty()) return numbersOf(predictions_->confusion());
    const auto quoted = [](QString value) { return '"' + value.replace('"', "\"\"") + '"'; };
    if (hasPictures()) { // with several labels or numbers
        const ImagePredictionModel& pictures = predictions_->model();
        QString text = "picture,right_answer,given_answer\n";
        for (int row = 0; row < pictures.rowCount(); ++row)
            text += QStringLiteral("%1,%2,%3\n")
                        .arg(QString::number(row + 1), quoted(pictures.labelOf(row)), quoted(pictures.givenOf(row)));
        return {.csv = [text] { return text; }};
    }
    if (model_->rowCount() == 0) return {};
    QString text = "question,right_answer,given_answer\n"; // of a few rows
    for (int row = 0; row < model_->rowCount(); ++row) {
        QStringList fields;
        for (int column = 0; column < SampleModel::ColumnCount; ++column)
            fields << quoted(model_->data(model_->index(row, column), Qt::DisplayRole).toString());
        text += fields.join(',') + "\n";
    }
    return {.csv = [text] { return text; }};
}

} // namespace attn
