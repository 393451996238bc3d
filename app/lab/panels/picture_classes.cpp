#include "app/lab/panels/picture_classes.h"

#include "app/figures/difference.h"
#include "app/figures/drawing.h"
#include "app/figures/token_label.h"
#include "app/lab/widgets/heading.h"
#include "app/lab/widgets/plain_table.h"
#include "app/lab/widgets/widget_makers.h"
#include "app/lab/workbench/answers.h"

#include <QTreeWidget>

#include <algorithm>

namespace attn {
namespace {

/// @return "4", or "3 to 24" if layers have different numbers of heads
QString headsText(const ModelInfo& info) {
    const int fewest = std::ranges::min(info.structure.sites, {}, &Site::heads).heads;
    return fewest == info.heads ? QString::number(info.heads)
                                : PictureClasses::tr("%1 to %2").arg(fewest).arg(info.heads);
}

constexpr size_t kMostClasses = 10;

} // namespace

QString knownClasses(const ModelInfo& info) {
    const bool isRegression = info.activation == ClassActivation::None;
    if (info.classes == 1)
        return (isRegression ? PictureClasses::tr("It answers with one number: %1.")
                             : PictureClasses::tr("It knows one class: %1."))
            .arg(shownText(info.labelOf(0)));
    QStringList names;
    for (int index = 0; index < std::min(info.classes, static_cast<int>(kMostClasses)); ++index)
        names << shownText(info.labelOf(index));
    const int others = info.classes - static_cast<int>(names.size());
    if (others > 0)
        names << (others == 1 ? PictureClasses::tr("and 1 other") : PictureClasses::tr("and %1 others").arg(others));
    return (isRegression ? PictureClasses::tr("It answers with %1 numbers: %2.")
                         : PictureClasses::tr("It knows %1 classes: %2."))
        .arg(info.classes)
        .arg(names.join(QStringLiteral(", ")));
}

QString describedModel(const ModelInfo& info) {
    const QString shape = PictureClasses::tr("%1: %2, %3 layers of %4 heads, %5 × %6 patches of %7 × %7 pixels.")
                              .arg(shownText(info.name), QString::fromStdString(info.familyTitle),
                                   QString::number(info.layers), headsText(info), QString::number(info.grid.height),
                                   QString::number(info.grid.width), QString::number(info.patch));
    return info.classes > 0 ? shape + ' ' + knownClasses(info) : shape;
}

PictureClasses::PictureClasses(Workbench& bench, QWidget* parent)
    : Panel(bench, parent), answer_(identified(new Heading(TextSize::Title), "classesAnswer")),
      text_(makeHintLabel("classesText")), classes_(new QTreeWidget) {
    answer_->setWordWrap(true);
    named(classes_, "classes", tr("Predicted classes"),
          tr("The most probable classes. With hidden patches or changes, also the difference from the original run in "
             "percentage points. Click a class, or press Return, to show rollout weighted by its gradient"));
    titleColumns(*classes_, {{tr("Class"), tr("A class that the model knows; it can answer with no other")},
                             {tr("Probability"), tr("How likely the model finds this class; all classes sum to 100 %")},
                             {tr("Difference"), tr("This run minus the original run, in percentage points")}});
    classes_->setRootIsDecorated(false);
    fitColumns(*classes_, 0);
    classes_->setMinimumHeight(110);
    makeColumn(this, spacing::kGap, {answer_, text_, {classes_, 1}, room(0)});
    connect(classes_, &QTreeWidget::itemClicked, this, &PictureClasses::chooseClass);
    connect(classes_, &QTreeWidget::itemActivated, this, &PictureClasses::chooseClass);
}

void PictureClasses::setSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
    const bool isNew = !snapshot_ || snapshot_->answer != snapshot->answer || snapshot_->model != snapshot->model ||
                       snapshot_->originalAnswer != snapshot->originalAnswer;
    snapshot_ = snapshot;
    if (snapshot->answer && snapshot->picture->hidden.empty() && !snapshot->isChanged) {
        plain_ = snapshot->answer->probabilities;
        plainOf_ = snapshot->picture->image;
    }
    if (isNew) show();
}

