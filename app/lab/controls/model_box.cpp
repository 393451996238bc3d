#include "app/lab/controls/model_box.h"

#include "app/lab/models/run_list_model.h"
#include "app/lab/widgets/choice_keys.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/models/bundled.h"
#include "engine/models/model_source.h"

#include <QFileDialog>
#include <QLineEdit>
#include <QSignalBlocker>

#include <map>
#include <utility>
#include <vector>

namespace attn {
namespace {

/// The models that come with the program and read an input of a kind. Their files are read once.
const std::vector<BundledModel>& modelsThatRead(AxisKind axis) {
    static auto models = [] {
        std::map<AxisKind, std::vector<BundledModel>> all;
        for (const BundledModel& model : bundledModels())
            all[axisOfModel(model.path).value_or(AxisKind::Tokens)].push_back(model);
        return all;
    }();
    return models[axis];
}

} // namespace

ModelBox::ModelBox(const QString& id, const QString& title, const RunListModel& runs, QWidget* parent)
    : QComboBox(parent), runs_(runs) {
    setEditable(true);
    setInsertPolicy(QComboBox::NoInsert);
    setCompleter(nullptr); // it would complete a path that is typed to another one
    named(this, id + QStringLiteral("List"), title,
          tr("Choose a model that comes with the program or a training run, or type the path of a folder or file"));
    named(lineEdit(), id, title, toolTip());
    lineEdit()->setPlaceholderText(tr("folder, file, or builtin:stories"));
    setLeastCharacters(*this, 12);
    connect(this, &QComboBox::activated, this, [this](int item) {
        setEditText(itemData(item).toString());
        emit pathChosen();
    });
    connect(lineEdit(), &QLineEdit::editingFinished, this, &ModelBox::completeName);
    connect(lineEdit(), &QLineEdit::returnPressed, this, &ModelBox::pathChosen);
    connect(&runs, &RunListModel::curvesChanged, this, &ModelBox::list);
    connect(&runs, &RunListModel::listed, this, &ModelBox::list);
    list();
}

void ModelBox::list() {
    const QSignalBlocker quiet(this);
    const QString typed = currentText();
    clear();
    if (axis_ == AxisKind::Tokens) addItem(tr("induction, from formulas"), QStringLiteral("builtin:induction"));
    for (const BundledModel& model : modelsThatRead(axis_))
        addItem(tr("%1, comes with the program").arg(QString::fromStdString(model.title)),
                QString::fromStdString(model.path));
    if (!runs_.runs().empty()) insertSeparator(count());
    for (const RunListModel::Run& run : runs_.runs()) addItem(tr("%1, training run").arg(run.name), run.folder);
    setCurrentIndex(-1);
    setEditText(typed);
}

/// Makes the path of a model that comes with the program from its bare name: "stories".
void ModelBox::completeName() {
    const QString typed = currentText().trimmed();
    if (typed == QLatin1String("induction")) return setEditText(QStringLiteral("builtin:induction"));
    for (const BundledModel& model : modelsThatRead(axis_))
        if (QString::fromStdString(model.title).compare(typed, Qt::CaseInsensitive) == 0)
            return setEditText(QString::fromStdString(model.path));
}

void ModelBox::setInput(AxisKind axis) {
    if (std::exchange(axis_, axis) != axis) list();
}

void ModelBox::browse(bool forFolder) {
    auto* dialog =
        makeFileDialog(this, forFolder ? tr("Choose the folder of a model") : tr("Choose the file of a model"),
                       forFolder ? QFileDialog::Directory : QFileDialog::ExistingFile);
    if (!forFolder) dialog->setNameFilter(tr("Models (*.safetensors *.json)"));
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
        setEditText(path);
        emit pathChosen();
    });
    dialog->open();
}

} // namespace attn
