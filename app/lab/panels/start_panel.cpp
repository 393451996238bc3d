#include "app/lab/panels/start_panel.h"

#include "app/figures/token_label.h"
#include "app/lab/widgets/flow_layout.h"
#include "app/lab/widgets/heading.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/io/run_folder.h"
#include "engine/models/bundled.h"

#include <QIcon>
#include <QResizeEvent>
#include <QScrollArea>
#include <QScrollBar>
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
    {"english", QT_TRANSLATE_NOOP("attn::StartPanel", "writes everyday English")},
    {"stories", QT_TRANSLATE_NOOP("attn::StartPanel", "writes short stories")},
    {"masked", QT_TRANSLATE_NOOP("attn::StartPanel", "fills in hidden words")},
    {"numbers-de", QT_TRANSLATE_NOOP("attn::StartPanel", "translates numbers in words")},
    {"induction", QT_TRANSLATE_NOOP("attn::StartPanel", "copies by formula")},
    {"induction-trained", QT_TRANSLATE_NOOP("attn::StartPanel", "learned to copy")},
    {"sort", QT_TRANSLATE_NOOP("attn::StartPanel", "sorts digits")},
    {"reverse", QT_TRANSLATE_NOOP("attn::StartPanel", "reverses letters")},
    {"add", QT_TRANSLATE_NOOP("attn::StartPanel", "adds numbers")},
    {"pixels", QT_TRANSLATE_NOOP("attn::StartPanel", "writes pictures by pixels")},
    {"vit-shapes", QT_TRANSLATE_NOOP("attn::StartPanel", "names the shape at the arrow")},
    {"vit-fashion", QT_TRANSLATE_NOOP("attn::StartPanel", "names clothes")},
};

/// Scrolls vertically; its content is as wide as the viewport.
class PageScroll : public QScrollArea {
public:
    PageScroll() {
        setFrameShape(QFrame::NoFrame);
        setFocusPolicy(Qt::NoFocus);
        setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    }
    void show(QWidget* content) {
        setWidget(content);
        content->installEventFilter(this);
        content->show();
        fit();
    }

protected:
    void resizeEvent(QResizeEvent* event) override {
        QScrollArea::resizeEvent(event);
        if (widget()) fit();
    }
    bool eventFilter(QObject* watched, QEvent* event) override {
        if (watched == widget() && event->type() == QEvent::LayoutRequest) fit();
        return QScrollArea::eventFilter(watched, event);
    }

private:
    /// The size of the viewport would not do: cards on narrower lines can need less height, so the bar would take
    /// itself away and come back without end.
    void fit() {
        const QSize room = maximumViewportSize();
        int width = room.width(), height = widget()->layout()->totalHeightForWidth(width);
        if (height > room.height()) {
            width -= verticalScrollBar()->sizeHint().width();
            height = widget()->layout()->totalHeightForWidth(width);
        }
        widget()->resize(width, std::max(height, room.height()));
    }
};

} // namespace

StartPanel::StartPanel(Workbench& bench, QWidget* parent) : Panel(bench, parent), scroll_(new PageScroll) {
    makeColumn(this, 0, {{scroll_, 1}});
    makeContent();
}

QString StartPanel::blurbOf(const QString& model) {
    for (const Blurb& blurb : kBlurbs)
        if (model == QLatin1String(blurb.title)) return tr(blurb.text);
    return {};
}

void StartPanel::setOffers(const Offers& offers) {
    if (offers == offers_) return;
    offers_ = offers;
    makeContent();
}

void StartPanel::makeContent() {
    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(spacing::kPage, spacing::kWide, spacing::kPage, spacing::kWide);
    column->setSpacing(spacing::kWide);
    makeTours(column);
    makeContinue(column);
    makeModels(column);
    column->addStretch(1);
    // Not deleted at once: the click on a card may have led here.
    if (QWidget* before = scroll_->takeWidget()) before->deleteLater();
    static_cast<PageScroll*>(scroll_)->show(content);
}

QToolButton* StartPanel::card(const QString& name, const QString& text, const QString& help,
                              std::function<void()> chosen) {
    auto* button = named(new QToolButton, name, shownOnButton(text).replace('\n', QStringLiteral(": ")), help);
    button->setText(text);
    button->setAccessibleDescription(help);
    button->setProperty("start", true);
    button->setFocusPolicy(Qt::StrongFocus);
    connect(button, &QToolButton::clicked, this, std::move(chosen));
    return button;
}

void StartPanel::makeTours(QVBoxLayout* column) {
    column->addWidget(new Heading(TextSize::Headline, tr("See attention in half a minute")));
    auto* row = new FlowLayout;
    const auto add = [&](const char* name, const QString& text, const QString& help, const QString& picture,
                         Tour tour) {
        auto* button = card(name, text, help, [this, tour] { emit tourChosen(tour); });
        button->setIcon(QIcon(QStringLiteral(":/start/%1.png").arg(picture)));
        button->setIconSize(kPicture);
        button->setToolButtonStyle(Qt::ToolButtonTextUnderIcon);
        row->addWidget(button);
    };
    add("startWrite", tr("Watch the heads\nwhile a model writes"),
        tr("Run the default model and see each head light up at every new word"), "english", Tour::Write);
    add("startLook", tr("Find the head\nthat copies"), tr("Open a small model in which one head repeats a pattern"),
        "induction-trained", Tour::Look);
    add("startTrain", tr("Train a model\nand see its heads form"), tr("Train a small model that sorts digits"), "sort",
        Tour::Train);
    column->addLayout(row);
}

void StartPanel::makeContinue(QVBoxLayout* column) {
    column->addWidget(new Heading(TextSize::Title, tr("Learn, continue or open")));
    auto* row = new FlowLayout;
    row->addWidget(card("startLearn", tr("&Learn\nshort lessons"), tr("Show the list of lessons"),
                        [this] { emit lessonsAsked(); }));
    if (!offers_.lesson.isEmpty())
        row->addWidget(card("startLesson", tr("Continue the lesson\n%1").arg(withoutKeys(offers_.lesson)),
                            tr("Continue the lesson that you left"), [this] { emit lessonContinued(); }));
    auto* open = card("startOpen", tr("&Open…\na model of your own"), tr("Open a folder with config.json and weights"),
                      [this] { emit openAsked(); });
    open->setEnabled(offers_.mayOpen);
    row->addWidget(open);
    row->addWidget(card("startPlay", tr("&Build\nattention from its parts"), tr("Show the playground"),
                        [this] { bench_.showPanel("playground"); }));
    for (const QString& path : offers_.recent.mid(0, kMostRecent)) {
        auto* button =
            card("startRecent", tr("Recent\n%1").arg(withoutKeys(shownText(folderTitle(path.toStdString())))),
                 tr("Open %1").arg(path), [this, path] { bench_.requestOpening(path); });
        button->setEnabled(offers_.mayOpen);
        row->addWidget(button);
    }
    column->addLayout(row);
}

void StartPanel::makeModels(QVBoxLayout* column) {
    column->addWidget(new Heading(TextSize::Title, tr("Models that come with the program")));
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
                            tr("Open %1").arg(path), [this, path = path] { bench_.requestOpening(path); });
        button->setIcon(QIcon(QStringLiteral(":/start/%1.png").arg(title)));
        button->setIconSize(kPicture);
        button->setToolButtonStyle(Qt::ToolButtonTextUnderIcon);
        button->setEnabled(offers_.mayOpen);
        row->addWidget(button);
    }
    column->addLayout(row);
}

} // namespace attn
