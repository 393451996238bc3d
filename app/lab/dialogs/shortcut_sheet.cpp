#include "app/lab/dialogs/shortcut_sheet.h"

#include "app/lab/common/fit_screen.h"
#include "app/lab/common/icons.h"
#include "app/lab/widgets/plain_table.h"
#include "app/lab/widgets/widget_makers.h"

#include <QAction>
#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QTreeWidget>
#include <QVBoxLayout>

namespace attn {
namespace {

QString keysOf(const QAction& action) {
    QStringList keys;
    for (const QKeySequence& sequence : action.shortcuts()) keys << sequence.toString(QKeySequence::NativeText);
    return keys.join(QObject::tr(" or "));
}

void listActions(QTreeWidgetItem& group, const QMenu& menu) {
    for (const QAction* action : menu.actions()) {
        if (action->isSeparator() || !action->isVisible()) continue;
        if (action->menu()) {
            listActions(group, *action->menu());
            continue;
        }
        auto* row = new QTreeWidgetItem(&group, {shownOnButton(action->text()), keysOf(*action), action->toolTip()});
        row->setToolTip(2, action->toolTip());
    }
}

} // namespace

ShortcutSheet::ShortcutSheet(const QMenuBar& menuBar, QWidget* parent)
    : QDialog(parent), search_(new QLineEdit(this)), list_(new QTreeWidget(this)) {
    setWindowTitle(tr("Keyboard shortcuts"));
    search_->setPlaceholderText(tr("Search actions and keys"));
    search_->setAccessibleName(tr("Search actions and keys"));
    search_->setClearButtonEnabled(true);
    search_->addAction(themedIcon("search"), QLineEdit::LeadingPosition);
    list_->setAccessibleName(tr("Actions and their keys"));
    titleColumns(*list_, {{tr("Action"), tr("The action as its menu names it")},
                          {tr("Keys"), tr("The keys that start it")},
                          {tr("Description"), tr("The effect of the action")}});
    list_->setRootIsDecorated(false);
    for (const QAction* top : menuBar.actions())
        if (top->menu()) listActions(*addGroup(shownOnButton(top->text())), *top->menu());
    auto* figures = addGroup(tr("In a figure that has the focus"));
    const QStringList keys[] = {
        {tr("Choose the previous or next head"), tr("Left or Right"), tr("In All heads and in the Heads panel")},
        {tr("Choose the previous or next layer"), tr("Up or Down"), tr("In All heads and in the Heads panel")},
        {tr("Remove or restore the head"), tr("Space"), tr("In the Heads panel")},
        {tr("Change the gate"), tr("+ or −"), tr("In the Heads panel")},
        {tr("Choose a cell"), tr("Arrow keys"), tr("In a heatmap or a matrix")},
        {tr("Open the head or the cell"), tr("Return"), tr("In All heads and in a heatmap")},
        {tr("Zoom"), tr("+ or −"), tr("In a heatmap. Home shows the whole pattern again.")}};
    for (const QStringList& row : keys) new QTreeWidgetItem(figures, row);
    list_->expandAll();
    list_->header()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
    list_->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(search_, &QLineEdit::textChanged, this, &ShortcutSheet::filter);
    auto* column = new QVBoxLayout(this);
    column->addWidget(search_);
    column->addWidget(list_, 1);
    column->addWidget(buttons);
    resize(fontMetrics().averageCharWidth() * 130, fontMetrics().height() * 30);
    fitScreen(*this);
}

QTreeWidgetItem* ShortcutSheet::addGroup(const QString& title) {
    auto* group = new QTreeWidgetItem(list_, {title});
    QFont bold = font();
    bold.setBold(true);
    group->setFont(0, bold);
    group->setFirstColumnSpanned(true);
    group->setFlags(Qt::ItemIsEnabled);
    return group;
}

void ShortcutSheet::filter(const QString& text) {
    for (int g = 0; g < list_->topLevelItemCount(); ++g) {
        QTreeWidgetItem* group = list_->topLevelItem(g);
        bool hasAny = false;
        for (int i = 0; i < group->childCount(); ++i) {
            QTreeWidgetItem* row = group->child(i);
            const bool matches = text.isEmpty() || row->text(0).contains(text, Qt::CaseInsensitive) ||
                                 row->text(1).contains(text, Qt::CaseInsensitive) ||
                                 row->text(2).contains(text, Qt::CaseInsensitive);
            row->setHidden(!matches);
            hasAny = hasAny || matches;
        }
        group->setHidden(!hasAny);
    }
}

} // namespace attn
