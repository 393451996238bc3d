#include "app/lab/lessons/lesson.h"
#include "tests/fuzz/fuzz.h"

using namespace attn;

/// A lesson of the user's own folder.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto read =
        lessonFromJson(QByteArray::fromRawData(reinterpret_cast<const char*>(data), static_cast<qsizetype>(size)),
                       QStringLiteral("lesson.json"));
    if (const auto* failure = std::get_if<Failure>(&read))
        fuzz::require(!failure->what.empty(), "a failure says what is wrong");
    else
        fuzz::require(!std::get<Lesson>(read).steps.empty(), "a lesson has steps");
    return 0;
}