void PictureClasses::titleClasses() {
    const ClassActivation activation = snapshot_->model->activation;
    const bool isRegression = activation == ClassActivation::None;
    QTreeWidgetItem& header = *classes_->headerItem();
    header.setText(0, answerTitle(*snapshot_->model));
    header.setToolTip(0, isRegression ? tr("A quantity that the model estimates")
                                      : tr("A class that the model knows; it can answer with no other"));
    header.setText(1, isRegression ? tr("Answer") : tr("Probability"));
    header.setToolTip(1,
                      isRegression ? tr("The number that the model answers; it is a regression, not a probability")
                      : activation == ClassActivation::Sigmoid
                          ? tr("How likely it is that this label applies. Each label has a probability of its own, so "
                               "they need not sum to 100 %")
                          : tr("How likely the model finds this class; all classes sum to 100 %"));
    header.setToolTip(2, isRegression ? tr("This run minus the original run")
                                      : tr("This run minus the original run, in percentage points"));
}

void PictureClasses::show() {
    const ModelInfo& info = *snapshot_->model;
    const auto& answer = snapshot_->answer;
    const bool hasClasses = answer && !answer->probabilities.empty();
    classes_->setVisible(hasClasses);
    const int likeliest = hasClasses ? likeliestAnswers(answer->probabilities, 1).front() : -1;
    if (hasClasses)
        answer_->setText((info.activation == ClassActivation::None ? tr("%1 = %2") : tr("%1, %2"))
                             .arg(shownText(info.labelOf(likeliest)),
                                  formatSaid(static_cast<double>(answer->probabilities[static_cast<size_t>(likeliest)]),
                                             info.activation)));
    answer_->setVisible(hasClasses);
    text_->setText(!answer ? QString()
                   : hasClasses
                       ? tr("%1 %2 It answered in %3 ms.")
                             .arg(knownClasses(info), meaningOfAnswer(info), QString::number(answer->elapsedMs, 'f', 0))
                       : tr("This model has no classifier. It only outputs features."));
    if (!hasClasses) return;
    titleClasses();
    const auto& probabilities = answer->probabilities;
    const bool hasPlain = !snapshot_->picture->hidden.empty() && plainOf_ == snapshot_->picture->image;
    const std::vector<float> before = snapshot_->isChanged && snapshot_->originalAnswer
                                          ? snapshot_->originalAnswer->probabilities
                                      : hasPlain ? plain_
                                                 : std::vector<float>();
    const bool hasChange = before.size() == probabilities.size();
    classes_->setColumnHidden(2, !hasChange);
    const QTreeWidgetItem* current = classes_->currentItem();
    const int kept = current ? current->data(0, Qt::UserRole).toInt() : -1;
    classes_->clear();
    for (const int index : likeliestAnswers(probabilities, kMostClasses)) {
        const auto at = static_cast<size_t>(index);
        const double value = static_cast<double>(probabilities[at]);
        auto* item = new QTreeWidgetItem(
            classes_, {shownText(info.labelOf(index)), formatSaid(value, info.activation), QString()});
        item->setData(0, Qt::UserRole, index);
        if (index == kept) classes_->setCurrentItem(item); // the keyboard focus stays on the class
        for (const int column : {1, 2}) item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
        const double change = value - static_cast<double>(before.size() > at ? before[at] : 0.0f);
        if (hasChange)
            item->setText(2, info.activation == ClassActivation::None ? formatSigned(change, 4)
                                                                      : formatSigned(change * 100, 1));
    }
}

/// Shows rollout weighted by the gradient of the class that was clicked.
void PictureClasses::chooseClass(const QTreeWidgetItem* item) {
    PictureBench& pictures = bench_.pictures();
    VisionLook look = pictures.look();
    look.isRollout = true;
    pictures.setLook(look);
    pictures.setRollout(pictures.rollout().options, LogitTarget{.token = item->data(0, Qt::UserRole).toInt()});
}

ExportNumbers PictureClasses::numbers() const {
    if (!snapshot_ || !snapshot_->answer || snapshot_->answer->probabilities.empty()) return {};
    return {.csv =
                [snapshot = snapshot_] {
                    QString text = "class,label,probability,logit\n";
                    const PictureAnswer& answer = *snapshot->answer;
                    for (size_t at = 0; at < answer.probabilities.size(); ++at) {
                        QString label = QString::fromStdString(snapshot->model->labelOf(static_cast<int>(at)));
                        text += QStringLiteral("%1,\"%2\",%3,%4\n")
                                    .arg(QString::number(at), label.replace('"', "\"\""),
                                         QString::number(static_cast<double>(answer.probabilities[at])),
                                         QString::number(static_cast<double>(answer.logits[at])));
                    }
                    return text;
                },
            .arrays =
                [snapshot = snapshot_] {
                    const PictureAnswer& answer = *snapshot->answer;
                    const auto count = static_cast<int64_t>(answer.logits.size());
                    return std::vector<NumberArray>{{"probability", {count}, answer.probabilities},
                                                    {"logit", {count}, answer.logits}};
                }};
}

} // namespace attn
