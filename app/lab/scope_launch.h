#pragma once

#include "engine/session/snapshot.h"

#include <QStringList>

#include <functional>
#include <optional>

namespace attn {

/// What attention-scope is started with to show what the snapshot shows: the model, its prompt and the head in detail.
/// @param device as the user named it, empty: the scope chooses
/// @param socket where it hears what to show from then on, empty: nowhere
QStringList scopeArguments(const Snapshot& snapshot, const QString& device, const QString& socket = {});

/// Starts the attention-scope of a folder and lets it run on by itself.
/// @return what went wrong, if anything
std::optional<Failure> startScope(const QString& folder, const QStringList& arguments);

using ScopeStarter = std::function<std::optional<Failure>(const QStringList& arguments)>;

} // namespace attn
