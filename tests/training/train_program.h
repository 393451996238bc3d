#pragma once

#include "tests/support/catch.h"

#include <fmt/format.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace attn::test {

inline std::string bytesOf(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// A run of a small model that learns to sort.
struct SmallRun {
    std::filesystem::path out;
    int64_t steps = 1'000'000; ///< as good as without an end
    int64_t checkpointEvery = 1'000'000, evaluateEvery = 1'000'000;
    std::vector<std::string> more{}; ///< further arguments

    std::vector<std::string> arguments() const {
        std::istringstream words(fmt::format("--task sort --layers 1 --heads 2 --width 16 --batch 8 --steps {} "
                                             "--checkpoint-every {} --evaluate-every {}",
                                             steps, checkpointEvery, evaluateEvery));
        std::vector<std::string> all{std::istream_iterator<std::string>(words), {}};
        all.insert(all.end(), {"--out", out.string()});
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
};

/// attention-cli train in a process of its own.
class TrainProgram {
public:
    explicit TrainProgram(const SmallRun& run) : TrainProgram(run.arguments()) {}
    explicit TrainProgram(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {ATTN_CLI_PROGRAM, "train"});
        int ends[2] = {-1, -1};
        REQUIRE(pipe(ends) == 0);
        std::cout << std::flush; // or the child writes it again
        child_ = fork();
        REQUIRE(child_ >= 0);
        if (child_ == 0) {
            std::vector<char*> argv;
            for (std::string& argument : arguments) argv.push_back(argument.data());
            argv.push_back(nullptr);
            close(ends[0]);
            if (freopen("/dev/null", "w", stdout) != nullptr && dup2(ends[1], STDERR_FILENO) >= 0)
                execv(argv[0], argv.data());
            _exit(127);
        }
        close(ends[1]);
        errors_ = ends[0];
    }
    ~TrainProgram() {
        if (child_ > 0) {
            send(SIGKILL);
            waitpid(child_, nullptr, 0);
        }
        closeErrors();
    }
    TrainProgram(const TrainProgram&) = delete;
    TrainProgram& operator=(const TrainProgram&) = delete;

    void send(int signal) const { kill(child_, signal); }
    /// Ends a FileSizeLimit that it was started under, and this process no longer is.
    void liftFileSizeLimit() const {
        rlimit own{};
        REQUIRE(getrlimit(RLIMIT_FSIZE, &own) == 0);
        REQUIRE(prlimit(child_, RLIMIT_FSIZE, &own, nullptr) == 0);
    }
    /// @return whether the condition holds within two minutes
    static bool waitFor(const std::function<bool()>& condition) {
        for (int tries = 0; tries < 12'000; ++tries) {
            if (condition()) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return false;
    }
    /// Reads what it writes to standard error until there is a piece in it. @return false: it ends without
    bool waitToSay(std::string_view piece) {
        while (text_.find(piece) == std::string::npos)
            if (!readMore()) return false;
        return true;
    }
    /// @return the exit code, or minus the signal that ended it
    int wait() {
        while (errors_ >= 0 && readMore()) {
        }
        int status = 0;
        waitpid(std::exchange(child_, -1), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    /// What it has written to standard error. Call this after wait().
    const std::string& errors() const { return text_; }
    /// From now on nobody reads what it writes to standard error.
    void closeErrors() {
        if (errors_ >= 0) close(std::exchange(errors_, -1));
    }

private:
    bool readMore() {
        std::array<char, 4096> piece{};
        const ssize_t count = read(errors_, piece.data(), piece.size());
        if (count > 0) text_.append(piece.data(), static_cast<size_t>(count));
        return count > 0;
    }

    pid_t child_ = -1;
    int errors_ = -1;
    std::string text_;
};

} // namespace attn::test
