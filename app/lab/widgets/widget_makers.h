#pragma once

#include "app/figures/spacing.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QSettings>
#include <QVBoxLayout>

#include <initializer_list>

// Functions that name and make widgets for panels and dialogs.

namespace attn {

/// Names a widget for tests, screen readers and its tool tip. @param help empty: the name needs no explanation
template <class Widget>
Widget* named(Widget* widget, const QString& id, const QString& name, const QString& help = {}) {
    widget->setObjectName(id);
    widget->setAccessibleName(name);
    widget->setToolTip(help.isEmpty() ? name : help);
    return widget;
}

/// Names a widget whose text screen readers read, for tests and its tool tip.
template <class Widget> Widget* helped(Widget* widget, const QString& id, const QString& help) {
    widget->setObjectName(id);
    widget->setToolTip(help);
    return widget;
}

/// Names a widget for tests and screen readers.
template <class Widget> Widget* spoken(Widget* widget, const QString& id, const QString& name) {
    widget->setObjectName(id);
    widget->setAccessibleName(name);
    return widget;
}

/// Names a widget for tests.
template <class Widget> Widget* identified(Widget* widget, const QString& id) {
    widget->setObjectName(id);
    return widget;
}

/// @return a label that shows its text unchanged. By default, a label of Qt guesses whether a text is markup. Markup
/// from a file could name files, which Qt would open
inline QLabel* plainLabel(const QString& text = {}, QWidget* parent = nullptr) {
    auto* label = new QLabel(parent);
    label->setTextFormat(Qt::PlainText);
    label->setText(text);
    return label;
}

/// Makes a label read its text as markup. Set only texts of the program and of checked lessons, and escape all other
/// texts in them with toHtmlEscaped().
template <class Label> Label* readsMarkup(Label* label) {
    label->setTextFormat(Qt::RichText);
    return label;
}

/// @return a text that buttons, menus and labels of controls show unchanged: a single "&" would mark a key
inline QString withoutKeys(QString text) { return text.replace('&', QStringLiteral("&&")); }

/// @return the visible text of a button or menu: without the marks of keys
inline QString shownOnButton(const QString& text) {
    QString shown;
    for (qsizetype i = 0; i < text.size(); ++i)
        if (text[i] != '&' || ++i < text.size()) shown += text[i];
    return shown;
}

/// @return a label whose text wraps over several lines
inline QLabel* makeTextLabel(const QString& name = {}, const QString& text = {}) {
    auto* label = plainLabel(text);
    label->setObjectName(name);
    label->setWordWrap(true);
    return label;
}

/// @return a label for an explanation, in the theme's faint colour
inline QLabel* makeHintLabel(const QString& name = {}, const QString& text = {}) {
    auto* label = makeTextLabel(name, text);
    label->setProperty("hint", true);
    return label;
}

/// A part of a row or column, with its share of the remaining space.
struct Placed {
    Placed(QWidget* placed, int share = 0) : widget(placed), stretch(share) {}
    Placed(QLayout* placed, int share = 0) : layout(placed), stretch(share) {}
    QWidget* widget = nullptr;
    QLayout* layout = nullptr; ///< empty space if both are null
    int stretch = 0;
};
inline Placed room(int stretch = 1) { return {static_cast<QWidget*>(nullptr), stretch}; }

template <class Box> Box* place(Box* box, std::initializer_list<Placed> parts) {
    for (const Placed& part : parts) {
        if (part.widget)
            box->addWidget(part.widget, part.stretch);
        else if (part.layout)
            box->addLayout(part.layout, part.stretch);
        else
            box->addStretch(part.stretch);
    }
    return box;
}

/// The layout of a widget, with the same margin on all sides.
template <class Layout> Layout* layoutOf(QWidget* widget, int margin = 0) {
    auto* layout = new Layout(widget);
    layout->setContentsMargins(margin, margin, margin, margin);
    return layout;
}

inline QHBoxLayout* makeRow(std::initializer_list<Placed> parts) { return place(new QHBoxLayout, parts); }
inline QVBoxLayout* makeColumn(std::initializer_list<Placed> parts) { return place(new QVBoxLayout, parts); }
inline QHBoxLayout* makeRow(QWidget* owner, int margin, std::initializer_list<Placed> parts) {
    return place(layoutOf<QHBoxLayout>(owner, margin), parts);
}
inline QVBoxLayout* makeColumn(QWidget* owner, int margin, std::initializer_list<Placed> parts) {
    return place(layoutOf<QVBoxLayout>(owner, margin), parts);
}

/// A label with a key that gives the focus to a control.
inline QLabel* labelFor(QWidget* control, const QString& text) {
    auto* label = plainLabel(text);
    label->setBuddy(control);
    return label;
}

/// @return a file dialog that starts in the folder of the last chosen file and deletes itself when it is closed;
/// connect its signals and call open()
inline QFileDialog* makeFileDialog(QWidget* parent, const QString& title, QFileDialog::FileMode mode) {
    const QString key = QStringLiteral("fileFolder");
    auto* dialog = new QFileDialog(parent, title, QSettings().value(key).toString());
    dialog->setObjectName("fileDialog");
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(mode);
    dialog->setOption(QFileDialog::ShowDirsOnly, mode == QFileDialog::Directory);
    QObject::connect(dialog, &QFileDialog::fileSelected, dialog,
                     [key](const QString& path) { QSettings().setValue(key, QFileInfo(path).absolutePath()); });
    return dialog;
}

} // namespace attn
