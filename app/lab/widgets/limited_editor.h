#pragma once

#include <QPlainTextEdit>

namespace attn {

/// An editor of plain text that refuses to paste more than it can lay out quickly.
class LimitedEditor : public QPlainTextEdit {
    Q_OBJECT

public:
    /// @param most the largest number of characters
    explicit LimitedEditor(int most, QWidget* parent = nullptr);

    /// Replaces the text. Unlike setPlainText(), it stays fast for text without spaces.
    void showText(const QString& text);
    /// A sentence if a text of this length is too long; otherwise empty.
    QString objectionTo(qsizetype length) const;

signals:
    /// A paste or a drop was refused and changed nothing. @param why a sentence
    void refused(const QString& why);

protected:
    bool canInsertFromMimeData(const QMimeData* source) const override;
    void insertFromMimeData(const QMimeData* source) override;

private:
    int most_;
};

} // namespace attn
