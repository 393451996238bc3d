#pragma once

#include <QString>
#include <QStringList>

#include <vector>

class QTreeView;
class QTreeWidget;
class QTreeWidgetItem;

namespace attn {

/// Makes columns as wide as their contents, and gives the rest to one of them.
void fitColumns(QTreeView& table, int widest);

/// The title of a column, and the sentence that its header shows under the pointer.
struct ColumnTitle {
    QString title, help;
};
/// Titles the columns of a table.
void titleColumns(QTreeWidget& table, const std::vector<ColumnTitle>& columns);

/// A table of a name and numbers: the first column takes the room that the others leave.
QTreeWidget* makePlainTable(const char* id, const QString& name, const QString& help,
                            const std::vector<ColumnTitle>& columns);
/// Adds a row, with the numbers at the right.
QTreeWidgetItem* addPlainRow(QTreeWidget* table, const QStringList& texts);
/// The rows as they are on screen, hidden columns too, below a line of headers.
QString plainCsv(const QTreeWidget& table, const QString& headers);

} // namespace attn
