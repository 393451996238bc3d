#pragma once

#include <QString>
#include <QStringList>

#include <vector>

class QTreeView;
class QTreeWidget;
class QTreeWidgetItem;

namespace attn {

/// Makes columns as wide as their contents. @param widest the column that receives the remaining width
void fitColumns(QTreeView& table, int widest);

/// The title of a column, and the sentence in the tool tip of its header.
struct ColumnTitle {
    QString title, help;
};
/// Titles the columns of a table.
void titleColumns(QTreeWidget& table, const std::vector<ColumnTitle>& columns);

/// A table of a name and numbers. The first column fills the remaining width.
QTreeWidget* makePlainTable(const char* id, const QString& name, const QString& help,
                            const std::vector<ColumnTitle>& columns);
/// Adds a row, with right-aligned numbers.
QTreeWidgetItem* addPlainRow(QTreeWidget* table, const QStringList& texts);
/// The rows as shown, including hidden columns, below a line of headers.
QString plainCsv(const QTreeWidget& table, const QString& headers);

} // namespace attn
