#include "app/lab/workbench/session_link.h"

#include "engine/core/error.h"
#include "engine/io/inflate.h"

#include <QJsonDocument>
#include <QtEndian>

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

namespace attn {
namespace {

constexpr QLatin1String kScheme("attnlab:");
constexpr qsizetype kMostLetters = 1 << 20;
constexpr qsizetype kMostWithPictures = 1 << 16; ///< letters; a link is for a message
constexpr quint32 kMostBytes = 64 << 20;
constexpr qsizetype kSizeBytes = 4;    ///< before the packed session: how long it becomes
constexpr size_t kMostBranches = 2000; ///< tokens of a tree that a link still holds whole

Failure unreadable(std::string what) {
    return {.what = std::move(what), .where = {}, .hint = "copy the whole link, from \"attnlab:\" to its last letter"};
}

/// Leaves the tokens from the root to the current one.
void keepCurrentBranch(SessionDocument& document) {
    std::vector<SavedToken> path;
    int promptLength = 0; // of this branch, which may leave the prompt; the prompt was there first
    for (int at = document.current; at >= 0; at = document.branches[static_cast<size_t>(at)].parent) {
        path.push_back(document.branches[static_cast<size_t>(at)]);
        promptLength += at < document.promptLength ? 1 : 0;
    }
    std::ranges::reverse(path);
    for (size_t at = 0; at < path.size(); ++at) path[at].parent = static_cast<int>(at) - 1;
    document.current = static_cast<int>(path.size()) - 1;
    document.promptLength = promptLength;
    document.branches = std::move(path);
}

/// Leaves the names of the user's pictures.
void dropPixels(SessionDocument& document) {
    for (auto view = document.view.begin(); view != document.view.end(); ++view) {
        QJsonObject panel = view->toObject(), picture = panel["picture"].toObject();
        if (!picture.contains("pixels")) continue;
        for (const char* each : {"pixels", "otherPixels"}) picture.remove(QLatin1String(each));
        panel["picture"] = picture;
        *view = panel;
    }
}

QString linkTo(const SessionDocument& document) {
    const QByteArray json = QJsonDocument::fromJson(sessionToJson(document)).toJson(QJsonDocument::Compact);
    return kScheme + QString::fromLatin1(
                         qCompress(json, 9).toBase64(QByteArray::Base64UrlEncoding | QByteArray::OmitTrailingEquals));
}

} // namespace

bool isSessionLink(const QString& text) { return text.trimmed().startsWith(kScheme); }

QString sessionLink(SessionDocument document) {
    document.layout.clear();
    document.focus.clear();
    document.file.clear();
    document.locks.clear();
    document.view.remove("train"); // the runs are on this machine
    if (document.branches.size() > kMostBranches) keepCurrentBranch(document);
    QString link = linkTo(document);
    if (link.size() <= kMostWithPictures) return link;
    dropPixels(document);
    return linkTo(document);
}

std::variant<SessionDocument, Failure> sessionFromLink(const QString& link) {
    QString letters = link.trimmed().mid(kScheme.size());
    if (!isSessionLink(link) || letters.isEmpty()) return unreadable("this is not a whole link to a view");
    if (letters.size() > kMostLetters) return unreadable("the link is longer than any that this program makes");
    letters.remove(QChar('\n')).remove(QChar('\r')).remove(QChar(' ')); // from a message that breaks lines
    const auto decoded = QByteArray::fromBase64Encoding(
        letters.toLatin1(), QByteArray::Base64UrlEncoding | QByteArray::AbortOnBase64DecodingErrors);
    const QByteArray packed = decoded.decoded;
    if (!decoded || packed.size() < kSizeBytes + 2) return unreadable("the link is damaged or incomplete");
    const auto size = qFromBigEndian<quint32>(packed.constData()); // as qCompress() writes it
    // The first two bytes of what zlib packs. @source RFC 1950, section 2.2
    const auto zlib = qFromBigEndian<quint16>(packed.constData() + kSizeBytes);
    if (zlib % 31 != 0 || (zlib >> 8 & 15) != 8) return unreadable("the link is damaged or incomplete");
    if (size > kMostBytes)
        return unreadable(fmt::format("the link holds {} MiB; at most {} are read", size >> 20, kMostBytes >> 20));
    try {
        const auto bytes = std::as_bytes(std::span(packed.constData(), static_cast<size_t>(packed.size())));
        return sessionFromJson(QByteArray::fromStdString(inflated(bytes.subspan(kSizeBytes), size)), {});
    } catch (const Error& error) {
        return unreadable("the link " + error.message());
    }
}

} // namespace attn
