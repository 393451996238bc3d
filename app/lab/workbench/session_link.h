#pragma once

#include "app/lab/workbench/session_file.h"

namespace attn {

/// Whether a text is meant as a link to a view: it begins with "attnlab:".
bool isSessionLink(const QString& text);

/// A text that opens this view again: "attnlab:" and the session as compressed JSON, in letters that survive mail and
/// chats (base64url). It holds no model, no window layout and no locks. Of more tokens than a message can carry it
/// holds the current branch alone, and of larger pictures the names.
QString sessionLink(SessionDocument document);

/// Refuses texts of more than 1 MiB, and those that hold more than 64 MiB.
std::variant<SessionDocument, Failure> sessionFromLink(const QString& link);

} // namespace attn
