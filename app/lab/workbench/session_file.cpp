#include "app/lab/workbench/session_file.h"

#include "app/figures/export_figure.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace attn {
namespace {

constexpr qint64 kMaximumBytes = 64 << 20;
constexpr qsizetype kMostNodes = 1 << 18; // of the branch tree: more than an hour of generation makes

/// Reads fields and keeps the first problem, so that callers check for problems once, at the end.
class Reader {
public:
    explicit Reader(QJsonObject object) : object_(std::move(object)) {}

    QString text(const QString& key) {
        const QJsonValue value = object_.value(key);
        if (!value.isString()) complain(QStringLiteral("\"%1\" is not text").arg(key));
        return value.toString();
    }
    QString text(const QString& key, size_t mostBytes) {
        QString found = text(key);
        const auto bytes = static_cast<size_t>(found.toUtf8().size());
        if (bytes > mostBytes)
            complain(QStringLiteral("\"%1\" has %2 bytes, but at most %3 can be shown")
                         .arg(key, QString::number(bytes), QString::number(mostBytes)));
        return found;
    }
    double number(const QString& key, double minimum, double maximum) {
        const QJsonValue value = object_.value(key);
        const double number = value.toDouble();
        if (value.isDouble() && number >= minimum && number <= maximum) return number;
        complain(QStringLiteral("\"%1\" is not a number from %2 to %3")
                     .arg(key, QString::number(minimum), QString::number(maximum)));
        return minimum;
    }
    int integer(const QString& key, int minimum, int maximum) {
        const double number = this->number(key, minimum, maximum);
        if (number != std::floor(number)) complain(QStringLiteral("\"%1\" is not a whole number").arg(key));
        return static_cast<int>(number);
    }
    bool flag(const QString& key) {
        if (!object_.value(key).isBool()) complain(QStringLiteral("\"%1\" is neither true nor false").arg(key));
        return object_.value(key).toBool();
    }
    QJsonObject object(const QString& key) {
        if (!object_.value(key).isObject()) complain(QStringLiteral("\"%1\" is not an object").arg(key));
        return object_.value(key).toObject();
    }
    QJsonArray array(const QString& key) {
        if (!object_.value(key).isArray()) complain(QStringLiteral("\"%1\" is not a list").arg(key));
        return object_.value(key).toArray();
    }
    void complain(const QString& what) {
        if (problem_.isEmpty()) problem_ = what;
    }
    const QString& problem() const { return problem_; }

private:
    QJsonObject object_;
    QString problem_;
};

QJsonObject samplingToJson(const Sampling& sampling) {
    return {{"greedy", sampling.greedy},
            {"temperature", static_cast<double>(sampling.temperature)},
            {"topK", sampling.topK},
            {"topP", static_cast<double>(sampling.topP)},
            {"minP", static_cast<double>(sampling.minP)},
            {"repetitionPenalty", static_cast<double>(sampling.repetitionPenalty)},
            {"seed", QString::number(sampling.seed)}}; // 64 bits do not fit a JSON number
}

Sampling samplingFromJson(const QJsonObject& object, Reader& outer) {
    Reader reader(object);
    Sampling sampling{.greedy = reader.flag("greedy"),
                      .temperature = static_cast<float>(reader.number("temperature", 1e-4, 1e4)),
                      .topK = reader.integer("topK", 0, 1 << 30),
                      .topP = static_cast<float>(reader.number("topP", 0, 1)),
                      .minP = static_cast<float>(reader.number("minP", 0, 1)),
                      .repetitionPenalty = static_cast<float>(reader.number("repetitionPenalty", 1e-3, 1e3))};
    bool isNumber = false;
    sampling.seed = reader.text("seed").toULongLong(&isNumber);
    if (!isNumber) reader.complain(QStringLiteral("\"seed\" is not a whole number"));
    if (!reader.problem().isEmpty()) outer.complain(QStringLiteral("in \"sampling\", ") + reader.problem());
    return sampling;
}

/// Older files have no "probabilities": they do not know how probable their tokens were.
void probabilitiesFromJson(const QJsonArray& values, Reader& reader, SessionDocument& document) {
    if (values.size() != std::ssize(document.branches))
        return reader.complain(QStringLiteral("\"probabilities\" has %1 values for %2 nodes")
                                   .arg(values.size())
                                   .arg(document.branches.size()));
    for (qsizetype i = 0; i < values.size(); ++i) {
        if (values[i].isNull()) continue; // of the prompt
        const double value = values[i].toDouble(-1);
        if (!(value >= 0 && value <= 1))
            return reader.complain(QStringLiteral("probability %1 is not a number from 0 to 1").arg(i));
        document.branches[static_cast<size_t>(i)].probability = static_cast<float>(value);
    }
}

void branchesFromJson(const QJsonObject& object, Reader& outer, SessionDocument& document) {
    Reader reader(object);
    QJsonArray nodes = reader.array("nodes");
    if (nodes.size() > kMostNodes) {
        reader.complain(QStringLiteral("there are %1 nodes, but at most %2 fit").arg(nodes.size()).arg(kMostNodes));
        nodes = {};
    }
    for (qsizetype i = 0; i < nodes.size(); ++i) {
        const QJsonArray pair = nodes[i].toArray();
        const int parent = pair.at(0).toInt(-2), token = pair.at(1).toInt(-1);
        if (pair.size() != 2 || parent < -1 || parent >= i || token < 0) {
            reader.complain(QStringLiteral("node %1 is not [an earlier node, a token]").arg(i));
            break;
        }
        document.branches.push_back({parent, token});
    }
    if (object.contains("probabilities")) probabilitiesFromJson(reader.array("probabilities"), reader, document);
    const int count = static_cast<int>(document.branches.size());
    document.current = reader.integer("current", -1, count - 1);
    document.promptLength = reader.integer("promptLength", 0, std::min(count, static_cast<int>(kMostPromptTokens)));
    if (!reader.problem().isEmpty()) outer.complain(QStringLiteral("in \"branches\", ") + reader.problem());
}

Failure unreadable(const QString& what, const QString& where) {
    return {.what = what.toStdString(),
            .where = where.toStdString(),
            .hint = "choose a session file that attention-lab has written; the open session is unchanged"};
}

/// @return why loadSession() would refuse what saveSession() is to write
std::optional<Failure> tooLarge(const SessionDocument& document, const QString& path) {
    const auto refused = [&](const QString& what, const char* hint) {
        return Failure{.what = what.toStdString(), .where = path.toStdString(), .hint = hint};
    };
    if (std::ssize(document.branches) > kMostNodes)
        return refused(QStringLiteral("the branches have %1 tokens, but a session file holds at most %2")
                           .arg(document.branches.size())
                           .arg(kMostNodes),
                       "change the prompt, which removes its branches, and save again");
    if (const size_t bytes = document.given.text.size(); bytes > kMostPromptBytes)
        return refused(QStringLiteral("the prompt has %1 bytes, but a session file holds at most %2")
                           .arg(bytes)
                           .arg(kMostPromptBytes),
                       "shorten the prompt and save again");
    return std::nullopt;
}

/// What a model was given and has not read. Tokens stand where they would if it had.
void takeUnread(SessionDocument& document, const RestoreBranchesCommand& unread, bool readsSource) {
    document.given = unread.given;
    document.given.target.clear();
    document.branches = unread.nodes;
    document.current = unread.current;
    document.promptLength = unread.promptLength;
    document.source = unread.source;
    const std::vector<int> tokens = std::exchange(document.given.tokens, {});
    if (!unread.nodes.empty() || tokens.empty()) return;
    if (readsSource) {
        document.source = tokens;
        return;
    }
    for (const int token : tokens) document.branches.push_back({.parent = document.current++, .token = token});
    document.promptLength = static_cast<int>(tokens.size());
}

} // namespace

