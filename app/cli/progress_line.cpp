#include "app/cli/progress_line.h"

#include "engine/core/quoting.h"

#include <fmt/format.h>

#include <cstdio>
#include <unistd.h>

namespace attn::cli {
namespace {

constexpr std::chrono::milliseconds kBetweenChanges{50};
constexpr std::chrono::milliseconds kBetweenLines{5000}; ///< where there is no terminal whose line could change

/// A terminal that was closed must not end the work.
void say(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stderr); }

} // namespace

ProgressLine::ProgressLine(bool printsLines)
    : isTerminal_(isatty(STDERR_FILENO) == 1), printsLines_(printsLines),
      shown_(isTerminal_ ? std::chrono::steady_clock::time_point{} : std::chrono::steady_clock::now()) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::clear() const {
    if (isTerminal_) say("\r\x1b[K");
}

void ProgressLine::show(Progress progress) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    const auto left = remaining_.after(progress.fraction, seconds);
    if (!progress.secondsLeft && progress.fraction >= 0) progress.secondsLeft = left;
    show(progress, {});
}

void ProgressLine::show(const Progress& progress, const std::string& more) {
    if (!isTerminal_ && !printsLines_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - shown_ < (isTerminal_ ? kBetweenChanges : kBetweenLines)) return;
    shown_ = now;
    const std::string text = printableLines(progressText(progress)) + more;
    say(isTerminal_ ? "\r\x1b[K" + text : text + "\n");
}

} // namespace attn::cli
