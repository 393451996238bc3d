#pragma once

#include "app/lab/bridge/background_task.h"
#include "engine/training/recipe_fields.h"

#include <QFileSystemWatcher>
#include <QTimer>
#include <QWidget>

#include <optional>
#include <string>

class QComboBox;
class QLabel;
class QLineEdit;
class QVBoxLayout;

namespace attn {

class ParamControls;
class SpecLine;

/// A form with every field of a recipe: the task and its parameters, the model, and the training.
class RecipeForm : public QWidget {
    Q_OBJECT

public:
    explicit RecipeForm(QWidget* parent = nullptr);
    ~RecipeForm() override;

    /// @return the recipe; none if the fields contradict each other (the form then shows the reason)
    const std::optional<Recipe>& recipe() const { return recipe_; }
    const Recipe& draft() const { return draft_; } ///< the content of the fields, valid or not
    /// The draft as the JSON of a recipe.
    QString save() const;
    /// Restores the result of save(). Ignores any other text.
    void restore(const QString& saved);
    /// @return the reason why there is no recipe; empty if there is one, or if the line of attention shows the reason
    QString problem() const;
    /// @return which data of the recipe are not there or cannot be read, as a sentence; empty: none
    const QString& unreadable() const { return unreadable_; }
    void setRecipe(const Recipe& recipe);
    void chooseTask(int index); ///< of taskCatalogue()
    /// Whether the task learns from a text or from pictures, and a file or a folder may be that.
    bool takes(const QString& path) const;
    void take(const QString& path); ///< learns from it
    /// The task with its data, which is placed above the Train button. The form contains the rest.
    QWidget* task() const { return taskPart_; }

signals:
    void changed();

private:
    struct Choice {
        const RecipeField* field;
        QComboBox* box;
    };

    QWidget* makeTask();
    void listTasks();        ///< by kind
    QWidget* makeSettings(); ///< of the task, and the model to start from
    QWidget* makeModel();
    QWidget* makeSection(const QString& title, const char* name, RecipeField::Section section, ParamControls* controls,
                         QWidget* note = nullptr);
    QComboBox* makeChoice(const RecipeField& field);
    void choosePath(const QString& title, const char* field, QLineEdit* line);
    QWidget* makePathRow(QLineEdit*& line, const char* field, const QString& title, const QString& help);
    QWidget* makeLanguages();
    void makeTaskControls();
    void showFamilies(const Task& task);
    void show();
    void showPrecision(); ///< the card of the chosen precision; none for f32
    void set(std::string_view id, const RecipeValue& value);
    void watchData(); ///< reads it again when it has changed
    QString unreadableData() const;
    void lookForData();           ///< sets what unreadable() returns
    void warnOfUnknown();         ///< if the model's tokens cannot write the text; on another thread
    void greyUnused();            ///< disables controls without effect
    void settle();                ///< reads the recipe from the fields
    bool startsFromModel() const; ///< that model determines the architecture
    /// Checks the line of attention. @return whether it can be trained
    bool settleAttention();

    Recipe draft_;
    std::optional<Recipe> recipe_;
    QString unreadable_;
    QWidget* taskPart_;
    QComboBox* task_;
    QLabel *summary_, *problem_, *warning_, *precisionCard_;
    QVBoxLayout* taskColumn_;
    ParamControls *taskControls_ = nullptr, *modelControls_, *adapterControls_, *trainingControls_;
    QWidget *from_, *text_, *data_, *model_, *translation_, *languages_; ///< model_: without the line of attention
    QLineEdit *fromPath_, *textPath_, *dataPath_, *translationPath_;
    QComboBox *trained_, *fromLanguage_, *toLanguage_;
    SpecLine* attention_;
    std::vector<Choice> choices_;
    Recipe warned_;              ///< the recipe to which the warning belongs
    QFileSystemWatcher watcher_; ///< of what the recipe learns from
    QTimer changed_;             ///< since it has changed
    quint64 stamp_ = 0;          ///< of the pictures that were read
    BackgroundTask reading_, stamping_;
};

} // namespace attn
