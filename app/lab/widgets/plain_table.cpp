#include "app/lab/widgets/plain_table.h"

#include "app/figures/drawing.h"
#include "app/lab/widgets/widget_makers.h"

#include <QHeaderView>
#include <QTreeWidget>

namespace attn {

void fitColumns(QTreeView& table, int widest) {
    table.header()->setStretchLastSection(false);
    table.header()->setSectionResizeMode(QHeaderView::ResizeToContents);
    table.header()->setSectionResizeMode(widest, QHeaderView::Stretch);
}

void titleColumns(QTreeWidget& table, const std::vector<ColumnTitle>& columns) {
    QStringList titles;
    for (const ColumnTitle& column : columns) titles << column.title;
    table.setColumnCount(static_cast<int>(titles.size()));
    table.setHeaderLabels(titles);
    for (size_t at = 0; at < columns.size(); ++at)
        table.headerItem()->setToolTip(static_cast<int>(at), columns[at].help);
}

QTreeWidget* makePlainTable(const char* id, const QString& name, const QString& help,
                            const std::vector<ColumnTitle>& columns) {
    auto* table = named(new QTreeWidget, id, name, help);
    titleColumns(*table, columns);
    table->setRootIsDecorated(false);
    table->setUniformRowHeights(true);
    fitColumns(*table, 0);
    table->setMinimumHeight(table->fontMetrics().height() * 6);
    return table;
}

QTreeWidgetItem* addPlainRow(QTreeWidget* table, const QStringList& texts) {
    auto* row = new QTreeWidgetItem(table, texts);
    for (int column = 1; column < table->columnCount(); ++column)
        row->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    return row;
}

QString plainCsv(const QTreeWidget& table, const QString& headers) {
    QString text = headers + '\n';
    for (int row = 0; row < table.topLevelItemCount(); ++row) {
        QStringList cells;
        for (int column = 0; column < table.columnCount(); ++column)
            cells << csvCell(table.topLevelItem(row)->text(column));
        text += cells.join(',') + '\n';
    }
    return text;
}

} // namespace attn
