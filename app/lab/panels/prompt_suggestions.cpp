#include "app/lab/panels/prompt_suggestions.h"

#include "engine/models/bundled.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

namespace attn {

std::vector<std::pair<QString, QString>> promptSuggestions(const QString& path) {
    const QString prefix = QStringLiteral("builtin:");
    if (!path.startsWith(prefix)) return {};
    const QString folder =
        QString::fromStdString((assetsFolder("models") / path.mid(prefix.size()).toStdString()).string());
    QFile file(folder + "/prompts.json");
    if (!file.open(QFile::ReadOnly)) return {};
    std::vector<std::pair<QString, QString>> prompts;
    const QJsonArray entries = QJsonDocument::fromJson(file.readAll()).array();
    for (const QJsonValue& each : entries) prompts.emplace_back(each["title"].toString(), each["prompt"].toString());
    return prompts;
}

} // namespace attn
