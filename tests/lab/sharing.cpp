#include "app/lab/widgets/heatmap_view.h"
#include "app/lab/workbench/session_link.h"
#include "tests/lab/lab_window.h"
#include "tests/lab/small_session.h"

#include <QtEndian>

// Links to a view, and web pages.

using namespace attn;

TEST_CASE("session link: it opens as it was, without layout and locks", "[lab]") {
    SessionDocument document = smallSession();
    document.given.text = "naïve 世界 🙂\n\"quoted\"";
    const QString link = sessionLink(document);
    CHECK(isSessionLink(link));
    CHECK(link.size() < 700);
    for (const QChar c : link.mid(8)) CHECK((c.isLetterOrNumber() || c == '-' || c == '_'));
    document.layout.clear();
    document.locks.clear();
    const auto read = sessionFromLink("  " + link.left(50) + "\n" + link.mid(50) + "\n"); // as mail breaks it
    REQUIRE(std::holds_alternative<SessionDocument>(read));
    CHECK(std::get<SessionDocument>(read) == document);
}

TEST_CASE("session link: of a large tree only the current branch travels", "[lab]") {
    SessionDocument document = smallSession();
    for (int at = 4; at < 5000; ++at) document.branches.push_back({0, at, 0.5f});
    document.branches.push_back({3, 12, 0.25f});
    document.current = static_cast<int>(document.branches.size()) - 1;
    const auto read = sessionFromLink(sessionLink(document));
    REQUIRE(std::holds_alternative<SessionDocument>(read));
    const auto& found = std::get<SessionDocument>(read);
    CHECK(found.branches == std::vector<SavedToken>{{-1, 1}, {0, 3}, {1, 9, 0.125f}, {2, 12, 0.25f}});
    CHECK(found.current == 3);
    CHECK(found.promptLength == 2);
}

TEST_CASE("session link: what is damaged or too large is refused with a sentence", "[lab]") {
    const QString good = sessionLink(smallSession());
    QByteArray bomb = qCompress(QByteArray(1000, ' '));
    bomb.replace(0, 4, QByteArray("\xff\xff\xff\xff", 4)); // claims 4 GiB
    const QString encoded = QString::fromLatin1(bomb.toBase64(QByteArray::Base64UrlEncoding));
    for (const QString& link : {QString("attnlab:"), QString("attnlab:!!!"), QString("http://x"), good.chopped(9),
                                "attnlab:" + encoded, "attnlab:" + QString((1 << 20) + 1, 'A')}) {
        INFO(link.left(80).toStdString());
        const auto read = sessionFromLink(link);
        REQUIRE(std::holds_alternative<Failure>(read));
        CHECK_THAT(refusal(read), CONTAINS("link"));
    }
}

TEST_CASE("session link: it is unpacked to the size that it promises, and no further", "[lab]") {
    const auto refusalOf = [](quint32 promised, const QByteArray& content, const QByteArray& behind = {}) {
        QByteArray packed = qCompress(content, 9) + behind;
        qToBigEndian(promised, packed.data());
        return refusal(
            sessionFromLink("attnlab:" + QString::fromLatin1(packed.toBase64(QByteArray::Base64UrlEncoding))));
    };
    const QByteArray blanks(40'000'000, ' '); // 40 kB of a link
    CHECK_THAT(refusalOf(10, blanks), CONTAINS("the link holds more than the 10 bytes that it promises"));
    CHECK_THAT(refusalOf(40'000'100, blanks), CONTAINS("holds 40000000 bytes instead of the 40000100"));
    CHECK_THAT(refusalOf(40'000'000, blanks, "xyz"), CONTAINS("the link has bytes behind its end"));
    CHECK_THAT(refusalOf(60'000'000, QByteArray(1000, ' ')), CONTAINS("the link promises 60000000 bytes, which its"));
    CHECK_THAT(refusalOf(70 << 20, blanks), CONTAINS("the link holds 70 MiB; at most 64 are read"));
    // Letters that are no link: what stands where the size should be says nothing.
    for (const char* nonsense : {"attnlab:________________", "attnlab:SGVsbG8gd29ybGQhIQ"})
        CHECK_THAT(refusal(sessionFromLink(nonsense)), CONTAINS("the link is damaged or incomplete"));
    CHECK_THAT(refusalOf(0, blanks), CONTAINS("the link promises 0 bytes"));
    CHECK_THAT(refusalOf(1000, QByteArray(1000, ' ')), CONTAINS("session")); // right, but no session
}

