#include "engine/data/story_writer.h"
#include "tests/training/tasks_test.h"

#include <regex>

using namespace attn;

namespace {

/// Stories of a training run, cut at the end-of-text tokens; the last of each row is cut off.
std::vector<std::string> storiesOf(const TaskInstance& task, Split split, int rows) {
    std::vector<std::string> stories;
    const Batch batch = task.batch(split, 0, rows);
    const int end = task.tokenizer().endId().value();
    for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
        std::vector<int> tokens;
        for (size_t i = 0; i < static_cast<size_t>(batch.width("targets")); ++i) {
            const int token = batch["inputs"][row * static_cast<size_t>(batch.width("targets")) + i];
            if (token == end) {
                if (!tokens.empty()) stories.push_back(task.tokenizer().decode(tokens, true));
                tokens.clear();
            } else {
                tokens.push_back(token);
            }
        }
    }
    return stories;
}

const std::vector<std::string>& trainedStories() {
    static const std::vector<std::string> kStories =
        storiesOf(*test::task("stories", {{"context", 1024}}), Split::Train, 700);
    return kStories;
}

/// Calls back for every match in every story; returns how many there were.
int forMatches(const std::string& pattern, const std::function<void(const std::smatch&)>& check) {
    int count = 0;
    const std::regex regex(pattern);
    for (const std::string& story : trainedStories())
        for (std::sregex_iterator match(story.begin(), story.end(), regex); match != std::sregex_iterator(); ++match) {
            CAPTURE(match->str());
            check(*match);
            ++count;
        }
    return count;
}

const std::set<std::string> kGirls{"Mia",   "Anna",  "Lily",  "Emma",  "Clara", "Nora",  "Ella",  "Ruth",
                                   "Alice", "Rosa",  "Maya",  "Ida",   "Julia", "Lucy",  "Sara",  "Hanna",
                                   "Marta", "Greta", "Olga",  "Vera",  "Iris",  "Amina", "Leila", "Priya",
                                   "Mei",   "Yuki",  "Sofia", "Elena", "Zoe",   "Ines",  "Freya", "Tara"};
const std::set<std::string> kBoys{"Tom",   "Ben",   "Max",   "Leo",  "Paul",  "Jack",  "Sam",  "Finn",
                                  "Oscar", "Peter", "Hugo",  "Noah", "Emil",  "Anton", "Karl", "Luca",
                                  "Marco", "Pedro", "Omar",  "Ali",  "Ravi",  "Kenji", "Ivan", "Boris",
                                  "Adam",  "David", "Felix", "Otto", "Jonas", "Simon", "Theo", "Erik"};
const std::set<std::string> kWomen{"mother", "sister", "grandmother", "aunt"};

bool isKnown(const std::string& name) { return kGirls.contains(name) || kBoys.contains(name); }
bool isPlural(const std::string& noun) { return noun == "mice" || (noun.ends_with('s') && !noun.ends_with("ss")); }

} // namespace

TEST_CASE("stories: pronouns agree with the person that the sentence is about", "[training]") {
    const auto agrees = [](const std::smatch& match) {
        const std::string name = match[1];
        if (isKnown(name))
            CHECK(kGirls.contains(name) == (match[2] == "she" || match[2] == "her" || match[2] == "She"));
    };
    // The second pattern has another person between the two.
    CHECK(forMatches("([A-Z][a-z]+) was [a-z]+, because (he|she) had", agrees) > 300);
    CHECK(forMatches("([A-Z][a-z]+) told [A-Z][a-z]+ that (he|she) had lost", agrees) > 10);
    CHECK(forMatches("([A-Z][a-z]+) hid the [a-z]+ behind (her|his) back", agrees) > 10);
    CHECK(forMatches("([A-Z][a-z]+) promised that (he|she) would", agrees) > 10);
    CHECK(forMatches("([A-Z][a-z]+) closed (her|his) eyes", agrees) > 50);
    CHECK(forMatches("thanked ([A-Z][a-z]+) and gave (her|him)", agrees) > 10);
    CHECK(forMatches("([A-Z][a-z]+) searched [a-z ]+, but (he|she) was not there", [](const std::smatch&) {}) > 30);
    // Who has a name made up on the spot is introduced as a girl or a boy.
    int invented = 0;
    forMatches("(girl|boy) named ([A-Z][a-z]+)\\. (He|She) lived", [&](const std::smatch& match) {
        CHECK((match[1] == "girl") == (match[3] == "She"));
        if (isKnown(match[2]))
            CHECK(kGirls.contains(match[2]) == (match[1] == "girl"));
        else
            ++invented;
    });
    CHECK(invented > 30);
}

