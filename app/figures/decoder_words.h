#pragma once

#include <string>

namespace attn {

struct DecoderEars;

/// While it lives, keeps the messages of picture decoders on this thread. Without it, Qt's plugins and libtiff write
/// them to standard error.
class DecoderWords {
public:
    DecoderWords();
    ~DecoderWords();
    DecoderWords(const DecoderWords&) = delete;
    DecoderWords& operator=(const DecoderWords&) = delete;

    /// Listens to libtiff too. @pre Qt has loaded its plugin for TIFF
    static void listenToTiff();

    /// The first message; empty if there was none.
    const std::string& first() const { return first_; }
    /// The first message of libtiff about pixels; empty if there was none.
    const std::string& ofPixels() const { return ofPixels_; }

private:
    friend struct DecoderEars;
    std::string first_, ofPixels_;
};

} // namespace attn
