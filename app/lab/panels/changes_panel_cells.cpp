#include "app/figures/token_label.h"
#include "app/lab/bridge/token_text.h"
#include "app/lab/common/panel_theme.h"
#include "app/lab/panels/change_source.h"
#include "app/lab/panels/changes_panel.h"
#include "app/lab/widgets/hint_label.h"
#include "app/lab/widgets/run_cells_view.h"
#include "engine/analysis/text_tokens.h"
#include "engine/inference/whole_layer.h"

#include <QComboBox>
#include <QLabel>
#include <QScrollArea>
#include <QStackedWidget>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>

// Values of a run on another text, which the user drags to tokens of the prompt.

namespace attn {
namespace {

constexpr size_t kMostCells = 256; ///< most tokens of a text that are shown
constexpr int kCellTypingPauseMs = 300;

bool isSamePlace(std::span<const Intervention> a, std::span<const Intervention> b) {
    return std::ranges::equal(a, b, [](const Intervention& x, const Intervention& y) {
        return x.kind == y.kind && x.hook == y.hook && x.head == y.head;
    });
}

} // namespace

QWidget* ChangesPanel::makeCells() {
    cells_ = new RunCellsView;
    cells_->setObjectName("interventionCells");
    auto* scroll = new QScrollArea;
    scroll->setObjectName("interventionCellsArea");
    scroll->setAccessibleName(tr("Values of both runs"));
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->setWidget(cells_);
    cellsHint_ = makeHintLabel("interventionCellsHint");
    cellsHint_->setMinimumHeight(2 * fontMetrics().lineSpacing()); // so that a longer text does not move the cells
    cellsHint_->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    askTokens_ = new QTimer(this);
    askTokens_->setObjectName("typingPause");
    askTokens_->setSingleShot(true);
    askTokens_->setInterval(kCellTypingPauseMs);
    connect(askTokens_, &QTimer::timeout, this, [this] {
        auto analysis = std::make_shared<TextTokensAnalysis>();
        analysis->text = source_->text().toStdString();
        bench_.post(RunAnalysisCommand{std::move(analysis)});
    });
    connect(cells_, &RunCellsView::moved, this,
            [this](const RunCellsView::Move& move) { patch(move.row, move.from, move.to); });
    connect(cells_, &RunCellsView::reached, scroll, [scroll](const QRect& cell) {
        scroll->ensureVisible(cell.center().x(), cell.center().y(), cell.width(), cell.height());
    });
    connect(cells_, &RunCellsView::described, this, [this](const QString& text) {
        cellsHint_->setText(
            text.isEmpty() ? tr("Drag a value of the other text to a token of the prompt in the same row") : text);
    });
    const auto setTheme = [this](ThemeId theme) { cells_->setTheme(figureTheme(theme)); };
    connect(&bench_, &Workbench::themeChanged, this, setTheme);
    setTheme(bench_.theme());
    auto* part = new QWidget;
    auto* column = new QVBoxLayout(part);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(scroll, 1);
    column->addWidget(cellsHint_);
    return part;
}

std::vector<Intervention> ChangesPanel::changeOfRow(int row) const {
    return row == 0 ? described(ChangePlace::Embedding, 0) : described(place(), row - 1);
}

void ChangesPanel::showCells() {
    const bool isWanted = kind() == Intervention::Kind::Patch && !source_->text().isEmpty() && snapshot_ &&
                          snapshot_->model && snapshot_->sequence;
    right_->setCurrentIndex(isWanted ? 1 : 0);
    if (!isWanted) return askTokens_->stop();
    const std::string text = source_->text().toStdString();
    const auto found = snapshot_->analyses.find(TextTokensAnalysis{}.key());
    const auto* cut =
        found == snapshot_->analyses.end() ? nullptr : static_cast<const TextTokens*>(found->second.get());
    std::vector<QString> rows, other, prompt = tokenLabels(snapshot_->sequence.get());
    if (cut && cut->text == text) {
        askTokens_->stop();
        for (int token : cut->tokens) other.push_back(visibleText(tokenText(*snapshot_, token)));
    } else if (std::pair asked(snapshot_->model, source_->text()); asked != asked_) {
        asked_ = std::move(asked);
        askTokens_->start();
    }
    rows.push_back(tr("embedding"));
    for (int layer = 0; layer < snapshot_->model->layers && place() != ChangePlace::Embedding; ++layer)
        rows.push_back(tr("layer %1").arg(layer));
    other.resize(std::min(other.size(), kMostCells));
    prompt.resize(std::min(prompt.size(), kMostCells));
    std::vector<RunCellsView::Move> moves;
    for (const auto change : changesOf(bench_.changes().interventions)) {
        const Intervention& first = change.front();
        if (first.kind != Intervention::Kind::Patch || first.text != text || first.position < 0) continue;
        for (int row = 0; row < static_cast<int>(rows.size()); ++row)
            if (isSamePlace(change, changeOfRow(row)))
                moves.push_back({row, first.textPosition < 0 ? first.position : first.textPosition, first.position});
    }
    cells_->setRuns(std::move(rows), std::move(other), std::move(prompt));
    cells_->setMoves(std::move(moves));
}

void ChangesPanel::patch(int row, int from, int to) {
    std::vector<Intervention> change = changeOfRow(row);
    for (Intervention& each : change) {
        each.position = to;
        each.textPosition = from;
    }
    Changes after = bench_.changes();
    std::erase_if(after.interventions, [&](const Intervention& old) { // an earlier patch of the same cell
        return std::ranges::any_of(change, [&](const Intervention& each) {
            return old.kind == each.kind && old.hook == each.hook && old.head == each.head && old.position == to;
        });
    });
    after.interventions.insert(after.interventions.end(), change.begin(), change.end());
    bench_.change(std::move(after), tr("patching a value"),
                  QStringLiteral("patch %1.%2.%3").arg(row).arg(from).arg(to));
}

} // namespace attn
