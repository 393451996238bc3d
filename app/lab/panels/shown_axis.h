#pragma once

#include "engine/session/snapshot.h"

#include <QString>

class QComboBox;

namespace attn {

/// The names of the rows of the input's axis, as lists show them: "4 “cat”" of a text, "patch 1, 3" of a picture.
std::vector<QString> rowNames(const Snapshot& snapshot);
/// Lists the rows below an item for all or none of them. The choice stays where it can.
void listRows(QComboBox& box, const QString& first, const Snapshot& snapshot);
/// The row of the axis that Selection::row names: patches of a picture follow tokens such as CLS.
int rowOfSelection(const Snapshot& snapshot, int selected);
/// The row at a site of a row of the axis. They differ where a layer has joined patches.
int rowAtSite(const Snapshot& snapshot, int row, int site);
/// The number of rows at a site.
int rowsAtSite(const Snapshot& snapshot, int site);

} // namespace attn
