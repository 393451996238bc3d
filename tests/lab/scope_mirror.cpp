#include "app/lab/scope_mirror.h"

#include "tests/lab/lab_window.h"
#include "tests/support/catch.h"

#include <QAction>
#include <QLocalSocket>

namespace attn {
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
            60'000);
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
    const MirrorMessage before{.path = "a", .tokens = std::vector{1, 2}, .promptLength = 2, .layer = 0, .head = 1};
    MirrorMessage now = before;
    CHECK(mirrorChange(before, now) == MirrorMessage{});
    now.edits = Edits{};
    now.gates.emplace();
    CHECK(mirrorChange(before, now) == MirrorMessage{.edits = Edits{}, .gates = std::vector<float>()});
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
    REQUIRE(lab.settle());
    lab.press(lab.action("openInScope"));
    Listener scope(socketOf(lab));
    const auto greeting = scope.next([](const MirrorMessage& m) { return m.path.has_value(); });
    REQUIRE(greeting);
    CHECK(*greeting->path == "builtin:induction");
    REQUIRE(greeting->tokens);
    CHECK(greeting->tokens->size() == 6);
    CHECK(greeting->promptLength == 6);
    CHECK(greeting->edits == Edits{});
    CHECK(greeting->gates == std::vector<float>());

    lab.window().bridge().post(SetViewCommand{.layer = 1, .head = 1});
    REQUIRE(scope.next([](const MirrorMessage& m) { return m.layer == 1; }));
    lab.window().bridge().post(GenerateCommand{.maxTokens = 1});
    const auto written = scope.next([](const MirrorMessage& m) { return m.tokens && m.tokens->size() == 7; });
    REQUIRE(written);
    CHECK(written->promptLength == 6);
    CHECK_FALSE(written->path);
    lab.window().setTheme(ThemeId::Dark);
    lab.window().setTheme(ThemeId::Light);
    CHECK(scope.next([](const MirrorMessage& m) { return m.theme == "light" && !m.path; }));
}

TEST_CASE("scope mirror: what is changed about the model is sent, also to a scope that starts later", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    REQUIRE(lab.settle());
    const Edits edits{{{.hook = "blocks.1.attn.hook_z", .head = 0}},
                      {{.layer = 0, .head = 1, .kind = PatternEdit::Kind::Uniform}}};
    lab.window().bridge().post(SetEditsCommand{std::make_shared<const Edits>(edits)});
    lab.window().bridge().post(SetHeadGateCommand{.layer = 0, .head = 0, .gate = 0.5f});
    REQUIRE(lab.settle());
    lab.press(lab.action("openInScope"));
    Listener scope(socketOf(lab));
    const auto greeting = scope.next([](const MirrorMessage& m) { return m.path.has_value(); });
    REQUIRE(greeting);
    CHECK(greeting->edits == edits);
    CHECK(greeting->gates == std::vector<float>{0.5f, 1, 1, 1});

    lab.press(lab.action("resetEdits"));
    bool areGatesOpen = false, areEditsGone = false;
    CHECK(scope.next([&](const MirrorMessage& m) {
        CHECK_FALSE(m.path);
        areGatesOpen |= m.gates && m.gates->empty();
        areEditsGone |= m.edits && m.edits->empty();
        return areGatesOpen && areEditsGone;
    }));
}

} // namespace attn