TEST_CASE("lab: a copied link opens the same view", "[lab]") {
    QString link;
    std::string text;
    {
        LabWindow lab("builtin:induction", "abcabc");
        lab.act("step");
        lab.closeGate(1, 0, 0.5f);
        lab.window().workbench().selectHead(1, 1);
        REQUIRE(lab.settle());
        lab.act("workspace.inspect");
        lab.act("copyLink");
        link = QGuiApplication::clipboard()->text();
        CHECK(lab.find<QWidget>("offerBanner").isVisible());
        CHECK(banner(lab, "offerBanner").text().startsWith("Link copied."));
        text = lab.text();
    }
    LabWindow lab("builtin:stories", {}, {link}); // as on the command line
    REQUIRE(lab.waitFor([&] { return lab.window().workbench().snapshot() && lab.window().workbench().hasModel(); }));
    REQUIRE(lab.settle());
    CHECK(lab.snapshot().model->name == "induction");
    CHECK(lab.text() == text);
    CHECK(lab.window().workbench().selection().head == 1);
    CHECK(lab.window().workbench().changes().gate(1, 0) == 0.5f);

    lab.window().files().open("builtin:stories");
    REQUIRE(lab.waitFor([&] { return lab.snapshot().model->name == "stories"; }));
    lab.action("openLink").trigger();
    auto& dialog = lab.find<QInputDialog>("linkDialog");
    CHECK(dialog.textValue() == link); // from the clipboard
    lab.act("workspace.compare");
    QTest::keyClick(dialog.findChild<QPlainTextEdit*>(), Qt::Key_Return);
    REQUIRE(lab.waitFor([&] { return lab.snapshot().model->name == "induction" && lab.text() == text; }));
    CHECK(lab.waitFor([&] { return lab.find<QToolButton>("workspace.inspect").isChecked(); }));
    REQUIRE(lab.settle());
    lab.action("undo").trigger(); // back to the model before
    REQUIRE(
        lab.waitFor([&] { return lab.snapshot().model->name == "stories" && !lab.window().session().isRestoring(); }));
    lab.action("redo").trigger();
    REQUIRE(lab.waitFor([&] { return lab.snapshot().model->name == "induction" && lab.text() == text; }));
    lab.window().files().openLink("attnlab:nonsense");
    CHECK_THAT(banner(lab, "failureBanner").text().toStdString(), CONTAINS("copy the whole link"));
    CHECK(lab.text() == text);
}

TEST_CASE("lab: a figure is saved as a web page with its numbers", "[lab]") {
    LabWindow lab("builtin:induction", "abcabc");
    lab.showPanel("attention");
    lab.window().panels().setView("attention", {{"level", "head"}, {"site", "blocks.1.attn"}, {"head", 0}});
    REQUIRE(lab.settle());
    auto& heatmap = *lab.window().findChild<HeatmapView*>();
    heatmap.setFocus();
    REQUIRE(lab.waitFor([&] { return heatmap.hasFocus(); }));
    const QString path = lab.folder() + "/head.html";
    lab.window().exports().exportFigure(path);
    REQUIRE(lab.waitFor([&] { return banner(lab, "offerBanner").text().contains(path); }));
    QFile file(path);
    REQUIRE(file.open(QIODevice::ReadOnly));
    const QByteArray html = file.readAll();
    CHECK(html.contains("id=\"heatmap\""));
    CHECK(html.contains("<dd>builtin:induction</dd>"));
    CHECK(html.contains("<dd>abcabc</dd>"));
}
