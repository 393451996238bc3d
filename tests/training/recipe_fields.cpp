#include "engine/training/recipe_fields.h"
#include "engine/models/trainable_family.h"
#include "engine/training/tasks/catalogue.h"
#include "tests/training/tasks_test.h"

#include <nlohmann/json.hpp>

#include <cctype>
#include <set>

using namespace attn;

namespace {

/// A valid value of a field that the usual recipe does not have.
RecipeValue otherValue(const RecipeField& field) {
    const RecipeValue usual = field.value(Recipe{});
    if (const bool* on = std::get_if<bool>(&usual)) return !*on;
    if (const double* number = std::get_if<double>(&usual))
        return *number == field.maximum                ? field.minimum
               : field.kind == RecipeField::Kind::Real ? field.maximum
                                                       : *number + 1;
    if (field.kind != RecipeField::Kind::Choice) return "x" + std::get<std::string>(usual);
    for (const RecipeChoice& choice : field.choices)
        if (choice.id != std::get<std::string>(usual)) return std::string(choice.id);
    FAIL("a field with one choice");
    return {};
}

} // namespace

TEST_CASE("recipe fields: each is written to JSON and read from it", "[training]") {
    std::set<std::string_view> ids, options;
    int filesRead = 0;
    for (const RecipeField& field : recipeFields()) {
        INFO(field.id);
        CHECK(ids.insert(field.id).second);
        CHECK((field.option.empty() || options.insert(field.option.substr(0, field.option.find(' '))).second));
        REQUIRE_FALSE(field.help.empty());
        CHECK(std::islower(static_cast<unsigned char>(field.help.front())));
        Recipe recipe;
        field.set(recipe, otherValue(field));
        CHECK(field.value(recipe) == otherValue(field));
        CHECK_FALSE(recipe == Recipe{}); // it is a member that no other field names
        for (const RecipeField& other : recipeFields())
            if (other.id != field.id) CHECK(other.value(recipe) == other.value(Recipe{}));
        const nlohmann::json json = toJson(recipe);
        REQUIRE(json.contains(field.id));
        std::visit([&](const auto& value) { CHECK(json.at(field.id) == nlohmann::json(value)); }, field.value(recipe));
        try {
            const Recipe read = recipeFromJson({{std::string(field.id), json.at(field.id)}}, "x");
            ++filesRead;
            CHECK(read == recipe);
        } catch (const Error&) { // the other fields of the usual recipe do not go with this one
        }
    }
    CHECK(filesRead > 35);
}

TEST_CASE("recipe fields: numbers beyond their ranges are refused by name", "[training]") {
    for (const RecipeField& field : recipeFields()) {
        if (!field.isNumber()) continue;
        INFO(field.id);
        CHECK_NOTHROW(field.check(Recipe{}));
        for (const double number : {field.minimum - 1, field.maximum + (field.maximum < 1e14 ? 1 : 1e16)}) {
            nlohmann::json json = toJson(Recipe{});
            json[field.id] = number;
            CHECK_THROWS_WITH(recipeFromJson(json, "r.json"), CONTAINS("recipe: " + std::string(field.id)));
        }
    }
}

TEST_CASE("recipe: each task suggests a recipe that can be trained", "[training]") {
    for (const Task* task : taskCatalogue()) {
        INFO(task->id);
        const Recipe recipe = suggestedRecipe(*task);
        CHECK_NOTHROW(check(recipe));
        CHECK(recipeFromJson(toJson(recipe), "x") == recipe);
        CHECK(std::ranges::count(familiesFor(*task), recipe.architecture.family) == 1);
    }
}

TEST_CASE("recipe: every family can learn a task, and says which fields it cannot have", "[training]") {
    for (const TrainableFamily* family : trainableFamilies()) {
        INFO(family->id);
        const auto learns = [&](const Task* task) { return std::ranges::count(familiesFor(*task), family->id) > 0; };
        const auto task = std::ranges::find_if(taskCatalogue(), learns);
        REQUIRE(task != taskCatalogue().end());
        Recipe recipe = suggestedRecipe(**task);
        recipe.architecture.family = family->id;
        CHECK_NOTHROW(check(recipe));
        const auto refuses = [&](auto change, const char* field) {
            Recipe changed = recipe;
            changed.architecture.attention.clear();
            change(changed.architecture);
            CHECK_THROWS_WITH(check(changed), CONTAINS(field));
        };
        if (!family->mayLackBiases) refuses([](Architecture& a) { a.bias = false; }, "recipe: bias");
        if (!family->mayLackMlps) refuses([](Architecture& a) { a.attentionOnly = true; }, "recipe: attention_only");
        if (!family->hasKeyValueHeads) refuses([](Architecture& a) { a.keyValueHeads = 1; }, "recipe: key_value_heads");
        if (!family->composes) refuses([](Architecture& a) { a.attention = "position=alibi"; }, "recipe: attention");
        if (family->positions.size() < 3)
            refuses([](Architecture& a) { a.positions = "sinusoidal"; }, "recipe: positions");
    }
}

TEST_CASE("recipe: survives JSON and refuses what cannot be run", "[training]") {
    Recipe recipe;
    recipe.settings.values["digits"] = 5;
    recipe.optimiser.kind = Optimiser::Kind::Sgd;
    recipe.schedule.kind = Schedule::Kind::Linear;
    CHECK(recipeFromJson(toJson(recipe), "x") == recipe);
    const auto refuses = [](nlohmann::json fields, const char* message) {
        CHECK_THROWS_WITH(recipeFromJson(fields, "r.json"), CONTAINS(message));
    };
    refuses({{"widht", 3}}, "r.json: has the unknown field \"widht\"");
    refuses({{"width", "wide"}}, "\"width\" is string but must be number");
    refuses({{"width", 30}, {"heads", 4}}, "30 cannot be divided into 4 heads");
    refuses({{"layers", 0}}, "is 0 but must be from 1 to 96");
    refuses({{"layers", 1.5}}, "must be a whole number");
    refuses({{"optimiser", "lion"}}, "choose one of: adamw, adam, sgd");
    refuses({{"batch", 10}, {"accumulation", 3}}, "cannot be divided into 3 equal parts");
    refuses({{"family", "bert"}}, "choose gpt2 or llama");
    refuses({{"family", "llama"}, {"heads", 4}, {"key_value_heads", 3}}, "3 does not divide 4 heads");
    refuses(nlohmann::json::array(), "must be a JSON object");
}