TEST_CASE("stories: pronouns and verbs agree with relatives, things, animals and groups", "[training]") {
    const auto woman = [](const std::smatch& match) {
        CHECK(kWomen.contains(match[1]) == (match[2] == "she" || match[2] == "her"));
    };
    CHECK(forMatches("[Hh](?:er|is) ([a-z]+) opened (her|his) bag", woman) > 10);
    CHECK(forMatches("[Hh](?:er|is) ([a-z]+) was not angry, for (he|she) saw", woman) > 10);
    CHECK(forMatches("asked (?:her|his) ([a-z]+), \"May I keep (?:it|them)\\?\" And (he|she) said", woman) > 10);
    const auto number = [](const std::smatch& match) {
        const std::string verb = match[2];
        CHECK(isPlural(match[1]) == (verb == "were" || verb == "are" || verb == "they" || verb == "them"));
    };
    CHECK(forMatches("[Tt]he ([a-z]+) (was|were) (?:gone|missing|ready|more afraid)", number) > 100);
    CHECK(forMatches("lost (?:her|his) [a-z]+ ([a-z]+)\\.", [](const std::smatch&) {}) > 10);
    CHECK(forMatches("took the ([a-z]+) home, washed (it|them)", number) > 10);
    CHECK(forMatches("wrapped the ([a-z]+) in paper and brought (it|them)", number) > 10);
    CHECK(forMatches("At last the ([a-z]+) was ready\\. [A-Z][a-z]+ wrapped (it|them)", number) > 10);
    CHECK(forMatches("[A-Z][a-z]+ and (?:her|his) friend [A-Z][a-z]+ lived [a-z ]+, and (they) did",
                     [](const auto&) {}) > 50);
    // "a" and "an" stand before one thing, "some" before several.
    forMatches(" (a|an|some) (?:red|blue|green|old|yellow|tiny|gray|golden) ([a-z]+)",
               [](const std::smatch& match) { CHECK(isPlural(match[2]) == (match[1] == "some")); });
}

TEST_CASE("stories: places, days and belongings stay what they were", "[training]") {
    const auto agrees = [](const std::smatch& match) { CHECK(match[1] == match[2]); };
    CHECK(forMatches("I saw (?:it|them) ([a-z ]+?)(?: this morning| an hour ago| yesterday)?\\.\"[^.]*? look ([a-z ]+?)"
                     "(?:, and there|\\.)",
                     agrees) > 20);
    CHECK(forMatches("hid (?:the pieces|them) ([a-z ]+?)(?:\\.| and told).*?[Tt]he pieces (?:are|were) ([a-z ]+?)\\.",
                     agrees) > 20);
    CHECK(forMatches("would come on ([A-Z][a-z]+day)\\.[^.]*?(?:\\.[^.]*?)?(?:On|When) ([A-Z][a-z]+day)", agrees) > 5);
    CHECK(forMatches("found the? ?[a-z]+ lying|found an? ([a-z]+ [a-z]+) lying [^.?]*", [](const auto&) {}) > 5);
    const auto crosses = [](const std::smatch& match) {
        CHECK(match[1] == match[4]);
        CHECK(match[2] == match[3]);
    };
    CHECK(
        forMatches(
            "had (?:a|an|some) ([a-z]+ [a-z]+), and (?:her|his) friend [A-Z][a-z]+ had (?:a|an|some) ([a-z]+ [a-z]+)\\."
            ".*?Now [A-Z][a-z]+ had the ([a-z]+ [a-z]+), and [A-Z][a-z]+ had the ([a-z]+ [a-z]+)\\.",
            crosses) > 3);
}

