#include "engine/training/metrics_file.h"

#include "engine/core/error.h"
#include "engine/system/atomic_file.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace attn {

MetricsFile::MetricsFile(const std::filesystem::path& run, const std::vector<MetricPoint>& points)
    : path_(run / kMetricsFile) {
    std::string text;
    for (const MetricPoint& point : points) text += metricLine(point);
    descriptor_ = create(text);
}

int MetricsFile::create(const std::string& text) const {
    writeAtomically(path_, text);
    const int descriptor = open(path_.c_str(), O_RDWR | O_APPEND | O_CLOEXEC);
    if (descriptor < 0)
        throw Error({.what = fmt::format("cannot be written: {}", std::strerror(errno)),
                     .where = path_.string(),
                     .hint = remedyForWriting(errno)});
    return descriptor;
}

MetricsFile::~MetricsFile() { close(descriptor_); }

void MetricsFile::append(const MetricPoint& point) {
    waiting_ += metricLine(point);
    size_t done = 0;
    problem_.reset();
    while (done < waiting_.size() && !problem_) {
        const ssize_t count = write(descriptor_, waiting_.data() + done, waiting_.size() - done);
        if (count >= 0)
            done += static_cast<size_t>(count);
        else if (errno != EINTR)
            problem_ =
                Failure{.what = fmt::format("the metrics cannot be written: {}", std::strerror(errno)),
                        .where = path_.string(),
                        .hint = fmt::format("{}; training continues, and the metrics are written when that works",
                                            remedyForWriting(errno))};
    }
    waiting_.erase(0, done);
}

bool MetricsFile::isGone() const {
    struct stat open {
    }, named{};
    if (fstat(descriptor_, &open) != 0) return false;
    return stat(path_.c_str(), &named) != 0 ? errno == ENOENT
                                            : open.st_dev != named.st_dev || open.st_ino != named.st_ino;
}

void MetricsFile::restore() {
    std::string text; // a file without a name is still there for those who have it open
    std::array<char, 1 << 16> piece{};
    for (ssize_t count = 0; (count = pread(descriptor_, piece.data(), piece.size(), std::ssize(text))) > 0;)
        text.append(piece.data(), static_cast<size_t>(count));
    const int fresh = create(text);
    close(std::exchange(descriptor_, fresh));
}

void MetricsFile::sync() const { fsync(descriptor_); }

} // namespace attn
