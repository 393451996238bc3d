#pragma once

#include "engine/jobs/progress.h"

#include <chrono>
#include <string>

namespace attn::cli {

/// Tells on standard error how far long work is, on a line of the terminal that changes. The destructor clears it.
class ProgressLine {
public:
    /// @param printsLines where there is no terminal, prints a line of its own from time to time; false: nothing
    explicit ProgressLine(bool printsLines = true);
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    /// @param progress gets the time that is left, unless it has one
    void show(Progress progress);
    void show(const Progress& progress, const std::string& more); ///< more text behind it
    /// Clears the line, so that something else can be printed there.
    void clear() const;

private:
    bool isTerminal_, printsLines_;
    std::chrono::steady_clock::time_point shown_;
    RemainingTime remaining_;
};

} // namespace attn::cli
