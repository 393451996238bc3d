#include "app/lab/lessons/lesson.h"
#include "tests/lab/lab_window.h"
#include "tests/lab/small_session.h"

// Sessions and lessons that a stranger has changed: they may be refused, but the window stays alive.

using namespace attn;

namespace {

/// Values that a reader may not expect.
const QJsonArray& hostileValues() {
    static const QJsonArray values = [] {
        QJsonArray all = QJsonDocument::fromJson(R"([null, true, -1, 0.5, 4294967297, 1e300, -1e300, 9007199254740993,
            "", "nan", "Infinity", "18446744073709551616", "\u202e\u001b[31m", [], [1, "a", []], {}, {"layer": -5}])")
                             .array();
        all.append(QString(5000, QChar('x')));
        return all;
    }();
    return values;
}

/// Changes one random place of a JSON value.
class Mutator {
public:
    explicit Mutator(unsigned seed) : random_(seed) {}

    QJsonValue mutated(const QJsonValue& value) {
        if (value.isObject() && !value.toObject().isEmpty() && below(8) != 0) {
            QJsonObject object = value.toObject();
            const QString key = object.keys().at(below(object.size()));
            if (below(12) == 0)
                object.remove(key);
            else
                object[key] = mutated(object[key]);
            return object;
        }
        if (value.isArray() && !value.toArray().isEmpty() && below(8) != 0) {
            QJsonArray array = value.toArray();
            const qsizetype at = below(array.size());
            if (below(12) == 0)
                array.removeAt(at);
            else
                array[at] = mutated(array[at]);
            return array;
        }
        return hostileValues().at(below(hostileValues().size()));
    }
    /// Changes some bytes.
    QByteArray mutated(QByteArray bytes) {
        for (qsizetype i = 0; i <= below(4); ++i) {
            const qsizetype at = below(bytes.size());
            if (below(3) == 0)
                bytes.remove(at, 1 + below(20));
            else
                bytes[at] = static_cast<char>(below(256));
        }
        return bytes;
    }

private:
    qsizetype below(qsizetype count) { return static_cast<qsizetype>(random_() % static_cast<unsigned>(count)); }

    std::mt19937 random_;
};

void checkIsSound(const SessionDocument& document) {
    CHECK_FALSE(document.modelPath.isEmpty());
    CHECK(std::isfinite(document.sampling.temperature));
    CHECK(document.sampling.temperature > 0);
    CHECK(document.current < static_cast<int>(document.branches.size()));
    CHECK(document.promptLength <= static_cast<int>(document.branches.size()));
    for (size_t i = 0; i < document.branches.size(); ++i) {
        CHECK(document.branches[i].parent < static_cast<int>(i));
        CHECK(document.branches[i].token >= 0);
    }
}

} // namespace

