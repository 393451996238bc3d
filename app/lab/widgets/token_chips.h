#pragma once

#include "engine/inference/sequence.h"

#include <QAbstractScrollArea>
#include <QRect>

#include <memory>
#include <vector>

namespace attn {

/// Shows how a tokenizer splits a text: tokens as coloured chips that wrap, each with its id below. Left and right move
/// the focus, and Return clicks the focused chip.
class TokenChips : public QAbstractScrollArea {
    Q_OBJECT

public:
    explicit TokenChips(QWidget* parent = nullptr);

    void setTokens(std::span<const TokenInfo> tokens);
    /// Frames the token under the pointer anywhere in the window; -1: none.
    void setHighlighted(int index);
    /// Sets the text for the time when there are no tokens.
    void setEmptyText(const QString& text);
    /// Sets the sentence in tool tips about the effect of a click; empty: none.
    void setClickHelp(const QString& help) { clickHelp_ = help; }
    int count() const { return static_cast<int>(chips_.size()); }
    /// @return the rectangle of a chip in the viewport
    QRect chipRect(int index) const;

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

signals:
    void tokenClicked(int index);
    void tokenHovered(int index); ///< -1 when the pointer leaves

protected:
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool viewportEvent(QEvent* event) override;

private:
    struct Chip {
        TokenInfo token;
        QString label;
        QRect rect; ///< in content coordinates
    };

    void layOut();
    void hover(int index);
    int chipAt(const QPoint& position) const;

    std::vector<Chip> chips_;
    QString emptyText_;
    int focused_ = -1;
    int highlighted_ = -1;
    int hovered_ = -1;
    QString clickHelp_;
    int contentHeight_ = 0;
};

} // namespace attn