TEST_CASE("stories: the vocabulary is small, closed and in use; letters spell nothing but invented names",
          "[training]") {
    const auto task = test::task("stories");
    const Tokenizer& tokenizer = task->tokenizer();
    CHECK(task->vocabularySize() < 1500);
    const int unknown = tokenizer.idOf("<unk>").value();
    const auto letters = static_cast<int>(stories::letters().size());
    std::set<int> used;
    // The ids that are trained on are the tokenizer's.
    const Batch batch = task->batch(Split::Train, 0, 50);
    for (auto row = batch["inputs"].begin(); row != batch["inputs"].end(); row += batch.width("targets")) {
        std::vector<int> ids(row + 1, std::find(row + 1, row + batch.width("targets"), row[0]));
        CHECK(tokenizer.encode(tokenizer.decode(ids, true), false).ids == ids);
        ids.insert(ids.begin(), row[0]); // a story that a person types begins like those
        CHECK(tokenizer.encode(tokenizer.decode(ids, true)).ids == ids);
    }
    for (const std::string& story : trainedStories()) {
        CAPTURE(story);
        for (const int id : tokenizer.encode(story, false).ids) {
            CHECK(id != unknown);
            used.insert(id);
        }
    }
    std::string unused;
    for (int id = 2 + letters; id < task->vocabularySize(); ++id)
        if (!used.contains(id)) unused += tokenizer.tokenText(id);
    CHECK(unused == "");

    const auto plain = test::task("stories", {{"invented", 0}});
    for (const std::string& story : storiesOf(*plain, Split::Train, 100))
        for (const int id : tokenizer.encode(story, false).ids)
            CHECK((id >= 2 + letters || tokenizer.tokenText(id) == "I"));
    // Any other word is spelt or unknown, never an error.
    CHECK(tokenizer.decode(tokenizer.encode("Zimo saw the kite.").ids, true) == " Zimo saw the kite.");
    CHECK(tokenizer.encode("é").ids.back() == unknown);
}

TEST_CASE("stories: they hardly repeat and mostly fit into a row", "[training]") {
    std::set<std::string> different(trainedStories().begin(), trainedStories().end());
    CHECK(trainedStories().size() > 4000);
    CHECK(static_cast<double>(different.size()) > 0.999 * static_cast<double>(trainedStories().size()));
    const auto task = test::task("stories");
    const auto isShort = [&](const std::string& story) {
        return static_cast<int>(task->tokenizer().encode(story).ids.size()) < task->contextLength();
    };
    CHECK(static_cast<double>(std::ranges::count_if(trainedStories(), isShort)) >
          0.8 * static_cast<double>(trainedStories().size()));
    for (const std::string& story : storiesOf(*task, Split::Validation, 300)) CHECK_FALSE(different.contains(story));
}

TEST_CASE("stories: examples ask for a pronoun, in combinations that are never trained on", "[training]") {
    const auto task = test::task("stories");
    const std::set<std::string> pronouns{"he",    "she", "they", "it",  "him",  "her", "them", "his",
                                         "their", "its", "He",   "She", "They", "His", "Her"};
    std::map<std::string, int> answers;
    std::set<std::string> asked, askedInvented;
    const std::regex promise("([A-Z][a-z]+) promised that$"), introduction("named ([A-Z][a-z]+)\\.$");
    for (const Split split : {Split::Validation, Split::Test})
        for (uint64_t i = 0; i < 2500; ++i) {
            const Example example = task->example(split, i);
            REQUIRE(example.answer.size() == 1);
            CHECK(example.prompt.size() <= static_cast<size_t>(task->contextLength()));
            const std::string answer = task->tokenizer().tokenText(example.answer[0]).substr(1);
            CHECK(pronouns.contains(answer));
            ++answers[answer];
            const std::string prompt = task->tokenizer().decode(example.prompt, true);
            std::smatch match;
            if (std::regex_search(prompt, match, promise) && isKnown(match[1])) asked.insert(match[1]);
            if (std::regex_search(prompt, match, introduction) && !isKnown(match[1])) askedInvented.insert(match[1]);
        }
    for (const char* pronoun : {"he", "she", "they", "it", "him", "her", "them", "his"}) CHECK(answers[pronoun] > 50);

    CHECK(asked.size() > 3);
    int promises = 0;
    promises += forMatches("([A-Z][a-z]+) promised that",
                           [&](const std::smatch& match) { CHECK_FALSE(asked.contains(match[1])); });
    CHECK(promises > 20);
    CHECK(askedInvented.size() > 50);
    forMatches("named ([A-Z][a-z]+)", [&](const std::smatch& match) { CHECK_FALSE(askedInvented.contains(match[1])); });
}
