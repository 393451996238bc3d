#pragma once

#include "engine/models/head_name.h"
#include "engine/models/structure.h"

#include <QString>

namespace attn {

/// "L2 H3": headName() for figures, tables and titles.
inline QString headLabel(int layer, int head) { return QString::fromStdString(headName(layer, head)); }
/// The label of a head in a model with several stacks: "Cross L0 H3".
inline QString headLabel(const ModelStructure& structure, int site, int head) {
    return QString::fromStdString(headName(structure.labelOf(site), head));
}
/// The labels of rows of layers and columns of heads: "L2", "H3".
inline QString layerLabel(int layer) { return QStringLiteral("L%1").arg(layer); }
inline QString headColumnLabel(int head) { return QStringLiteral("H%1").arg(head); }

} // namespace attn
