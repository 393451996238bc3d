#include "app/lab/workbench/session_link.h"
#include "tests/fuzz/fuzz.h"

using namespace attn;

/// A session file (.attnlab), or a link to a view.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const QString file = QStringLiteral("class.attnlab");
    const auto bytes = QByteArray::fromRawData(reinterpret_cast<const char*>(data), static_cast<qsizetype>(size));
    const QString text = QString::fromLatin1(bytes);
    const auto read = isSessionLink(text) ? sessionFromLink(text) : sessionFromJson(bytes, file);
    if (const auto* failure = std::get_if<Failure>(&read)) {
        fuzz::require(!failure->what.empty(), "a failure says what is wrong");
        return 0;
    }
    SessionDocument document = std::get<SessionDocument>(read);
    document.unknown.clear(); // what this program does not know is said, and not written
    document.restoreCommand();
    const auto again = sessionFromJson(sessionToJson(document), file);
    const auto* same = std::get_if<SessionDocument>(&again);
    fuzz::require(same && *same == document, "a session is written as it was read");
    return 0;
}
