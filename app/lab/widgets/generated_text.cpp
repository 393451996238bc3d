#include "app/lab/widgets/generated_text.h"

#include "app/lab/widgets/tool_tip.h"
#include "app/lab/widgets/whole_lines.h"

#include <QAbstractTextDocumentLayout>
#include <QApplication>
#include <QScrollBar>
#include <QTextBlock>

#include <algorithm>
#include <utility>

namespace attn {
namespace {

bool looksTheSame(const TokenInfo& a, const TokenInfo& b) {
    return a.id == b.id && a.written == b.written && a.probability == b.probability && a.isPrompt == b.isPrompt;
}

} // namespace

GeneratedText::GeneratedText(QWidget* parent) : QTextEdit(parent) {
    setReadOnly(true);
    setUndoRedoEnabled(false);
    setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    viewport()->setCursor(Qt::PointingHandCursor);
    viewport()->setMouseTracking(true);
}

void GeneratedText::setShade(const QColor& shade) {
    if (shade == shade_) return;
    shade_ = shade;
    const auto tokens = tokens_;
    rebuildFrom(0, tokens);
}

void GeneratedText::setTokens(std::span<const TokenInfo> tokens) {
    size_t common = 0;
    while (common < tokens.size() && common < tokens_.size() && looksTheSame(tokens[common], tokens_[common])) ++common;
    // Equal text may get new node numbers.
    for (size_t i = 0; i < common; ++i) tokens_[i].branchNode = tokens[i].branchNode;
    if (common < tokens.size() || common < tokens_.size()) rebuildFrom(common, tokens);
}

void GeneratedText::rebuildFrom(size_t first, std::span<const TokenInfo> tokens) {
    const bool wasAtEnd = verticalScrollBar()->value() >= verticalScrollBar()->maximum() - 4;
    if (first < begins_.size()) {
        QTextCursor cursor(document());
        cursor.setPosition(begins_[first]);
        cursor.movePosition(QTextCursor::End, QTextCursor::KeepAnchor);
        cursor.removeSelectedText();
        begins_.resize(first);
        tokens_.resize(first);
    }
    if (first == 0) words_ = {};
    QTextCursor cursor(document());
    cursor.movePosition(QTextCursor::End);
    cursor.beginEditBlock(); // one layout for all tokens
    for (size_t i = first; i < tokens.size(); ++i) append(cursor, tokens[i]);
    cursor.endEditBlock();
    if (wasAtEnd) verticalScrollBar()->setValue(verticalScrollBar()->maximum());
}

void GeneratedText::append(QTextCursor& cursor, const TokenInfo& token) {
    begins_.push_back(cursor.position());
    tokens_.push_back(token);
    QTextCharFormat format;
    if (token.isSpecial) {
        format.setForeground(palette().color(QPalette::PlaceholderText));
    } else if (token.probability) {
        QColor colour = shade_;
        colour.setAlphaF(0.08f + 0.42f * std::clamp(*token.probability, 0.0f, 1.0f));
        format.setBackground(colour);
    }
    QString text = QString::fromStdString(token.written);
    // A line separator is one character and stays in the paragraph, so that token positions are simple.
    text.replace('\n', QChar::LineSeparator).remove('\r');
    if (const auto mode = words_.add(text); mode != wordWrapMode()) setWordWrapMode(mode);
    cursor.insertText(text, format);
}

QRect GeneratedText::tokenRect(int index) const {
    const int position = begins_[static_cast<size_t>(index)];
    const QTextBlock block = document()->findBlock(position);
    const QTextLine line =
        block.layout() ? block.layout()->lineForTextPosition(position - block.position()) : QTextLine();
    if (!line.isValid()) return {};
    const qreal leading = line.cursorToX(position - block.position(), QTextLine::Leading);
    const qreal trailing = line.cursorToX(position - block.position(), QTextLine::Trailing);
    const QPointF corner =
        block.layout()->position() - QPointF(horizontalScrollBar()->value(), verticalScrollBar()->value());
    return QRectF(QPointF(leading, line.y()), QPointF(trailing, line.y() + line.height()))
        .normalized()
        .translated(corner)
        .toAlignedRect();
}

int GeneratedText::tokenAt(const QPoint& position) const {
    if (begins_.empty()) return -1;
    const QPointF inDocument =
        QPointF(position) + QPointF(horizontalScrollBar()->value(), verticalScrollBar()->value());
    const int nearest = document()->documentLayout()->hitTest(inDocument, Qt::FuzzyHit);
    const QTextBlock block = document()->findBlock(nearest);
    if (!block.isValid()) return -1;
    const QPointF inBlock = inDocument - block.layout()->position();
    for (int i = 0; i < block.layout()->lineCount(); ++i) {
        const QTextLine line = block.layout()->lineAt(i);
        if (!line.naturalTextRect().contains(inBlock)) continue;
        const int character = block.position() + line.xToCursor(inBlock.x(), QTextLine::CursorOnCharacter);
        return static_cast<int>(std::upper_bound(begins_.begin(), begins_.end(), character) - begins_.begin()) - 1;
    }
    return -1;
}

QSize GeneratedText::sizeHint() const { return {200, fontMetrics().lineSpacing() * 4}; }

void GeneratedText::setHighlighted(int index) {
    QList<ExtraSelection> selections;
    if (index >= 0 && index < count()) {
        const auto at = static_cast<size_t>(index);
        ExtraSelection selection;
        selection.cursor = QTextCursor(document());
        selection.cursor.setPosition(begins_[at]);
        selection.cursor.setPosition(at + 1 < begins_.size() ? begins_[at + 1] : document()->characterCount() - 1,
                                     QTextCursor::KeepAnchor);
        selection.format.setBackground(palette().color(QPalette::Highlight));
        selection.format.setForeground(palette().color(QPalette::HighlightedText));
        selections << selection;
    }
    setExtraSelections(selections);
}

void GeneratedText::hover(int index) {
    if (index != std::exchange(hovered_, index)) emit tokenHovered(index);
}

void GeneratedText::mouseMoveEvent(QMouseEvent* event) {
    QTextEdit::mouseMoveEvent(event);
    hover(tokenAt(event->position().toPoint()));
}

void GeneratedText::leaveEvent(QEvent* event) {
    QTextEdit::leaveEvent(event);
    hover(-1);
}

void GeneratedText::mousePressEvent(QMouseEvent* event) {
    pressedAt_ = event->position().toPoint();
    QTextEdit::mousePressEvent(event);
}

void GeneratedText::mouseReleaseEvent(QMouseEvent* event) {
    QTextEdit::mouseReleaseEvent(event);
    const QPoint position = event->position().toPoint();
    const bool isClick = event->button() == Qt::LeftButton &&
                         (position - pressedAt_).manhattanLength() < QApplication::startDragDistance() &&
                         !textCursor().hasSelection();
    if (const int index = isClick ? tokenAt(position) : -1; index >= 0) emit tokenClicked(index);
}

void GeneratedText::resizeEvent(QResizeEvent* event) {
    const int spare = spareBelowLines(*this, *document());
    if (std::exchange(spare_, spare) != spare) setViewportMargins(0, 0, 0, spare); // as in PromptEditor
    QTextEdit::resizeEvent(event);
}

bool GeneratedText::viewportEvent(QEvent* event) {
    const auto textAt = [this](const QPoint& point) {
        const int index = tokenAt(point);
        if (index < 0) return QString();
        const TokenInfo& token = tokens_[static_cast<size_t>(index)];
        const QString how = token.isPrompt ? tr("from the prompt")
                            : token.probability
                                ? tr("probability %1 %").arg(100.0 * static_cast<double>(*token.probability), 0, 'f', 1)
                                : tr("probability not known");
        return tr("Token %1, id %2, %3. %4").arg(index).arg(token.id).arg(how, clickHelp_);
    };
    return showTip(this, event, textAt) || QTextEdit::viewportEvent(event);
}

} // namespace attn
