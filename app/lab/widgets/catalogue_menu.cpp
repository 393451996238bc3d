#include "app/lab/widgets/catalogue_menu.h"

#include "app/lab/widgets/widget_makers.h"
#include "engine/data/parallel_text.h"

#include <QLocale>

#include <algorithm>
#include <filesystem>

namespace attn {
namespace {

constexpr size_t kMostOfLanguage = 15; ///< the largest catalogues
constexpr const char* kLanguages[] = {"de", "fr", "es", "it", "pt_BR", "nl", "sv", "pl",    "cs",
                                      "ru", "uk", "tr", "el", "fi",    "hu", "ja", "zh_CN", "ko"};

} // namespace

CatalogueMenu::CatalogueMenu(QWidget* parent) : QMenu(parent) {
    connect(this, &QMenu::aboutToShow, this, &CatalogueMenu::list);
}

void CatalogueMenu::list() {
    clear();
    for (const char* language : kLanguages) {
        std::vector<std::filesystem::path> paths = installedCatalogues(language);
        if (paths.empty()) continue;
        paths.resize(std::min(paths.size(), kMostOfLanguage));
        QMenu* menu = addMenu(QLocale::languageToString(QLocale(language).language()));
        for (const std::filesystem::path& path : paths) {
            std::error_code ignored;
            const auto size = static_cast<qint64>(std::filesystem::file_size(path, ignored));
            const QString name = withoutKeys(QString::fromStdString(path.stem().string()));
            QAction* action = menu->addAction(QStringLiteral("%1 (%2)").arg(name, locale().formattedDataSize(size)));
            connect(action, &QAction::triggered, this,
                    [this, path] { emit chosen(QString::fromStdString(path.string())); });
        }
    }
    if (isEmpty()) addAction(tr("No catalogues are installed"))->setEnabled(false);
}

} // namespace attn
