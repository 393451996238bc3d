#pragma once

#include "engine/core/error.h"
#include "engine/system/temporary_folder.h"
#include "tests/support/catch.h"

#include <sys/wait.h>
#include <unistd.h>

namespace attn::test {

namespace fs = std::filesystem;

using attn::TemporaryFolder;

inline void writeFile(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// The bytes of a safetensors file with this header.
inline std::string safetensors(const std::string& header, const std::string& data) {
    std::string file(8, '\0');
    const uint64_t length = header.size();
    std::memcpy(file.data(), &length, 8);
    return file + header + data;
}

/// The sentence of the Error that an action throws, "accepted" if it throws none. The sentence must have all its parts.
template <class Action> std::string sentenceOf(const Action& action) {
    try {
        action();
    } catch (const Error& error) {
        CHECK_FALSE(error.message().empty());
        CHECK_FALSE(error.where().empty());
        CHECK_FALSE(error.hint().empty());
        return error.what();
    }
    return "accepted";
}

/// sentenceOf for a user without special rights: root may read everything, so then a child of ours becomes "nobody".
template <class Action> std::string sentenceAsNobody(const Action& action) {
    constexpr uid_t kNobody = 65534;
    if (geteuid() != 0) return sentenceOf(action);
    int channel[2] = {};
    if (pipe(channel) != 0) return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
        const bool isNobody = setgid(kNobody) == 0 && setuid(kNobody) == 0;
        const std::string text = isNobody ? sentenceOf(action) : "cannot become nobody";
        const bool isSent = write(channel[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
        _exit(isSent ? 0 : 1);
    }
    close(channel[1]);
    std::string text;
    std::array<char, 512> piece{};
    for (ssize_t count = 0; (count = read(channel[0], piece.data(), piece.size())) > 0;)
        text.append(piece.data(), static_cast<size_t>(count));
    close(channel[0]);
    waitpid(child, nullptr, 0);
    return text;
}

} // namespace attn::test