SessionDocument SessionDocument::fromSnapshot(const Snapshot& snapshot) {
    SessionDocument document;
    if (snapshot.model) {
        document.modelPath = QString::fromStdString(snapshot.path());
        document.storage = snapshot.model->storage;
    }
    const bool hasRead = snapshot.sequence && !snapshot.sequence->tokens.empty();
    if (snapshot.unread && (snapshot.readsUnread || !hasRead)) {
        takeUnread(document, *snapshot.unread, snapshot.model && snapshot.model->readsSource);
        return document;
    }
    if (snapshot.sequence) {
        document.given = snapshot.sequence->given;
        document.given.tokens.clear();
        for (const TokenInfo& token : snapshot.sequence->source) document.source.push_back(token.id);
    }
    if (snapshot.branches) {
        // The root, node 0, holds no token and is not written.
        const auto& nodes = snapshot.branches->nodes;
        for (size_t i = 1; i < nodes.size(); ++i)
            document.branches.push_back({nodes[i].parent - 1, nodes[i].token, nodes[i].probability});
        document.current = snapshot.branches->current - 1;
        document.promptLength = snapshot.branches->promptLength;
    }
    return document;
}

RestoreBranchesCommand SessionDocument::restoreCommand() const {
    return {.nodes = branches, .current = current, .promptLength = promptLength, .given = given, .source = source};
}

