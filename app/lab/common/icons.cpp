#include "app/lab/common/icons.h"

#include <QFile>
#include <QGuiApplication>
#include <QIconEngine>
#include <QPainter>
#include <QPixmapCache>
#include <QSvgRenderer>

namespace attn {
namespace {

class ThemedIconEngine : public QIconEngine {
public:
    ThemedIconEngine(QString name, QPalette::ColorRole role) : name_(std::move(name)), role_(role) {}

    QIconEngine* clone() const override { return new ThemedIconEngine(*this); }

    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State state) override {
        const double scale = painter->device()->devicePixelRatioF();
        painter->drawPixmap(rect, pixmap((QSizeF(rect.size()) * scale).toSize(), mode, state));
    }

    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State) override {
        const bool isDisabled = mode == QIcon::Disabled; // an accented button then has the ordinary background
        const QPalette::ColorRole role = mode == QIcon::Selected                            ? QPalette::HighlightedText
                                         : isDisabled && role_ == QPalette::HighlightedText ? QPalette::ButtonText
                                                                                            : role_;
        const QColor colour =
            QGuiApplication::palette().color(isDisabled ? QPalette::Disabled : QPalette::Active, role);
        const QString key =
            QStringLiteral("icon/%1/%2/%3x%4")
                .arg(name_, colour.name(), QString::number(size.width()), QString::number(size.height()));
        QPixmap pixmap;
        if (QPixmapCache::find(key, &pixmap)) return pixmap;
        pixmap = QPixmap(size);
        pixmap.fill(Qt::transparent);
        if (QFile file(QStringLiteral(":/icons/%1.svg").arg(name_)); file.open(QFile::ReadOnly)) {
            QSvgRenderer renderer(file.readAll().replace("currentColor", colour.name().toLatin1()));
            QPainter painter(&pixmap);
            renderer.render(&painter);
        }
        QPixmapCache::insert(key, pixmap);
        return pixmap;
    }

private:
    QString name_;
    QPalette::ColorRole role_;
};

} // namespace

QIcon themedIcon(const QString& name, QPalette::ColorRole role) { return QIcon(new ThemedIconEngine(name, role)); }

} // namespace attn
