#include "app/arguments/run_program.h"

#include "engine/core/quoting.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <system_error>

namespace attn::cli {
namespace {

constexpr int kFailed = 1;

} // namespace

void flushOutput() {
    if (std::fflush(stdout) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot write to standard output");
}

int runProgram(const std::string& program, const std::function<int()>& work) {
    int code = kFailed;
    std::string mistake;
    std::error_code unwritten; // the reason why output was lost, if it was
    try {
        code = work();
    } catch (const std::bad_alloc&) {
        mistake = "the memory is too short for this; close other programs, choose smaller sizes or a smaller model, or "
                  "allow the program more memory (ulimit -v)";
    } catch (const std::system_error& error) {
        mistake = error.what();
        unwritten = error.code(); // fmt::print throws it
    } catch (const std::exception& error) {
        mistake = error.what();
    }
    if (std::fflush(stdout) != 0) unwritten = std::error_code(errno, std::generic_category());
    if (std::ferror(stdout) != 0)
        mistake = fmt::format("the results could not be written to standard output{}; free space on the disk, or send "
                              "them elsewhere",
                              unwritten ? ": " + unwritten.message() : std::string());
    if (mistake.empty()) return code;
    std::fputs(fmt::format("{}: {}\n", program, printableLines(mistake)).c_str(), stderr);
    return kFailed;
}

} // namespace attn::cli
