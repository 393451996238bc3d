#include "app/lab/shell/autosave.h"
#include "app/lab/bridge/background_task.h"
#include "tests/lab/lab_window.h"
#include "tests/lab/small_session.h"

using namespace attn;

TEST_CASE("autosave: what a crash left behind is offered, and after a clean exit nothing is", "[lab]") {
    QTemporaryDir folder;
    {
        Autosave crashed(folder.path(), smallSession);
        crashed.saveNow();
        REQUIRE(BackgroundTask::queue().waitIdle()); // the file is there before it is whole
    }
    {
        Autosave next(folder.path(), smallSession);
        const auto leftover = next.takeLeftover();
        REQUIRE(leftover);
        CHECK(*leftover == smallSession());
        Autosave second(folder.path(), smallSession); // another program at the same time keeps its hands off
        CHECK_FALSE(second.takeLeftover());
        next.finish({});
    }
    Autosave last(folder.path(), smallSession);
    CHECK_FALSE(last.takeLeftover());
    last.saveNow();
    last.finish(smallSession()); // the save on the other thread must not write the file again
    BackgroundTask::queue().waitIdle();
    CHECK_FALSE(QFile::exists(folder.path() + "/autosave.attnlab"));
    CHECK(QFile::exists(folder.path() + "/last.attnlab"));
}

TEST_CASE("autosave: a copy that cannot be read is kept under another name, and named", "[lab]") {
    QTemporaryDir folder;
    makeApplication(folder.path());
    for (const QString name : {"autosave.attnlab", "last.attnlab"}) {
        QFile file(folder.filePath(name));
        REQUIRE(file.open(QIODevice::WriteOnly));
        file.write("{\"format\": ");
    }
    Autosave autosave(folder.path(), smallSession);
    CHECK_FALSE(autosave.takeLast());
    CHECK_FALSE(autosave.takeLeftover());
    REQUIRE(autosave.unreadable().size() == 2);
    for (const Failure& failure : autosave.unreadable()) {
        CHECK_THAT(failure.what, Catch::Matchers::StartsWith("the session that was open last cannot be restored: "));
        CHECK(QFile::exists(QString::fromStdString(failure.where)));
        CHECK_THAT(failure.where, Catch::Matchers::EndsWith(".attnlab.unreadable"));
    }
    autosave.saveNow();
    BackgroundTask::queue().waitIdle();
    CHECK(QFile::exists(folder.filePath("autosave.attnlab")));
    CHECK(QFile::exists(folder.filePath("autosave.attnlab.unreadable")));
}

TEST_CASE("autosave: why a session cannot be saved is said once", "[lab]") {
    QTemporaryDir folder;
    makeApplication(folder.path());
    SessionDocument document = smallSession();
    const size_t few = document.branches.size();
    document.branches.resize(262'145, {0, 1});
    Autosave autosave(folder.path(), [&] { return document; });
    QStringList reasons;
    QObject::connect(&autosave, &Autosave::failed,
                     [&](const Failure& failure) { reasons << QString::fromStdString(failure.what); });
    const auto save = [&] {
        autosave.saveNow();
        BackgroundTask::queue().waitIdle();
        QCoreApplication::processEvents();
    };
    save();
    save();
    REQUIRE(reasons.size() == 1);
    CHECK(reasons.front().contains("cannot be saved automatically: the branches have 262145 tokens"));
    document.branches.resize(few);
    save();
    CHECK(QFile::exists(folder.path() + "/autosave.attnlab"));
    document.branches.resize(262'145, {0, 1});
    save();
    CHECK(reasons.size() == 2);
}

TEST_CASE("autosave: only the user can read it, also where it was readable before", "[lab]") {
    QTemporaryDir folder;
    const QString own = folder.path() + "/data", path = own + "/autosave.attnlab", last = own + "/last.attnlab";
    constexpr auto kOthers =
        QFile::ReadGroup | QFile::WriteGroup | QFile::ExeGroup | QFile::ReadOther | QFile::WriteOther | QFile::ExeOther;
    const auto isPrivate = [&](const QString& name) {
        return QFile::exists(name) && !(QFile::permissions(name) & kOthers);
    };
    REQUIRE(QDir().mkpath(own));
    REQUIRE(saveSession(smallSession(), path) == std::nullopt);
    REQUIRE(QFile::setPermissions(path, QFile::ReadOwner | QFile::WriteOwner | QFile::ReadGroup | QFile::ReadOther));
    Autosave autosave(own, smallSession);
    CHECK(isPrivate(own));
    autosave.saveNow();
    BackgroundTask::queue().waitIdle();
    CHECK(isPrivate(path));
    CHECK(autosave.takeLeftover());
    autosave.finish(smallSession());
    CHECK(isPrivate(last));
}