QString SessionDocument::title() const {
    return given.text.empty() ? QFileInfo(modelPath).fileName() : QString::fromStdString(given.text);
}

QByteArray sessionToJson(const SessionDocument& document) {
    QJsonArray nodes, probabilities, tree, source;
    for (const int parent : document.given.parents) tree.append(parent);
    for (const int token : document.source) source.append(token);
    for (const auto& [parent, token, probability] : document.branches) {
        nodes.append(QJsonArray{parent, token});
        probabilities.append(probability ? QJsonValue(static_cast<double>(*probability)) : QJsonValue());
    }
    QJsonObject root{
        {"attnlab", SessionDocument::kVersion},
        {"model", document.modelPath},
        {"storage", QString::fromStdString(std::string(storageName(document.storage)))},
        {"prompt", QString::fromStdString(document.given.text)},
        {"second", QString::fromStdString(document.given.second)},
        {"tree", tree},
        {"source", source},
        {"branches", QJsonObject{{"nodes", nodes},
                                 {"probabilities", probabilities},
                                 {"current", document.current},
                                 {"promptLength", document.promptLength}}},
        {"sampling", samplingToJson(document.sampling)},
        {"view", document.view},
        {"layout", QString::fromLatin1(document.layout.toBase64())},
        {"workspace", document.workspace},
        {"focus", document.focus},
        {"locks", locksToJson(document.locks)},
    };
    if (!document.file.isEmpty()) root["file"] = document.file;
    return QJsonDocument(root).toJson();
}

