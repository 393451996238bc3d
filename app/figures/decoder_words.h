#pragma once

#include <string>

namespace attn {

struct DecoderEars;

/// Keeps what the decoders of pictures say on this thread while it lives: Qt's plugins and libtiff write to standard
/// error by themselves.
class DecoderWords {
public:
    DecoderWords();
    ~DecoderWords();
    DecoderWords(const DecoderWords&) = delete;
    DecoderWords& operator=(const DecoderWords&) = delete;

    /// Listens to libtiff too. @pre Qt has loaded its plugin for TIFF
    static void listenToTiff();

    /// The first thing that was said; empty: nothing.
    const std::string& first() const { return first_; }
    /// The first thing that libtiff said of pixels; empty: they are right.
    const std::string& ofPixels() const { return ofPixels_; }

private:
    friend struct DecoderEars;
    std::string first_, ofPixels_;
};

} // namespace attn
