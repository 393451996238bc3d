#pragma once

#include "engine/core/param.h"
#include "engine/training/recipe.h"

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace attn {

/// A value that a field of a recipe can have.
struct RecipeChoice {
    std::string_view id;
    std::string title;
    std::string help{}; ///< several lines; empty: none
};

/// A field in memory.
using RecipeSlot = std::variant<bool*, int*, int64_t*, uint64_t*, double*, std::string*, std::filesystem::path*,
                                Optimiser::Kind*, Schedule::Kind*, DType*>;
/// A field's value as a file or a form has it: Toggle has bool, Real and Whole have double, the others text.
using RecipeValue = std::variant<bool, double, std::string>;

/// A field of a recipe. recipe.json, the command line, the form in the window and the checks are made from the table of
/// fields; a new one is a member of Recipe and a line here.
struct RecipeField {
    enum class Kind : uint8_t { Text, Path, Choice, Real, Whole, Toggle };
    /// The part of a form that shows the field.
    enum class Section : uint8_t { Task, Start, Model, Training };

    std::string_view id;     ///< in recipe.json
    std::string_view option; ///< "--lr X". A toggle that begins with "--no-" sets false. Empty: files alone have it
    std::string_view title;  ///< title of its control. Empty: the form has none, or one of its own
    std::string_view help;   ///< begins with a lower-case letter
    Kind kind = Kind::Text;
    Section section = Section::Task;
    RecipeSlot (*slot)(Recipe& recipe);
    double minimum = 0, maximum = 0;     ///< of numbers
    double step = 1;                     ///< step of a control
    double usualMaximum = 0;             ///< the end of a slider; 0: `maximum`
    std::vector<RecipeChoice> choices{}; ///< of Choice: the values. Of Text: those that a form offers
    std::string_view values{};           ///< after `help` on the command line: how values are written
    std::string_view uses{};             ///< the families, tasks or choices that use the field: "gpt2". Empty: all
    bool (*appliesTo)(const Task& task) = nullptr; ///< forms hide it for other tasks; null: it applies to all
    /// Whether it changes anything beside the other choices; forms grey it where not. Null: it always does.
    bool (*matters)(const Recipe& recipe) = nullptr;
    /// Whether it describes a model, except its attention. In the file of a recipe that starts from a model, the field
    /// is absent unless the recipe demands it.
    bool describesModel = false;

    /// Whether the task reads it and it matters beside the other choices.
    bool changesSomething(const Recipe& recipe) const;
    RecipeValue value(const Recipe& recipe) const;
    /// @throws Error naming the field if the value is of another type, not whole, or no known choice
    void set(Recipe& recipe, const RecipeValue& value) const;
    /// Checks the range of a number and the id of a choice. @throws Error naming the field and its valid values
    void check(const Recipe& recipe) const;
    bool isNumber() const { return kind == Kind::Real || kind == Kind::Whole; }
    /// The control of a number or toggle.
    Param param() const;
};

/// The fields of a form as JSON, whether or not they can be trained together.
std::string draftToText(const Recipe& recipe);
/// Reads them. @throws Error for a task or a field that is unknown, or a value of another type
Recipe draftFromText(const std::string& text);

/// All fields but "values", which holds the parameters of the task.
std::span<const RecipeField> recipeFields();
/// The options that a person has given and that change nothing, each with the reason. @param given ids of fields
/// @throws Error if the option names data that the task does not read
std::vector<std::string> idleOptions(const Recipe& recipe, const std::set<std::string>& given);
/// The field with an id; null: there is none.
const RecipeField* findRecipeField(std::string_view id);

} // namespace attn
