#pragma once

#include "engine/core/failure.h"
#include "engine/inference/storage_choice.h"

#include <QString>

#include <optional>
#include <variant>

namespace attn {

enum class FileKind { Model, Picture, Lesson, Text };

/// What there is to open in a file.
struct FoundFile {
    FileKind kind = FileKind::Model;
    std::optional<StorageChoice> storage{}; ///< of a model that can be read
};
/// Reads the file: not for the window's thread. @return why there is nothing to open in it
std::variant<FoundFile, Failure> foundAt(const QString& path);

/// Reads a text for the prompt.
std::variant<QString, Failure> promptFrom(const QString& path);

} // namespace attn
