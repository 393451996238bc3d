#include "app/lab/dialogs/start_page.h"

#include "app/lab/widgets/flow_layout.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/models/bundled.h"

#include <QDialogButtonBox>
#include <QFileInfo>
#include <QIcon>
#include <QScrollArea>
#include <QToolButton>

#include <algorithm>

namespace attn {
namespace {

constexpr int kMostRecent = 3;
constexpr QSize kPicture(120, 90);

/// The text on the card of a bundled model.
struct Blurb {
    const char* title; ///< the model's title
    const char* text;  ///< what the model does; marked for translation
};
constexpr Blurb kBlurbs[] = {
    {"stories", QT_TRANSLATE_NOOP("attn::StartPage", "writes short stories")},
    {"masked", QT_TRANSLATE_NOOP("attn::StartPage", "fills in hidden words")},
    {"induction", QT_TRANSLATE_NOOP("attn::StartPage", "copies by formula")},
    {"induction-trained", QT_TRANSLATE_NOOP("attn::StartPage", "learned to copy")},
    {"sort", QT_TRANSLATE_NOOP("attn::StartPage", "sorts digits")},
    {"reverse", QT_TRANSLATE_NOOP("attn::StartPage", "reverses letters")},
    {"add", QT_TRANSLATE_NOOP("attn::StartPage", "adds numbers")},
    {"vit-shapes", QT_TRANSLATE_NOOP("attn::StartPage", "names shapes")},
    {"vit-fashion", QT_TRANSLATE_NOOP("attn::StartPage", "names clothes")},
};

QString blurbOf(const QString& title) {
    for (const Blurb& blurb : kBlurbs)
        if (title == QLatin1String(blurb.title)) return StartPage::tr(blurb.text);
    return {};
}

QLabel* heading(const QString& text) { return new QLabel(QStringLiteral("<h3>%1</h3>").arg(text)); }

/// Scrolls vertically; its content is as wide as the viewport.
class PageScroll : public QScrollArea {
public:
    explicit PageScroll(QWidget* content) {
        setFrameShape(QFrame::NoFrame);
        setFocusPolicy(Qt::NoFocus);
        setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        setWidget(content);
    }

protected:
    void resizeEvent(QResizeEvent* event) override {
        QScrollArea::resizeEvent(event);
        const int width = viewport()->width();
        widget()->resize(width, std::max(widget()->layout()->totalHeightForWidth(width), viewport()->height()));
    }
};

} // namespace

StartPage::StartPage(const Offers& offers, QWidget* parent) : QDialog(parent) {
    setObjectName("startPage");
    setWindowTitle(tr("Start page"));
    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(4, 0, 4, 0);
    makeContinue(column, offers);
    makeWays(column, offers);
    makeModels(column, offers);
    column->addStretch(1);
    auto* outer = new QVBoxLayout(this);
    outer->addWidget(new PageScroll(content), 1);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    outer->addWidget(buttons);
    const QSize room = parent ? parent->window()->size() : QSize(900, 700);
    resize(std::clamp(room.width() - 80, 300, fontMetrics().averageCharWidth() * 125),
           std::clamp(room.height() - 60, 300, fontMetrics().height() * 44));
}

QToolButton* StartPage::card(const QString& name, const QString& text, const QString& help,
                             std::function<void()> chosen) {
    auto* button = named(new QToolButton, name, QString(text).replace('\n', QStringLiteral(": ")).remove('&'), help);
    button->setText(text);
    button->setAccessibleDescription(help);
    button->setProperty("start", true);
    button->setFocusPolicy(Qt::StrongFocus);
    connect(button, &QToolButton::clicked, this, [this, chosen = std::move(chosen)] {
        accept();
        chosen();
    });
    return button;
}

void StartPage::makeContinue(QVBoxLayout* column, const Offers& offers) {
    column->addWidget(heading(tr("Continue")));
    auto* row = new FlowLayout;
    if (!offers.lesson.isEmpty())
        row->addWidget(card("startLesson", tr("Lesson\n%1").arg(offers.lesson), tr("Continue the lesson that you left"),
                            [this] { emit lessonContinued(); }));
    if (!offers.session.isEmpty())
        row->addWidget(card("startSession", tr("Unsaved session\n%1").arg(offers.session.left(24).simplified()),
                            tr("Restore the session that was not saved"), [this] { emit sessionContinued(); }));
    for (const QString& path : offers.recent.mid(0, kMostRecent)) {
        auto* button = card("startRecent", tr("Recent\n%1").arg(QFileInfo(path).fileName()), tr("Open %1").arg(path),
                            [this, path] { emit modelChosen(path); });
        button->setEnabled(offers.mayOpen);
        row->addWidget(button);
    }
    if (row->count() == 0) {
        auto* hint = makeHintLabel({}, tr("Lessons, models and sessions that you open will appear here next time."));
        column->addWidget(hint);
    }
    column->addLayout(row);
}

void StartPage::makeWays(QVBoxLayout* column, const Offers& offers) {
    column->addWidget(heading(tr("Start")));
    auto* row = new FlowLayout;
    auto* open = card("startOpen", tr("&Open…\na model of your own"), tr("Open a folder with config.json and weights"),
                      [this] { emit openAsked(); });
    open->setEnabled(offers.mayOpen);
    row->addWidget(open);
    row->addWidget(card("startLearn", tr("&Learn\nseven short lessons"), tr("Show the list of lessons"),
                        [this] { emit lessonsAsked(); }));
    row->addWidget(card("startTrain", tr("&Train\na small model, live"), tr("Show the Train panel"),
                        [this] { emit panelAsked("train"); }));
    row->addWidget(card("startPlay", tr("&Play\nwith parts of attention"), tr("Show the Playground"),
                        [this] { emit panelAsked("playground"); }));
    column->addLayout(row);
}

void StartPage::makeModels(QVBoxLayout* column, const Offers& offers) {
    column->addWidget(heading(tr("Models that come with the program")));
    auto* row = new FlowLayout;
    std::vector<std::pair<QString, QString>> models{{"induction", "builtin:induction"}};
    for (const BundledModel& model : bundledModels())
        models.emplace_back(QString::fromStdString(model.title), QString::fromStdString(model.path));
    // In the order of kBlurbs; models without a blurb come last.
    std::ranges::stable_sort(models, {}, [](const auto& model) {
        return std::ranges::find(kBlurbs, model.first, [](const Blurb& b) { return QLatin1String(b.title); }) - kBlurbs;
    });
    for (const auto& [title, path] : models) {
        auto* button = card("startModel." + title, QStringLiteral("%1\n%2").arg(title, blurbOf(title)),
                            tr("Open %1").arg(path), [this, path = path] { emit modelChosen(path); });
        button->setIcon(QIcon(QStringLiteral(":/start/%1.png").arg(title)));
        button->setIconSize(kPicture);
        button->setToolButtonStyle(Qt::ToolButtonTextUnderIcon);
        button->setEnabled(offers.mayOpen);
        row->addWidget(button);
    }
    column->addLayout(row);
}

} // namespace attn
