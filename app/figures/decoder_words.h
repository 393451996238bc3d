#pragma once

#include <mutex>
#include <string>

namespace attn {

struct DecoderEars;

/// Keeps what is written to standard error while it lives, by any library. One lives at a time: another thread waits.
class KeptStandardError {
public:
    KeptStandardError();
    ~KeptStandardError();
    KeptStandardError(const KeptStandardError&) = delete;
    KeptStandardError& operator=(const KeptStandardError&) = delete;

    /// The first line that was written; empty if there was none.
    std::string firstLine() const;

private:
    std::unique_lock<std::mutex> lock_;
    int real_ = -1, kept_ = -1; ///< descriptors; negative: nothing is kept
};

/// While it lives, keeps the messages of picture decoders on this thread. Without it, Qt's plugins, libtiff and libpng
/// write them to standard error.
class DecoderWords {
public:
    DecoderWords();
    ~DecoderWords();
    DecoderWords(const DecoderWords&) = delete;
    DecoderWords& operator=(const DecoderWords&) = delete;

    /// Listens to libtiff too. @pre Qt has loaded its plugin for TIFF
    static void listenToTiff();

    /// The first message; empty if there was none.
    std::string first() const { return first_.empty() ? written_.firstLine() : first_; }
    /// The first message of libtiff about pixels; empty if there was none.
    const std::string& ofPixels() const { return ofPixels_; }

private:
    friend struct DecoderEars;
    KeptStandardError written_; ///< by what asks nobody where to, such as libpng below the reader of ICNS
    std::string first_, ofPixels_;
};

} // namespace attn
