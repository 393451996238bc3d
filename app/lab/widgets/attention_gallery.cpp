#include "app/lab/widgets/attention_gallery.h"

#include "app/figures/map_figure.h"
#include "app/lab/widgets/engine_text.h"
#include "app/lab/widgets/fit_to_font.h"
#include "app/lab/widgets/flow_layout.h"
#include "app/lab/widgets/widget_makers.h"
#include "engine/attention/known_attentions.h"

#include <QStyleOptionToolButton>
#include <QStylePainter>
#include <QToolButton>

#include <algorithm>

namespace attn {

/// A card: the pattern, and beside it the title, the source and the sentence.
class AttentionGallery::Card : public QToolButton {
public:
    explicit Card(const KnownAttention& known)
        : query_{.spec = AttentionSpec::parse(known.spec), .tokens = kTokens}, title_(fromEngine(known.title)),
          source_(QStringLiteral("%1 %2").arg(fromEngine(known.source.authors), QString::number(known.source.year))),
          idea_(fromEngine(known.idea)) {
        named(this, "known." + title_, title_, fromEngine(known.spec));
        setAccessibleDescription(QStringLiteral("%1 %2: %3").arg(idea_, source_, fromEngine(known.spec)));
        setProperty("start", true);
        setFocusPolicy(Qt::StrongFocus);
    }

    const PlaygroundQuery& query() const { return query_; }
    const QString& title() const { return title_; }
    const MatrixFigure& figure() const { return figure_; }
    bool isAnswered() const { return isAnswered_; }
    void take(const PlaygroundSnapshot& answer, const FigureTheme& theme) {
        isAnswered_ = true; // a failure too: to ask again would fail again
        if (const PlaygroundMap* map = findMap(answer.maps, "pattern"))
            figure_ = mapFigure(*map, answer.query.spec, 0, 0);
        draw(theme);
    }
    /// Draws the pattern, one pixel for each cell.
    void draw(const FigureTheme& theme) {
        image_ = QImage(figure_.columns(), figure_.rows(), QImage::Format_RGB32);
        for (int row = 0; row < image_.height(); ++row)
            for (int column = 0; column < image_.width(); ++column)
                image_.setPixelColor(column, row, figure_.colourOf(figure_.valueAt({row, column}), theme));
        update();
    }
    /// The size that shows the whole text.
    QSize sizeFor(const QFontMetrics& font) const {
        const int width = font.averageCharWidth() * kCharacters;
        const int text = QFontMetrics(titleFont()).height() + font.height() + spacing::kTight +
                         font.boundingRect(QRect(0, 0, width, QWIDGETSIZE_MAX), Qt::TextWordWrap, idea_).height();
        return {kPicture + spacing::kGap + width + 2 * kInset, std::max(kPicture, text) + 2 * kInset};
    }

protected:
    void paintEvent(QPaintEvent*) override {
        QStylePainter painter(this);
        QStyleOptionToolButton option;
        initStyleOption(&option);
        painter.drawComplexControl(QStyle::CC_ToolButton, option);
        const QRect inner = rect().adjusted(kInset, kInset, -kInset, -kInset);
        const auto mirrored = [&](const QRect& place) { return QStyle::visualRect(layoutDirection(), inner, place); };
        painter.drawImage(mirrored({inner.topLeft(), QSize(kPicture, kPicture)}), image_);
        QRect rest = inner.adjusted(kPicture + spacing::kGap, 0, 0, 0);
        const auto write = [&](const QString& text, const QFont& font, QPalette::ColorRole ink) {
            painter.setFont(font);
            painter.setPen(palette().color(ink));
            QRect used;
            painter.drawText(mirrored(rest), Qt::AlignLeading | Qt::AlignTop | Qt::TextWordWrap, text, &used);
            rest.setTop(used.bottom() + 1);
        };
        write(title_, titleFont(), QPalette::Text);
        write(source_, font(), QPalette::PlaceholderText);
        rest.translate(0, spacing::kTight);
        write(idea_, font(), QPalette::Text);
    }

private:
    static constexpr int64_t kTokens = 32; ///< as the playground begins with: a click shows the same pattern, larger
    static constexpr int kPicture = 96, kInset = 8; ///< pixels
    static constexpr int kCharacters = 26;          ///< in a line of the sentence

    QFont titleFont() const {
        QFont bold = font();
        bold.setBold(true);
        return bold;
    }

    PlaygroundQuery query_;
    QString title_, source_, idea_;
    bool isAnswered_ = false;
    MatrixFigure figure_; ///< empty: no pattern yet
    QImage image_;
};

AttentionGallery::AttentionGallery(QWidget* parent) : QScrollArea(parent) {
    const QString hint = tr("Choose a model to see its attention large and to change it.");
    spoken(this, "gallery", tr("Known models"))->setAccessibleDescription(hint);
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::NoFocus);
    setWidgetResizable(true);
    auto* content = new QWidget;
    auto* flow = new FlowLayout;
    for (const KnownAttention& known : knownAttentions()) {
        auto* card = new Card(known);
        cards_.push_back(card);
        flow->addWidget(card);
        connect(card, &QToolButton::clicked, this, [this, card] { emit chosen(card->query().spec, card->title()); });
    }
    makeColumn(content, spacing::kGap, {makeHintLabel("galleryHint", hint), flow, room()});
    setWidget(content);
    new FontFit(this, [this](const QFontMetrics& font) { fitCards(font); });
}

void AttentionGallery::fitCards(const QFontMetrics& font) {
    QSize size;
    for (const Card* card : cards_) size = size.expandedTo(card->sizeFor(font));
    for (Card* card : cards_) card->setFixedSize(size);
}

std::optional<PlaygroundQuery> AttentionGallery::query() const {
    const auto next = std::ranges::find(cards_, false, &Card::isAnswered);
    if (next == cards_.end()) return {};
    return (*next)->query();
}

bool AttentionGallery::showPattern(const PlaygroundSnapshot& snapshot) {
    const auto card = std::ranges::find(cards_, snapshot.query, &Card::query);
    if (card == cards_.end()) return false;
    if (!(*card)->isAnswered()) (*card)->take(snapshot, theme_);
    return true;
}

const MatrixFigure& AttentionGallery::pattern(const QString& title) const {
    return (*std::ranges::find(cards_, title, &Card::title))->figure();
}

void AttentionGallery::setTheme(const FigureTheme& theme) {
    theme_ = theme;
    for (Card* card : cards_) card->draw(theme);
}

} // namespace attn
