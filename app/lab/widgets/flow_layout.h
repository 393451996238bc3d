#pragma once

#include <QLayout>
#include <QList>

namespace attn {

/// Places widgets in lines that wrap like text: a toolbar stays complete in a narrow dock. Follows the layout direction
/// of the language.
class FlowLayout : public QLayout {
public:
    explicit FlowLayout(QWidget* parent = nullptr);
    ~FlowLayout() override;

    /// Adds a control with its label before it, in a widget of their own.
    QWidget* addLabelled(const QString& text, QWidget* control);
    /// Adds a control that takes the room that is left in its line.
    void addStretched(QWidget* control);
    void addItem(QLayoutItem* item) override { items_.append(item); }
    int count() const override { return static_cast<int>(items_.size()); }
    QLayoutItem* itemAt(int index) const override { return items_.value(index); }
    QLayoutItem* takeAt(int index) override;
    Qt::Orientations expandingDirections() const override { return {}; }
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    void setGeometry(const QRect& rect) override;
    QSize sizeHint() const override; ///< one line
    QSize minimumSize() const override;

private:
    /// @param isApplied whether to move the items  @return the height used
    int arrange(const QRect& rect, bool isApplied) const;

    QList<QLayoutItem*> items_;
    QList<const QWidget*> stretched_;
};

} // namespace attn
