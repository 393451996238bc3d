#pragma once

#include <QString>
#include <QWidget>

#include <map>
#include <vector>

class QLabel;
class QVBoxLayout;

namespace attn {

/// What can be asked of a job with a button.
enum class JobButton : uint8_t { Pause, Continue, Stop, Show };

/// A job as the list shows it.
struct JobRow {
    QString key;    ///< stays the same while the job lasts
    QString title;  ///< "Train sort"
    QString detail; ///< "Running · step 12 of 400 · 3 min left"
    double fraction = -1;
    std::vector<JobButton> buttons; ///< in their order
    bool isLocked = false;          ///< only Show works
    bool operator==(const JobRow&) const = default;
};

/// A list of jobs with their buttons. Rows that stay keep their widgets, so a button keeps the focus while numbers
/// change.
class JobsView : public QWidget {
    Q_OBJECT

public:
    explicit JobsView(QWidget* parent = nullptr);

    void setRows(const std::vector<JobRow>& rows);
    /// A sentence above the list; empty: none.
    void setRemark(const QString& remark);

signals:
    void pressed(const QString& key, attn::JobButton button);

private:
    class Row;
    QLabel* remark_;
    QVBoxLayout* column_;
    std::map<QString, Row*> rows_;
};

} // namespace attn
