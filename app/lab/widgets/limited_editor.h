#pragma once

#include <QPlainTextEdit>

namespace attn {

/// An editor of plain text that refuses to paste more than it can lay out at once.
class LimitedEditor : public QPlainTextEdit {
    Q_OBJECT

public:
    /// @param most characters that the editor takes
    explicit LimitedEditor(int most, QWidget* parent = nullptr);

    /// Replaces the text. Unlike setPlainText(), it stays fast for text without spaces.
    void showText(const QString& text);
    /// Why a text of this length is too long; empty: it is not.
    QString objectionTo(qsizetype length) const;

signals:
    /// A paste or a drop was refused; the text is as before. @param why a sentence
    void refused(const QString& why);

protected:
    bool canInsertFromMimeData(const QMimeData* source) const override;
    void insertFromMimeData(const QMimeData* source) override;

private:
    int most_;
};

} // namespace attn
