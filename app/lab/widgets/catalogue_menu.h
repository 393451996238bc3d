#pragma once

#include <QMenu>

namespace attn {

/// Offers the gettext catalogues on this computer, by language: texts of programs with their translations.
class CatalogueMenu : public QMenu {
    Q_OBJECT

public:
    explicit CatalogueMenu(QWidget* parent = nullptr);

signals:
    void chosen(const QString& path);

private:
    void list();
};

} // namespace attn
