#pragma once

#include "app/lab/workbench/workbench.h"

#include <QStringList>

#include <functional>
#include <optional>

namespace attn {

/// The arguments that make attention-scope show the model of a snapshot, its prompt and the selected head.
/// @param device as the user named it; empty: the scope chooses
/// @param socket where the scope listens for later updates; empty: none
QStringList scopeArguments(const Snapshot& snapshot, const Selection& selection, const QString& device,
                           const QString& socket = {});

/// Starts the attention-scope in a folder as an independent process.
/// @return the failure, if it did not start
std::optional<Failure> startScope(const QString& folder, const QStringList& arguments);

using ScopeStarter = std::function<std::optional<Failure>(const QStringList& arguments)>;

} // namespace attn
