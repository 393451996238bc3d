#include "app/lab/shell/scope_link.h"

#include "tests/lab/lab_window.h"

using namespace attn;

TEST_CASE("scope launch: the action hands over model, prompt and head", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    lab.window().workbench().selectHead(1, 1);
    REQUIRE(lab.settle());
    lab.press(lab.action("openInScope"));
    REQUIRE(lab.startedScopes().size() == 1);
    QStringList arguments = lab.startedScopes().front();
    REQUIRE(arguments.size() == 6);
    CHECK(arguments.takeAt(3).startsWith("--follow="));
    CHECK(arguments == QStringList{"--prompt=abcabc", "--layer=1", "--head=1", "--", "builtin:induction"});
}

TEST_CASE("scope launch: a model without a tokenizer is given ids", "[lab]") {
    Snapshot snapshot;
    snapshot.model = std::make_shared<ModelInfo>(ModelInfo{.hasTokenizer = false});
    snapshot.modelPath = "-odd name";
    Sequence sequence;
    sequence.tokens = {{.id = 5, .isPrompt = true}, {.id = 9, .isPrompt = true}, {.id = 2}};
    snapshot.sequence = std::make_shared<Sequence>(sequence);
    CHECK(scopeArguments(snapshot, {.site = 2, .head = 3}, "llvm pipe") ==
          QStringList{"--tokens=5,9", "--layer=2", "--head=3", "--device=llvm pipe", "--", "-odd name"});
}

TEST_CASE("scope launch: of a text that is longer than the context, the scope gets what the model reads", "[lab]") {
    LabWindow lab("builtin:induction");
    const int context = lab.snapshot().model->contextLength;
    QString text;
    for (int i = 0; i < context + 40; ++i) text += QChar('a' + i % 7);
    lab.find<QPlainTextEdit>("prompt").setPlainText(text);
    REQUIRE(lab.settle());
    const auto& tokens = lab.snapshot().sequence->tokens;
    REQUIRE(lab.snapshot().sequence->forgotten > 0);
    lab.press(lab.action("openInScope"));
    REQUIRE(lab.startedScopes().size() == 1);
    const QString given = lab.startedScopes().front().front();
    REQUIRE(given.startsWith("--tokens="));
    const QStringList ids = given.section('=', 1).split(',');
    CHECK(ids.size() == std::ssize(tokens));
    CHECK(ids.size() <= context);
    CHECK(ids.back().toInt() == tokens.back().id);
}

TEST_CASE("scope launch: a missing or broken program is said, a good one starts", "[lab]") {
    const QTemporaryDir folder;
    QObject context;
    std::string said;
    const auto start = [&](const QStringList& arguments) {
        return startScope(folder.path(), arguments, &context, [&](const Failure& why) { said = why.sentence(); });
    };
    const auto missing = start({});
    REQUIRE(missing);
    CHECK(missing->sentence().find("not installed in this program's folder") != std::string::npos);

    const auto write = [&](const QByteArray& script) {
        QFile program(folder.path() + "/attention-scope");
        REQUIRE(program.open(QIODevice::WriteOnly | QIODevice::Truncate));
        program.write(script);
        program.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    };
    write("#!/no/such/interpreter\n");
    const auto broken = start({});
    REQUIRE(broken);
    CHECK(broken->sentence().find("could not be started") != std::string::npos);

    write("#!/bin/sh\nprintf '%s|' \"$@\" > \"$(dirname \"$0\")/arguments\"\n");
    CHECK_FALSE(start({"--layer=1", "--", "a model"}));
    QFile arguments(folder.path() + "/arguments");
    CHECK(QTest::qWaitFor([&] { return arguments.exists() && arguments.size() > 0; }, 120'000));
    REQUIRE(arguments.open(QIODevice::ReadOnly));
    CHECK(arguments.readAll() == "--layer=1|--|a model|");
    CHECK(said.empty());

    write("#!/bin/sh\necho warning >&2\necho 'attention-scope: 5 tokens are too many' >&2\nexit 1\n");
    CHECK_FALSE(start({}));
    CHECK(QTest::qWaitFor([&] { return !said.empty(); }, 120'000));
    CHECK(said == "The scope: 5 tokens are too many");
}
