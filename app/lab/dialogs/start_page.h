#pragma once

#include <QDialog>
#include <QStringList>

#include <functional>

class QToolButton;
class QVBoxLayout;

namespace attn {

/// The ways to start (continue, open, learn, train, play) and the bundled models, each with an image.
class StartPage : public QDialog {
    Q_OBJECT

public:
    /// The work that the user can continue.
    struct Offers {
        QString lesson;      ///< title of the unfinished lesson; empty: none
        QString session;     ///< prompt of the session that was not saved; empty: none
        QStringList recent;  ///< paths
        bool mayOpen = true; ///< false: opening is locked
    };

    explicit StartPage(const Offers& offers, QWidget* parent = nullptr);

signals:
    void lessonContinued();
    void sessionContinued();
    void modelChosen(const QString& path);
    void openAsked();
    void lessonsAsked();
    void panelAsked(const QString& id);

private:
    void makeContinue(QVBoxLayout* column, const Offers& offers);
    void makeWays(QVBoxLayout* column, const Offers& offers);
    void makeModels(QVBoxLayout* column, const Offers& offers);
    /// @param chosen runs once the page has closed
    QToolButton* card(const QString& name, const QString& text, const QString& help, std::function<void()> chosen);
};

} // namespace attn
