#pragma once

#include "app/lab/widgets/long_words.h"
#include "engine/inference/sequence.h"

#include <QColor>
#include <QTextEdit>

#include <vector>

namespace attn {

/// Shows the sequence as running text, in any script and direction. The more probable a generated token was, the
/// stronger its background; tokens of the prompt have none. A click on a token asks to continue from there.
class GeneratedText : public QTextEdit {
    Q_OBJECT

public:
    explicit GeneratedText(QWidget* parent = nullptr);

    void setTokens(std::span<const TokenInfo> tokens);
    /// Sets the background of a token with probability 1.
    void setShade(const QColor& shade);
    /// Highlights the token under the pointer anywhere in the window; -1: none.
    void setHighlighted(int index);
    /// Sets the sentence in tool tips about the effect of a click; empty: none.
    void setClickHelp(const QString& help) { clickHelp_ = help; }
    int count() const { return static_cast<int>(tokens_.size()); }
    /// The token under a point of the viewport, or -1.
    int tokenAt(const QPoint& position) const;
    /// @return the rectangle of a token's first character in the viewport; very narrow where two writing directions
    /// meet
    QRect tokenRect(int index) const;

    QSize sizeHint() const override; ///< small, because the layout gives it the remaining space

signals:
    void tokenClicked(int index);
    void tokenHovered(int index); ///< -1 when the pointer leaves

protected:
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    bool viewportEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void hover(int index);
    void append(QTextCursor& cursor, const TokenInfo& token);
    void rebuildFrom(size_t first, std::span<const TokenInfo> tokens);

    std::vector<TokenInfo> tokens_;
    std::vector<int> begins_; ///< character position of each token in the document
    LongWords words_;         ///< of the text so far
    QColor shade_ = QColor(120, 120, 220);
    QPoint pressedAt_;
    int hovered_ = -1;
    int spare_ = 0; ///< pixels below the last whole line
    QString clickHelp_;
};

} // namespace attn
