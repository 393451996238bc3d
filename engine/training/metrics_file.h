#pragma once

#include "engine/core/failure.h"
#include "engine/training/metrics.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// metrics.jsonl of a training run, open for writing. A disk that is full does not stop the run: lines that cannot be
/// written wait in memory and are written when that works again. A file that someone removed or moved is written again.
class MetricsFile {
public:
    /// Replaces the file with these points, completely or not at all. @throws Error naming the file and the reason
    MetricsFile(const std::filesystem::path& run, const std::vector<MetricPoint>& points);
    ~MetricsFile();
    MetricsFile(const MetricsFile&) = delete;
    MetricsFile& operator=(const MetricsFile&) = delete;

    void append(const MetricPoint& point);
    /// Whether the file lies no longer at its path.
    bool isGone() const;
    /// Writes what the file holds to its path again. @pre isGone(), and the folder is there  @throws Error as above
    void restore();
    /// Flushes what was written to the disk.
    void sync() const;
    /// Why the newest points are not in the file yet; none if all are.
    const std::optional<Failure>& problem() const { return problem_; }

private:
    int create(const std::string& text) const; ///< @return a descriptor of the file

    std::filesystem::path path_;
    int descriptor_ = -1;
    std::string waiting_; ///< not written yet; it may begin inside a line
    std::optional<Failure> problem_;
};

} // namespace attn
