#pragma once

#include <QLayout>
#include <QList>

namespace attn {

/// Places widgets in lines that wrap like text, so that a narrow dock shows a whole toolbar. Follows the layout
/// direction of the language.
class FlowLayout : public QLayout {
public:
    explicit FlowLayout(QWidget* parent = nullptr);
    ~FlowLayout() override;

    /// Adds a control with a label before it. One widget contains both, so that they stay together.
    QWidget* addLabelled(const QString& text, QWidget* control);
    /// Adds a control that fills the remaining width of its line.
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