TEST_CASE("session file: sizes and nesting have limits", "[lab]") {
    const auto sentenceOf = [](const QByteArray& json) { return refusal(sessionFromJson(json, "x.attnlab")); };
    CHECK_THAT(sentenceOf(R"({"attnlab": 1, "view": )" + QByteArray(100'000, '[') + QByteArray(100'000, ']') + "}"),
               CONTAINS("nest"));
    SessionDocument document = smallSession();
    document.branches.assign((1 << 18) + 1, {-1, 1});
    CHECK_THAT(sentenceOf(sessionToJson(document)), CONTAINS("at most 262144 fit"));
    document = smallSession();
    QJsonObject object = QJsonDocument::fromJson(sessionToJson(document)).object();
    QJsonObject branches = object["branches"].toObject();
    branches["current"] = 0.5;
    object["branches"] = branches;
    CHECK_THAT(sentenceOf(QJsonDocument(object).toJson()), CONTAINS("whole number"));
}

TEST_CASE("session file: what could not be opened again is not saved", "[lab]") {
    const QTemporaryDir folder;
    const QString path = folder.filePath("long.attnlab");
    SessionDocument document = smallSession();
    REQUIRE_FALSE(saveSession(document, path));
    document.branches.assign((1 << 18) + 1, {-1, 1});
    const auto failure = saveSession(document, path);
    REQUIRE(failure);
    CHECK_THAT(failure->sentence(), CONTAINS("long.attnlab") && CONTAINS("262145 tokens") && CONTAINS("262144"));
    CHECK_THAT(failure->sentence(), CONTAINS("change the prompt"));
    CHECK(std::get<SessionDocument>(loadSession(path)).branches.size() == smallSession().branches.size()); // as it was
    document.branches.resize(1 << 18);
    REQUIRE_FALSE(saveSession(document, path));
    CHECK(std::holds_alternative<SessionDocument>(loadSession(path)));

    document = smallSession();
    document.given.text = QString(QString::fromUtf8("ß")).repeated(131'073).toStdString(); // 262,146 bytes
    const auto longPrompt = saveSession(document, path);
    REQUIRE(longPrompt);
    CHECK_THAT(longPrompt->sentence(), CONTAINS("262146 bytes"));
    document = smallSession();
    document.view["x"] = QString(65 << 20, QChar('x'));
    const auto large = saveSession(document, path);
    REQUIRE(large);
    CHECK_THAT(large->sentence(), CONTAINS("64 MiB"));
}

TEST_CASE("session file: hundreds of mutations are refused with a sentence or are sound", "[lab]") {
    const QByteArray good = sessionToJson(smallSession());
    const QJsonValue tree = QJsonDocument::fromJson(good).object();
    Mutator mutate(25);
    int refused = 0;
    for (int i = 0; i < 400; ++i) {
        const QByteArray json =
            i % 2 == 0 ? mutate.mutated(good) : QJsonDocument(mutate.mutated(tree).toObject()).toJson();
        INFO(json.toStdString());
        const auto result = sessionFromJson(json, "x.attnlab");
        if (const auto* failure = std::get_if<Failure>(&result)) {
            CHECK_THAT(failure->sentence(), CONTAINS("x.attnlab"));
            ++refused;
        } else {
            checkIsSound(std::get<SessionDocument>(result));
        }
    }
    CHECK(refused > 100);
}

TEST_CASE("session file: the window survives hostile views", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    const SessionDocument good = lab.window().session().document();
    Mutator mutate(26);
    for (int i = 0; i < 60; ++i) {
        SessionDocument document = good;
        document.view = mutate.mutated(QJsonValue(good.view)).toObject();
        INFO(QJsonDocument(document.view).toJson().toStdString());
        lab.window().session().restore(document);
        QCoreApplication::processEvents();
    }
    REQUIRE(lab.settle());
    lab.window().session().restore(good);
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().sequence->given.text == "abcabc");
}

TEST_CASE("lessons: hundreds of mutations are refused with a sentence or are read", "[lab][lessons]") {
    const QStringList names = QDir(":/lessons").entryList({"*.json"});
    REQUIRE_FALSE(names.isEmpty());
    Mutator mutate(27);
    int refused = 0;
    for (int i = 0; i < 300; ++i) {
        QFile source(":/lessons/" + names.at(i % names.size()));
        REQUIRE(source.open(QIODevice::ReadOnly));
        const QByteArray good = source.readAll();
        const QByteArray json =
            i % 3 == 0
                ? mutate.mutated(good)
                : QJsonDocument(mutate.mutated(QJsonValue(QJsonDocument::fromJson(good).object())).toObject()).toJson();
        INFO(json.toStdString());
        const auto result = lessonFromJson(json, "mine.json");
        if (const auto* failure = std::get_if<Failure>(&result)) {
            CHECK_THAT(failure->sentence(), CONTAINS("mine"));
            ++refused;
        }
    }
    CHECK(refused > 100);
}

TEST_CASE("lessons: arguments that would not fit are refused", "[lab][lessons]") {
    const auto sentenceFor = [](const QJsonObject& action) {
        const QJsonObject step{{"title", "t"}, {"text", "x"}, {"enter", QJsonArray{action}}};
        return refusal(lessonFromJson(
            QJsonDocument(QJsonObject{{"title", "l"}, {"summary", "s"}, {"minutes", 1}, {"steps", QJsonArray{step}}})
                .toJson(),
            "mine.json"));
    };
    CHECK(sentenceFor({{"head", QJsonArray{0, 1}}}).empty());
    for (const QJsonObject& action :
         {QJsonObject{{"head", QJsonArray{1e300, 0}}}, QJsonObject{{"gate", QJsonArray{0, 0, -1e300}}},
          QJsonObject{{"sampling", QJsonObject{{"topK", 1e300}}}},
          QJsonObject{{"sampling", QJsonObject{{"seed", "x"}}}}, QJsonObject{{"recipe", QJsonObject{{"task", 5}}}},
          QJsonObject{{"recipe", QJsonObject{{"values", 5}}}},
          QJsonObject{{"recipe", QJsonObject{{"batch", 4294967297.0}}}}}) {
        INFO(QJsonDocument(action).toJson().toStdString());
        CHECK_THAT(sentenceFor(action), CONTAINS("action"));
    }
}
