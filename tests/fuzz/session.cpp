#include "app/lab/workbench/session_file.h"
#include "tests/fuzz/fuzz.h"

using namespace attn;

/// A session file (.attnlab).
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const QString file = QStringLiteral("class.attnlab");
    const auto read = sessionFromJson(
        QByteArray::fromRawData(reinterpret_cast<const char*>(data), static_cast<qsizetype>(size)), file);
    if (const auto* failure = std::get_if<Failure>(&read)) {
        fuzz::require(!failure->what.empty(), "a failure says what is wrong");
        return 0;
    }
    const auto& document = std::get<SessionDocument>(read);
    document.restoreCommand();
    const auto again = sessionFromJson(sessionToJson(document), file);
    const auto* same = std::get_if<SessionDocument>(&again);
    fuzz::require(same && *same == document, "a session is written as it was read");
    return 0;
}
