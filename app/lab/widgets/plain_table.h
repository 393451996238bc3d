#pragma once

#include <QString>
#include <QStringList>

class QTreeView;
class QTreeWidget;
class QTreeWidgetItem;

namespace attn {

/// Makes columns as wide as their contents, and gives the rest to one of them.
void fitColumns(QTreeView& table, int widest);

/// A table of a name and numbers: the first column takes the room that the others leave.
QTreeWidget* makePlainTable(const char* id, const QString& name, const QString& help, const QStringList& headers);
/// Adds a row, with the numbers at the right.
QTreeWidgetItem* addPlainRow(QTreeWidget* table, const QStringList& texts);
/// The rows as they are on screen, hidden columns too, below a line of headers.
QString plainCsv(const QTreeWidget& table, const QString& headers);

} // namespace attn
