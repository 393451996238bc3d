#include "app/lab/shell/found_file.h"

#include "engine/core/attempt.h"
#include "engine/io/weight_source.h"
#include "engine/session/commands.h"

#include <QFile>
#include <QFileInfo>
#include <QImageReader>
#include <QStringDecoder>

#include <algorithm>

namespace attn {
namespace {

/// Reads UTF-8; also UTF-16 and UTF-32, if the text begins with its byte-order mark, as Notepad writes it.
QStringDecoder decoderOf(const QByteArray& bytes) {
    return QStringDecoder(QStringConverter::encodingForData(bytes).value_or(QStringConverter::Utf8));
}

/// Whether a file begins as a text does.
bool isText(const QString& path) {
    constexpr qint64 kBeginning = 4096;
    QFile file(path);
    if (!file.open(QFile::ReadOnly)) return false;
    const QByteArray beginning = file.read(kBeginning);
    QStringDecoder decoder = decoderOf(beginning); // keeps a character that is cut off for later
    const QString text = decoder(beginning);
    const bool isOfText = std::ranges::all_of(text, [](QChar c) { return c >= u' ' || c.isSpace(); });
    return !text.isEmpty() && !decoder.hasError() && isOfText;
}

std::variant<FileKind, Failure> kindOf(const QString& path) {
    const QFileInfo file(path);
    if (!file.exists())
        return Failure{.what = "there is no such file or folder",
                       .where = path.toStdString(),
                       .hint = "find out where it is now: someone may have moved, renamed or deleted it"};
    if (!file.isFile()) return FileKind::Model;
    if (!QImageReader::imageFormat(path).isEmpty()) return FileKind::Picture;
    if (file.suffix() == "safetensors" || file.fileName() == "config.json") return FileKind::Model;
    if (file.suffix() == "json") return FileKind::Lesson;
    if (const auto other = otherModelFormat(path.toStdString())) return *other;
    if (isText(path)) return FileKind::Text;
    if (file.size() == 0)
        return Failure{.what = "“" + file.fileName().toStdString() + "” is empty",
                       .where = {},
                       .hint = "open a file that holds something"};
    return Failure{.what = "“" + file.fileName().toStdString() + "” isn't a model, picture, session, lesson or text",
                   .where = {},
                   .hint = "open a model's folder, a .safetensors file, a picture, an .attnlab file, a lesson's .json "
                           "file or a text"};
}

} // namespace

std::variant<FoundFile, Failure> foundAt(const QString& path) {
    const auto kind = kindOf(path);
    if (const Failure* failure = std::get_if<Failure>(&kind)) return *failure;
    FoundFile found{.kind = std::get<FileKind>(kind)};
    if (found.kind == FileKind::Model) // what cannot be read is refused when it is opened
        (void)attempt(path.toStdString(), [&] { found.storage = storageChoice(path.toStdString()); });
    return found;
}

std::variant<QString, Failure> promptFrom(const QString& path) {
    QFile file(path);
    if (!file.open(QFile::ReadOnly))
        return Failure{.what = "cannot be read", .where = path.toStdString(), .hint = file.errorString().toStdString()};
    const auto tooLong = [&](qint64 bytes) {
        return Failure{.what = QStringLiteral("too long for the prompt: %L1 bytes (limit %L2)")
                                   .arg(bytes)
                                   .arg(kMostPromptBytes)
                                   .toStdString(),
                       .where = path.toStdString(),
                       .hint = "use the Text tab for long texts, or the Train panel to learn from it"};
    };
    constexpr auto kMost = static_cast<qint64>(kMostPromptBytes);
    if (file.size() > 4 * kMost) return tooLong(file.size()); // a letter takes four bytes in UTF-32, and one in UTF-8
    const QByteArray bytes = file.readAll();
    QStringDecoder decoder = decoderOf(bytes);
    QString text = decoder(bytes);
    if (decoder.hasError() || text.contains(QChar(0)))
        return Failure{.what = "is not a text in UTF-8", .where = path.toStdString(), .hint = "save it as UTF-8"};
    if (const qint64 size = text.toUtf8().size(); size > kMost) return tooLong(size);
    if (text.endsWith('\n')) text.chop(1); // of the last line
    return text;
}

} // namespace attn
