#pragma once

#include "app/figures/axis_display.h"
#include "engine/session/snapshot.h"

#include <QString>

class QComboBox;

// What a snapshot shows, as several panels need it.

namespace attn {

/// Lists the rows of the input's axis below an item for all or none of them. The choice stays where it can.
void listRows(QComboBox& box, const QString& first, const Snapshot& snapshot);
/// The row of the axis that Selection::row names: patches of a picture follow tokens such as CLS.
int rowOfSelection(const Snapshot& snapshot, int selected);
/// The row at a site of a row of the axis. They differ where a layer has joined patches.
int rowAtSite(const Snapshot& snapshot, int row, int site);
/// The number of rows at a site.
int rowsAtSite(const Snapshot& snapshot, int site);

/// A head's pattern over all tokens: the detail if it covers all tokens of that head, otherwise the thumbnail.
/// @param count number of tokens
/// @param mayLeaveOutFirst whether a pattern without the first token is acceptable
/// @return null if there is no suitable pattern
std::shared_ptr<const PatternTile> shownTile(const std::shared_ptr<const PatternTile>& detail,
                                             const std::shared_ptr<const PatternGrid>& grid, int count, int layer,
                                             int head, bool mayLeaveOutFirst = false);
/// The same for the patterns of a snapshot.
std::shared_ptr<const PatternTile> shownTile(const Snapshot& snapshot, int layer, int head,
                                             bool mayLeaveOutFirst = false);

/// Whether the text is a picture that the model has written to its end.
bool isCompletePicture(const Snapshot& snapshot);

/// The run of a vision model that a snapshot shows, or the original run beside it. It refers to the snapshot.
PictureRun pictureRun(const Snapshot& snapshot, bool isOriginal = false);

/// The last result of an analysis; null: there is none.
template <class Result = AnalysisResult>
std::shared_ptr<const Result> resultIn(const decltype(Snapshot::analyses)& results, const std::string& key) {
    const auto found = results.find(key);
    return found == results.end() ? nullptr : std::static_pointer_cast<const Result>(found->second);
}

/// Why the last run of an analysis has no result, as a sentence; empty: it has one, or it has not ended.
QString failureIn(const Snapshot& snapshot, const std::string& key);

} // namespace attn
