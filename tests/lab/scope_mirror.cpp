#include "app/lab/shell/scope_link.h"

#include "tests/lab/lab_window.h"

#include <QLocalSocket>

using namespace attn;

namespace {

/// A scope that hears and does nothing.
class Listener {
public:
    explicit Listener(const QString& path) { socket_.connectToServer(path); }
    /// The next message that says something of the wanted field.
    template <typename Wanted> std::optional<MirrorMessage> next(Wanted wanted) {
        std::optional<MirrorMessage> found;
        (void)QTest::qWaitFor(
            [&] {
                while (!found && socket_.canReadLine()) {
                    const MirrorMessage message = parseMirrorLine(socket_.readLine().toStdString());
                    if (wanted(message)) found = message;
                }
                return found.has_value();
            },
            300'000);
        return found;
    }

private:
    QLocalSocket socket_;
};

QString socketOf(const LabWindow& lab) {
    for (const QString& argument : lab.startedScopes().front())
        if (argument.startsWith("--follow=")) return argument.mid(9);
    return {};
}

} // namespace

TEST_CASE("scope mirror: only what changed is sent, another model with everything", "[lab]") {
    const MirrorMessage before{.path = "a", .tokens = std::vector{1, 2}, .promptLength = 2, .site = 0, .head = 1};
    MirrorMessage now = before;
    CHECK(mirrorChange(before, now) == MirrorMessage{});
    now.changes = Changes{};
    CHECK(mirrorChange(before, now) == MirrorMessage{.changes = Changes{}});
    now = before;
    now.head = 3;
    CHECK(mirrorChange(before, now) == MirrorMessage{.head = 3});
    now.tokens->push_back(5);
    CHECK(mirrorChange(before, now) == MirrorMessage{.tokens = std::vector{1, 2, 5}, .promptLength = 2, .head = 3});
    now.path = "b";
    CHECK(mirrorChange(before, now) == now);
}

TEST_CASE("scope mirror: a scope that the window opened hears heads, tokens and themes", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    lab.press(lab.action("openInScope"));
    Listener scope(socketOf(lab));
    const auto greeting = scope.next([](const MirrorMessage& m) { return m.path.has_value(); });
    REQUIRE(greeting);
    CHECK(*greeting->path == "builtin:induction");
    REQUIRE(greeting->tokens);
    CHECK(greeting->tokens->size() == 6);
    CHECK(greeting->promptLength == 6);
    CHECK(greeting->changes == Changes{});

    lab.window().workbench().selectHead(1, 1);
    REQUIRE(scope.next([](const MirrorMessage& m) { return m.site == 1; }));
    lab.window().bridge().post(GenerateCommand{.maxTokens = 1});
    const auto written = scope.next([](const MirrorMessage& m) { return m.tokens && m.tokens->size() == 7; });
    REQUIRE(written);
    CHECK(written->promptLength == 6);
    CHECK_FALSE(written->path);
    lab.window().preferences().setTheme(ThemeId::Dark);
    lab.window().preferences().setTheme(ThemeId::Light);
    CHECK(scope.next([](const MirrorMessage& m) { return m.theme == "light" && !m.path; }));
}

TEST_CASE("scope mirror: what is changed about the model is sent, also to a scope that starts later", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    const Changes edits{{{.hook = "blocks.1.attn.hook_z", .head = 0}},
                        {{.site = 0, .head = 1, .kind = PatternChange::Kind::Uniform}},
                        {{{0, 0}, 0.5f}}};
    lab.window().workbench().setChanges(edits);
    REQUIRE(lab.settle());
    lab.press(lab.action("openInScope"));
    Listener scope(socketOf(lab));
    const auto greeting = scope.next([](const MirrorMessage& m) { return m.path.has_value(); });
    REQUIRE(greeting);
    CHECK(greeting->changes == edits);

    // The original run is sent without them, until the changed one is shown again.
    const auto hears = [&](const Changes& changes) {
        return scope.next([&](const MirrorMessage& m) {
            CHECK_FALSE(m.path);
            return m.changes == changes;
        });
    };
    lab.press(lab.action("holdEdits"));
    CHECK(hears({}));
    lab.press(lab.action("holdEdits"));
    CHECK(hears(edits));
    lab.press(lab.action("resetEdits"));
    CHECK(hears({}));
}

TEST_CASE("scope mirror: only programs of the same user can connect", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    lab.press(lab.action("openInScope"));
    const QFileInfo socket(socketOf(lab));
    REQUIRE(socket.exists());
    CHECK((socket.permissions() & (QFile::ReadGroup | QFile::WriteGroup | QFile::ReadOther | QFile::WriteOther)) ==
          QFile::Permissions());
}

TEST_CASE("scope mirror: a scope that does not listen gets the newest state when it does", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    ScopeMirror mirror;
    QLocalSocket scope;
    scope.setReadBufferSize(1); // takes what Qt gives it at its own pace: the system's buffer fills
    scope.connectToServer(mirror.socketPath());
    REQUIRE(QTest::qWaitFor([&] { return scope.state() == QLocalSocket::ConnectedState; }));
    // Far more than may wait: the tokens alternate, so that each message holds all of them.
    Snapshot snapshot = lab.snapshot();
    auto few = std::make_shared<Sequence>(*snapshot.sequence), many = std::make_shared<Sequence>(*snapshot.sequence);
    while (many->tokens.size() < 100'000) many->tokens.push_back(few->tokens.front());
    constexpr int kRounds = 400; // of 200 KB
    for (int i = 0; i < kRounds; ++i) {
        snapshot.sequence = i % 2 ? few : many;
        mirror.show(snapshot, {}, true);
        QCoreApplication::processEvents();
        CHECK(mirror.waitingBytes() < 8 << 20);
    }
    snapshot.sequence = few;
    mirror.show(snapshot, {}, true);
    scope.setReadBufferSize(0);
    QByteArray rest;
    std::optional<MirrorMessage> last;
    REQUIRE(QTest::qWaitFor(
        [&] {
            rest += scope.readAll();
            for (qsizetype end; (end = rest.indexOf('\n')) >= 0; rest.remove(0, end + 1))
                if (const MirrorMessage message = parseMirrorLine(rest.left(end).toStdString()); message.tokens)
                    last = message;
            return last && last->tokens->size() == few->tokens.size() && mirror.waitingBytes() == 0;
        },
        120'000));
}
