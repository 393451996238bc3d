#include "app/lab/dialogs/manual.h"
#include "tests/lab/lab_window.h"

using namespace attn;

namespace {

/// Whether each picture of the page has been loaded.
bool hasPictures(QTextBrowser& text) {
    int count = 0;
    for (QTextBlock block = text.document()->begin(); block.isValid(); block = block.next())
        for (auto part = block.begin(); !part.atEnd(); ++part)
            if (const QTextImageFormat image = part.fragment().charFormat().toImageFormat(); image.isValid()) {
                const QVariant loaded = text.document()->resource(QTextDocument::ImageResource, QUrl(image.name()));
                if (loaded.value<QImage>().isNull()) return false;
                if (loaded.value<QImage>().width() > text.viewport()->width()) return false;
                ++count;
            }
    return count > 0;
}

} // namespace

TEST_CASE("manual: its pages have their text and pictures, links lead on, and a search finds places", "[lab][manual]") {
    LabWindow lab;
    lab.action("manual").trigger();
    auto& manual = lab.find<Manual>("manual");
    auto& pages = lab.find<QListWidget>("manualPages");
    auto& text = lab.find<QTextBrowser>("manualText");
    auto& search = lab.find<QLineEdit>("manualSearch");
    REQUIRE(QTest::qWaitForWindowExposed(&manual));
    CHECK(pages.count() == 9);
    for (int page = 0; page < pages.count(); ++page) {
        pages.setCurrentRow(page);
        INFO(page);
        CHECK_FALSE(pages.item(page)->text().isEmpty());
        CHECK(text.toPlainText().size() > 2000);
        CHECK(text.document()->begin().text() == pages.item(page)->text()); // its title
    }
    pages.setCurrentRow(0);
    CHECK(pages.item(0)->text() == "A tour");
    CHECK(hasPictures(text));

    emit text.anchorClicked(QUrl("for-teachers.md#in-front-of-the-class"));
    CHECK(pages.currentItem()->text() == "For teachers");
    CHECK(text.verticalScrollBar()->value() > 0);
    const QUrl here = text.source();
    emit text.anchorClicked(QUrl("../engine/core/error.h")); // is no page
    CHECK(text.source() == here);

    text.backward(); // the list follows, and leads on from there
    CHECK(pages.currentItem()->text() == "A tour");
    pages.setCurrentRow(1);
    CHECK(text.source() == here);

    search.setText("FAVOR+");
    int shown = 0;
    for (int page = 0; page < pages.count(); ++page) shown += pages.item(page)->isHidden() ? 0 : 1;
    CHECK(shown > 0);
    CHECK(shown < pages.count());
    CHECK_FALSE(pages.currentItem()->isHidden());
    CHECK(text.textCursor().selectedText().compare("FAVOR+", Qt::CaseInsensitive) == 0);
    const int first = text.textCursor().position();
    const QUrl before = text.source();
    QTest::keyClick(&search, Qt::Key_Return);
    CHECK((text.textCursor().position() != first || text.source() != before));
    CHECK(manual.isVisible());
    search.setText("zzqq");
    CHECK(lab.find<QLabel>("manualNone").isVisible());
    search.clear();
    CHECK_FALSE(lab.find<QLabel>("manualNone").isVisible());
    for (int page = 0; page < pages.count(); ++page) CHECK_FALSE(pages.item(page)->isHidden());
    manual.close();
    lab.action("manual").trigger(); // the same, on its page
    CHECK(manual.isVisible());
    manual.close();
}
