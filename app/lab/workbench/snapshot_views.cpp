#include "app/lab/workbench/snapshot_views.h"

#include "app/figures/token_label.h"
#include "app/lab/workbench/input_kind.h"
#include "engine/analysis/attention_rollout.h"
#include "engine/analysis/patch_embedding.h"

#include <QComboBox>
#include <QSignalBlocker>

namespace attn {
namespace {

constexpr size_t kMostListed = 4096; ///< most rows of a list

/// The layout of a site's tokens; null for texts, and until a picture has been read.
const LayerLayout* layoutAt(const Snapshot& snapshot, int site) {
    const auto at = static_cast<size_t>(site);
    const bool isKnown = snapshot.answer && at < snapshot.answer->patterns.size();
    return isKnown ? &snapshot.answer->patterns[at].layout : nullptr;
}

} // namespace

void listRows(QComboBox& box, const QString& first, const Snapshot& snapshot) {
    const QSignalBlocker quiet(box);
    const int current = box.currentIndex();
    const std::vector<QString> names = inputKind(snapshot).rowNames(snapshot);
    QStringList items{first};
    for (size_t row = 0; row < std::min(names.size(), kMostListed); ++row) items << names[row];
    box.clear();
    box.addItems(items);
    box.setCurrentIndex(current >= 0 && current < box.count() ? current : 0);
}

int rowOfSelection(const Snapshot& snapshot, int selected) {
    return selected + (snapshot.model ? static_cast<int>(snapshot.model->prefix.size()) : 0);
}

int rowAtSite(const Snapshot& snapshot, int row, int site) {
    const LayerLayout* layout = layoutAt(snapshot, site);
    const int patch = row - rowOfSelection(snapshot, 0);
    const bool isJoined = layout && patch >= 0 && static_cast<size_t>(patch) < layout->tokenOf.size();
    return isJoined ? layout->tokenOf[static_cast<size_t>(patch)] : row;
}

int rowsAtSite(const Snapshot& snapshot, int site) {
    if (const LayerLayout* layout = layoutAt(snapshot, site)) return static_cast<int>(layout->tokens);
    return inputKind(snapshot).rowsAtSite(snapshot, site);
}

std::shared_ptr<const PatternTile> shownTile(const std::shared_ptr<const PatternTile>& detail,
                                             const std::shared_ptr<const PatternGrid>& grid, int count, int layer,
                                             int head, bool mayLeaveOutFirst) {
    const bool isWhole = detail && detail->queryBegin == 0 && detail->keyBegin == 0 && detail->queryEnd >= count &&
                         detail->keyEnd >= count;
    if (isWhole && detail->site == layer && detail->head == head && (mayLeaveOutFirst || !detail->leavesOutFirst))
        return detail;
    if (!grid || layer >= grid->sites || head >= grid->heads || grid->tiles.empty()) return nullptr;
    if (grid->at(layer, head).leavesOutFirst && !mayLeaveOutFirst) return nullptr;
    return {grid, &grid->at(layer, head)};
}

std::shared_ptr<const PatternTile> shownTile(const Snapshot& snapshot, int layer, int head, bool mayLeaveOutFirst) {
    const int count = snapshot.sequence ? static_cast<int>(snapshot.sequence->tokens.size()) : 0;
    return shownTile(snapshot.detail, snapshot.grid, count, layer, head, mayLeaveOutFirst);
}

bool isCompletePicture(const Snapshot& snapshot) {
    const bool hasText = snapshot.model && snapshot.model->writtenPicture && snapshot.sequence;
    return hasText && std::ssize(snapshot.sequence->tokens) == snapshot.model->writtenPicture->tokens();
}

PictureRun pictureRun(const Snapshot& snapshot, bool isOriginal) {
    PictureRun run{.model = inputKind(snapshot).axis() == AxisKind::Patches ? snapshot.model.get() : nullptr};
    const PictureAnswer* answer = (isOriginal ? snapshot.originalAnswer : snapshot.answer).get();
    run.embedding = resultIn<PatchEmbeddingMaps>(snapshot.analyses, PatchEmbeddingAnalysis{}.key()).get();
    if (!run.model || !answer) return run;
    const auto rollout =
        resultIn<Rollout>(isOriginal ? snapshot.originalAnalyses : snapshot.analyses, RolloutAnalysis{}.key());
    if (rollout && rollout->inputVersion == snapshot.sequenceVersion) {
        run.rollout = &rollout->map;
        if (rollout->target) run.rolloutClass = rollout->target->token;
    }
    run.hidden = snapshot.picture->hidden;
    run.seen = answer->seen.get();
    run.patterns = answer->patterns;
    run.distances = answer->distances;
    return run;
}

QString failureIn(const Snapshot& snapshot, const std::string& key) {
    const auto found = snapshot.failedAnalyses.find(key);
    return found == snapshot.failedAnalyses.end() ? QString() : shownText(found->second.sentence());
}

} // namespace attn
