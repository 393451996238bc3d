#include "app/figures/decoder_words.h"

#include <QString>
#include <QtGlobal>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <dlfcn.h>
#include <fcntl.h>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace attn {
namespace {

thread_local DecoderWords* listening = nullptr;
QtMessageHandler earlier = nullptr;

std::mutex& keeping() {
    static std::mutex mutex;
    return mutex;
}

std::string formatted(const char* module, const char* format, va_list values) {
    std::array<char, 512> text{};
    std::vsnprintf(text.data(), text.size(), format, values);
    return std::string(module == nullptr ? "TIFF" : module) + ": " + text.data();
}

} // namespace

/// Functions that the libraries call with their messages.
struct DecoderEars {
    static void hear(const std::string& text, bool isOfPixels) {
        if (listening == nullptr) return;
        if (listening->first_.empty()) listening->first_ = text;
        if (isOfPixels && listening->ofPixels_.empty()) listening->ofPixels_ = text;
    }
    static void onQtMessage(QtMsgType type, const QMessageLogContext& context, const QString& text) {
        if (listening != nullptr && type != QtFatalMsg)
            hear(text.toStdString(), false);
        else if (earlier != nullptr)
            earlier(type, context, text);
    }
    static void onTiffError(const char* module, const char* format, va_list values) {
        hear(formatted(module, format, values), true);
    }
    /// Warnings about unknown fields come from the reader of directories; warnings about pixels come from decoders.
    static void onTiffWarning(const char* module, const char* format, va_list values) {
        if (module != nullptr && !std::string_view(module).starts_with("TIFF")) onTiffError(module, format, values);
    }
};

KeptStandardError::KeptStandardError() : lock_(keeping()) {
    std::fflush(stderr);
    kept_ = memfd_create("standard-error", MFD_CLOEXEC);
    if (kept_ < 0) return;
    real_ = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (real_ >= 0) dup2(kept_, STDERR_FILENO);
}

KeptStandardError::~KeptStandardError() {
    std::fflush(stderr);
    if (real_ >= 0) {
        dup2(real_, STDERR_FILENO);
        close(real_);
    }
    if (kept_ >= 0) close(kept_);
}

std::string KeptStandardError::firstLine() const {
    std::fflush(stderr);
    std::array<char, 512> text{};
    const ssize_t size = kept_ < 0 ? 0 : pread(kept_, text.data(), text.size(), 0);
    const std::string_view written(text.data(), static_cast<size_t>(std::max<ssize_t>(size, 0)));
    return std::string(written.substr(0, written.find('\n')));
}

DecoderWords::DecoderWords() {
    static const bool isSet = [] {
        earlier = qInstallMessageHandler(DecoderEars::onQtMessage);
        return true;
    }();
    Q_UNUSED(isSet)
    listening = this;
}

DecoderWords::~DecoderWords() { listening = nullptr; }

void DecoderWords::listenToTiff() {
    static const bool isSet = [] {
        void* library = nullptr; // loaded by Qt's plugin; the program does not use it otherwise
        for (const char* name : {"libtiff.so.6", "libtiff.so.5"})
            if (library == nullptr) library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
        if (library == nullptr) return false;
        using Handler = void (*)(const char*, const char*, va_list);
        using Set = Handler (*)(Handler);
        if (const auto set = reinterpret_cast<Set>(dlsym(library, "TIFFSetErrorHandler")))
            set(DecoderEars::onTiffError);
        if (const auto set = reinterpret_cast<Set>(dlsym(library, "TIFFSetWarningHandler")))
            set(DecoderEars::onTiffWarning);
        return true;
    }();
    Q_UNUSED(isSet)
}

} // namespace attn
