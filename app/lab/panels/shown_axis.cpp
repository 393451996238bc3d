#include "app/lab/panels/shown_axis.h"

#include "app/figures/axis_display.h"
#include "app/figures/token_label.h"

#include <QComboBox>
#include <QSignalBlocker>

namespace attn {
namespace {

constexpr size_t kMostListed = 4096; ///< most rows of a list

/// The layout of a site's tokens; null for texts, and until a picture has been read.
const LayerLayout* layoutAt(const Snapshot& snapshot, int site) {
    const auto at = static_cast<size_t>(site);
    const bool isKnown = snapshot.readsPictures() && snapshot.answer && at < snapshot.answer->patterns.size();
    return isKnown ? &snapshot.answer->patterns[at].layout : nullptr;
}

} // namespace

std::vector<QString> rowNames(const Snapshot& snapshot) {
    if (snapshot.readsPictures()) return patchAxis(*snapshot.model).names;
    std::vector<QString> names = tokenLabels(snapshot.sequence.get());
    for (size_t row = 0; row < names.size(); ++row) names[row] = QStringLiteral("%1 “%2”").arg(row).arg(names[row]);
    return names;
}

void listRows(QComboBox& box, const QString& first, const Snapshot& snapshot) {
    const QSignalBlocker quiet(box);
    const int current = box.currentIndex();
    const std::vector<QString> names = rowNames(snapshot);
    QStringList items{first};
    for (size_t row = 0; row < std::min(names.size(), kMostListed); ++row) items << names[row];
    box.clear();
    box.addItems(items);
    box.setCurrentIndex(current >= 0 && current < box.count() ? current : 0);
}

int rowOfSelection(const Snapshot& snapshot, int selected) {
    return selected + (snapshot.readsPictures() ? static_cast<int>(snapshot.model->prefix.size()) : 0);
}

int rowAtSite(const Snapshot& snapshot, int row, int site) {
    const LayerLayout* layout = layoutAt(snapshot, site);
    const int patch = row - rowOfSelection(snapshot, 0);
    const bool isJoined = layout && patch >= 0 && static_cast<size_t>(patch) < layout->tokenOf.size();
    return isJoined ? layout->tokenOf[static_cast<size_t>(patch)] : row;
}

int rowsAtSite(const Snapshot& snapshot, int site) {
    if (const LayerLayout* layout = layoutAt(snapshot, site)) return static_cast<int>(layout->tokens);
    if (snapshot.readsPictures()) return snapshot.model->tokens();
    return snapshot.sequence ? static_cast<int>(snapshot.sequence->tokens.size()) : 0;
}

} // namespace attn