std::variant<SessionDocument, Failure> sessionFromJson(const QByteArray& json, const QString& where) {
    QJsonParseError error;
    const QJsonDocument parsed = QJsonDocument::fromJson(json, &error);
    if (json.trimmed().isEmpty()) return unreadable("the session file is empty", where);
    if (error.error != QJsonParseError::NoError)
        return unreadable(QStringLiteral("the session file is not JSON: %1 at byte %2")
                              .arg(error.errorString(), QString::number(error.offset)),
                          where);
    if (!parsed.isObject() || !parsed.object().contains("attnlab"))
        return unreadable("the file is JSON but not an attention-lab session", where);
    Reader reader(parsed.object());
    const int version = reader.integer("attnlab", 1, std::numeric_limits<int>::max());
    if (version > SessionDocument::kVersion)
        return Failure{.what = QStringLiteral("the session file has version %1; this program reads up to %2")
                                   .arg(version)
                                   .arg(SessionDocument::kVersion)
                                   .toStdString(),
                       .where = where.toStdString(),
                       .hint = "open it with a newer attention-lab"};
    SessionDocument document;
    document.modelPath = reader.text("model");
    if (document.modelPath.isEmpty()) reader.complain("\"model\" is empty");
    if (parsed.object().contains("storage")) {
        const auto storage = storageNamed(reader.text("storage").toStdString());
        if (!storage) reader.complain("\"storage\" is not one of f32, f16, bf16, q8_0, q4_0, q4_k");
        document.storage = storage.value_or(Storage::F32);
    }
    GivenText& given = document.given;
    given.text = reader.text("prompt", kMostPromptBytes).toStdString();
    if (parsed.object().contains("second")) given.second = reader.text("second", kMostPromptBytes).toStdString();
    for (const QJsonValue& parent : parsed.object().value("tree").toArray()) given.parents.push_back(parent.toInt(-1));
    if (std::ranges::any_of(given.parents, [](int parent) { return parent < 0; }))
        reader.complain("\"tree\" does not hold the numbers of words");
    for (const QJsonValue& token : parsed.object().value("source").toArray())
        document.source.push_back(token.toInt(-1));
    if (std::ranges::any_of(document.source, [](int token) { return token < 0; }) ||
        document.source.size() > kMostPromptTokens)
        reader.complain("\"source\" does not hold the tokens of a text");
    branchesFromJson(reader.object("branches"), reader, document);
    document.sampling = samplingFromJson(reader.object("sampling"), reader);
    document.view = reader.object("view");
    for (auto view = document.view.begin(); view != document.view.end(); ++view)
        if (!view->isObject()) reader.complain(QStringLiteral("\"%1\" of \"view\" is not an object").arg(view.key()));
    document.layout = QByteArray::fromBase64(reader.text("layout").toLatin1());
    if (parsed.object().contains("workspace")) document.workspace = reader.text("workspace");
    if (parsed.object().contains("focus")) document.focus = reader.text("focus");
    if (parsed.object().contains("file")) document.file = reader.text("file");
    document.locks = locksFromJson(reader.object("locks"), document.unknown);
    if (!reader.problem().isEmpty()) return unreadable("the session file is damaged: " + reader.problem(), where);
    return document;
}

std::optional<Failure> saveSession(const SessionDocument& document, const QString& path) {
    if (auto failure = tooLarge(document, path)) return failure;
    const QFileInfo info(path);
    SessionDocument portable = document;
    // The path of a model inside the session's folder is saved relative to it, so that both can be moved together.
    const QString relative = info.dir().relativeFilePath(document.modelPath);
    if (QFileInfo(document.modelPath).isAbsolute() && !relative.startsWith("..")) portable.modelPath = relative;
    const QByteArray json = sessionToJson(portable);
    if (json.size() > kMaximumBytes)
        return Failure{.what = QStringLiteral("the session has %1 bytes, but a session file holds at most 64 MiB")
                                   .arg(json.size())
                                   .toStdString(),
                       .where = path.toStdString(),
                       .hint = "remove changes to the model, or change the prompt, and save again"};
    info.dir().mkpath(".");
    return writeBytes(json, path);
}

std::variant<SessionDocument, Failure> loadSession(const QString& path) {
    const QFileInfo info(path);
    if (!info.exists())
        return Failure{.what = "there is no session file with this name",
                       .where = path.toStdString(),
                       .hint = "find out where it is now: someone may have moved, renamed or deleted it. The open "
                               "session is unchanged"};
    if (!info.isFile()) return unreadable("this is not a file", path); // opening a pipe would wait for its writer
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        return unreadable("the session file could not be read: " + file.errorString(), path);
    if (file.size() > kMaximumBytes)
        return unreadable(QStringLiteral("the file has %1 bytes, too many for a session").arg(file.size()), path);
    auto result = sessionFromJson(file.readAll(), path);
    if (auto* document = std::get_if<SessionDocument>(&result)) {
        const bool isBuiltin = document->modelPath.startsWith("builtin:");
        if (!isBuiltin && QFileInfo(document->modelPath).isRelative())
            document->modelPath = QDir::cleanPath(QFileInfo(path).dir().absoluteFilePath(document->modelPath));
    }
    return result;
}

} // namespace attn
