#include "engine/data/story_writer.h"

#include "engine/core/error.h"
#include "engine/data/story_grammar.h"
#include "engine/text/byte_alphabet.h"
#include "engine/text/pre_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace attn::stories {
namespace {

using Text = std::string_view;

/// By Pronouns: the forms of he, him, his.
constexpr std::array<std::array<Text, 3>, 4> kPronouns{
    {{"she", "her", "her"}, {"he", "him", "his"}, {"they", "them", "their"}, {"it", "it", "its"}}};

std::string capitalised(Text text) {
    std::string result(text);
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') result[0] = static_cast<char>(text[0] - 'a' + 'A');
    return result;
}

/// 0 to 2 for he, him, his, capitalised or not.
std::optional<size_t> pronounForm(Text form) {
    constexpr std::array<Text, 3> kForms{"He", "Him", "His"};
    const auto found = std::ranges::find(kForms, capitalised(form));
    return found == kForms.end() ? std::nullopt : std::optional(static_cast<size_t>(found - kForms.begin()));
}

/// A person or thing that a pronoun can refer to.
struct Entity {
    std::string mention;  ///< "Mia", "her mother", "the kite"
    std::string identity; ///< held out in combination with a sentence: "Mia", "mother", "kite"
    Pronouns pronouns;
    std::string noun{}, adjective{};
    bool isInvented = false;

    std::string pronoun(size_t form) const { return std::string(kPronouns[static_cast<size_t>(pronouns)][form]); }
    std::string whole() const { return adjective + " " + noun; }
    std::string indefinite() const {
        if (pronouns == Pronouns::They) return "some " + whole();
        return (Text("aeiou").find(adjective[0]) == Text::npos ? "a " : "an ") + whole();
    }
};

/// The people, things and places of one story.
class Cast {
public:
    Cast(Draws& draws, const Plot& plot, bool isInvented);

    /// The entity of a slot; null for slots without pronouns.
    const Entity* entity(Text id) const {
        const auto found = std::ranges::find(entities_, id, &std::pair<Text, Entity>::first);
        return found == entities_.end() ? nullptr : &found->second;
    }
    /// The text of a slot that is not a pronoun.
    /// @param slot such as "A", "O.full" or "S.cause"
    std::string show(Text slot) const;

private:
    std::vector<std::pair<Text, Entity>> entities_;
    std::map<Text, std::string> phrases_; ///< by slot
};

/// A name of two or three syllables that is not a word of the stories.
std::string inventName(Draws& draws) {
    constexpr Text kConsonants = "bdfgklmnprstvz", kVowels = "aeiou";
    const auto letter = [&](Text from) {
        return from[static_cast<size_t>(draws.below(static_cast<int>(from.size())))];
    };
    for (;;) {
        std::string name;
        for (int syllables = draws.between(2, 3); syllables > 0; --syllables) {
            name += letter(kConsonants);
            name += letter(kVowels);
        }
        name = capitalised(name);
        const auto has = [&](Text list) { return std::ranges::count(grammar().list(list), name, &Word::text) > 0; };
        if (!has("girls") && !has("boys")) return name;
    }
}

const std::string& pickFrom(Draws& draws, Text list) { return draws.pick(std::span(grammar().list(list))).text; }

Entity person(Draws& draws, bool isGirl) {
    const std::string& name = pickFrom(draws, isGirl ? "girls" : "boys");
    return {.mention = name,
            .identity = name,
            .pronouns = isGirl ? Pronouns::She : Pronouns::He,
            .noun = isGirl ? "girl" : "boy"};
}

/// Fills the array with different choices.
template <size_t count, class T> std::array<T, count> pickDifferent(Draws& draws, const std::vector<T>& from) {
    std::vector<size_t> order(from.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::array<T, count> picked;
    for (size_t i = 0; i < count; ++i) {
        const int other = draws.between(static_cast<int>(i), static_cast<int>(from.size()) - 1);
        std::swap(order[i], order[static_cast<size_t>(other)]);
        picked[i] = from[order[i]];
    }
    return picked;
}

Cast::Cast(Draws& draws, const Plot& plot, bool isInvented) {
    const bool isGirl = draws.chance(0.5), areAlike = draws.chance(0.3);
    Entity first = person(draws, isGirl), second = person(draws, isGirl == areAlike);
    while (second.mention == first.mention) second = person(draws, isGirl == areAlike);
    if (isInvented) first.mention = first.identity = inventName(draws);
    first.isInvented = isInvented;

    const Grammar& all = grammar();
    const auto [relative, other] = pickDifferent<2>(draws, all.list("relatives"));
    const auto relate = [&](const Word& noun) {
        return Entity{.mention = first.pronoun(2) + " " + noun.text,
                      .identity = noun.text,
                      .pronouns = noun.pronouns,
                      .noun = noun.text};
    };
    const auto group = [&](const Entity& with) {
        const std::string both = first.mention + " and " + with.mention;
        return Entity{.mention = both, .identity = both, .pronouns = Pronouns::They};
    };
    const auto thing = [](const Word& noun, const Word& adjective) {
        return Entity{.mention = "the " + noun.text,
                      .identity = noun.text,
                      .pronouns = noun.pronouns,
                      .noun = noun.text,
                      .adjective = adjective.text};
    };
    const auto things = pickDifferent<2>(draws, all.list(plot.things));
    const auto looks = pickDifferent<2>(draws, all.list("looks"));
    const auto beasts = pickDifferent<2>(draws, all.list("animals"));
    const auto beastLooks = pickDifferent<2>(draws, all.list("sizes"));
    const Entity r = relate(relative), x = relate(other);
    entities_ = {{"A", first},
                 {"B", second},
                 {"R", r},
                 {"X", x},
                 {"AB", group(second)},
                 {"AR", group(r)},
                 {"AX", group(x)},
                 {"O", thing(things[0], looks[0])},
                 {"Q", thing(things[1], looks[1])},
                 {"N", thing(beasts[0], beastLooks[0])},
                 {"M", thing(beasts[1], beastLooks[1])}};

    const auto places = pickDifferent<3>(draws, all.list("hiding places"));
    const Weather& weather = draws.pick(std::span(all.weathers));
    phrases_ = {{"P", places[0].text},
                {"P2", places[1].text},
                {"P3", places[2].text},
                {"H", pickFrom(draws, "indoor places")},
                {"Y", pickFrom(draws, "garden places")},
                {"K", pickFrom(draws, "traps")},
                {"G", pickFrom(draws, "destinations")},
                {"L", pickFrom(draws, "homes")},
                {"D", pickFrom(draws, "days")},
                {"W.state", weather.state},
                {"W.State", weather.capitalised},
                {"W.wear", weather.wear}};
    constexpr std::array<std::array<Text, 3>, 3> kStateSlots{
        {{"S.state", "S.cause", "S.relief"}, {"T.state", "T.cause", "T.relief"}, {"U.state", "U.cause", "U.relief"}}};
    const auto picked = pickDifferent<3>(draws, all.states);
    for (size_t i = 0; i < picked.size(); ++i) {
        phrases_[kStateSlots[i][0]] = picked[i].state;
        phrases_[kStateSlots[i][1]] = picked[i].cause;
        phrases_[kStateSlots[i][2]] = picked[i].relief;
    }
}

std::string Cast::show(Text slot) const {
    if (const auto found = phrases_.find(slot); found != phrases_.end()) return found->second;
    const size_t point = std::min(slot.find('.'), slot.size());
    if (const Entity* who = entity(slot.substr(0, point))) {
        const Text form = slot.substr(std::min(point + 1, slot.size()));
        const bool isPlural = who->pronouns == Pronouns::They;
        if (form.empty()) return who->mention;
        if (form == "C") return capitalised(who->mention);
        if (form == "noun" || form == "kind") return who->noun;
        if (form == "whole") return who->whole();
        if (form == "full") return "the " + who->whole();
        if (form == "a") return who->indefinite();
        if (form == "A") return capitalised(who->indefinite());
        if (form == "is") return isPlural ? "are" : "is";
        if (form == "was") return isPlural ? "were" : "was";
    }
    throw Error({.what = fmt::format("there is no slot {{{}}}", slot),
                 .where = "stories",
                 .hint = "use a slot that story_grammar.h lists"});
}

/// The split for a person or thing in a sentence. All sentences of an invented name share one split.
Split splitOfSlot(const Entity& entity, Text sentence, size_t slot) {
    if (entity.isInvented) return splitOf(hashOf(entity.identity), 0.6);
    return splitOf(hashOf(fmt::format("{}\n{}\n{}", entity.identity, sentence, slot)), 0.9);
}

/// The text of a choice such as "one|two|three".
Text optionOf(Text choice, size_t number) {
    for (; number > 0; --number) choice.remove_prefix(choice.find('|') + 1);
    return choice.substr(0, choice.find('|'));
}
size_t optionCount(Text choice) { return static_cast<size_t>(std::ranges::count(choice, '|')) + 1; }

/// Visits the parts of a template: literal text, and the contents of {...} and [...].
template <class Literal, class Slot, class Choice>
void walk(Text sentence, const Literal& literal, const Slot& slot, const Choice& choice) {
    for (size_t at = 0; at < sentence.size();) {
        const size_t next = std::min(sentence.find_first_of("{[", at), sentence.size());
        if (next > at) literal(sentence.substr(at, next - at));
        if (next == sentence.size()) return;
        const size_t end = sentence.find(sentence[next] == '{' ? '}' : ']', next);
        const Text inside = sentence.substr(next + 1, end - next - 1);
        if (sentence[next] == '{')
            slot(inside);
        else
            choice(inside);
        at = end + 1;
    }
}

void tell(Draws& draws, const Cast& cast, Text sentence, Story& story) {
    if (!story.text.empty()) story.text += ' ';
    size_t pronouns = 0;
    const auto addSlot = [&](Text slot) {
        const bool isForced = slot.ends_with('!');
        if (isForced) slot.remove_suffix(1);
        const size_t point = std::min(slot.find('.'), slot.size());
        const Entity* entity = cast.entity(slot.substr(0, point));
        const auto form = pronounForm(slot.substr(std::min(point + 1, slot.size())));
        if (entity == nullptr || !form) {
            story.text += cast.show(slot);
            return;
        }
        if (isForced)
            story.slots.push_back({story.text.size(), splitOfSlot(*entity, sentence, pronouns), entity->isInvented});
        ++pronouns;
        const bool isCapital = slot[point + 1] == 'H';
        story.text += isCapital ? capitalised(entity->pronoun(*form)) : entity->pronoun(*form);
    };
    walk(
        sentence, [&](Text text) { story.text += text; }, addSlot,
        [&](Text choice) {
            story.text += optionOf(choice, static_cast<size_t>(draws.below(static_cast<int>(optionCount(choice)))));
        });
}

} // namespace

Story write(Draws& draws, double inventedShare) {
    const Grammar& all = grammar();
    const Plot& plot = draws.pick(std::span(all.plots));
    const bool isInvented = draws.chance(inventedShare);
    const Cast cast(draws, plot, isInvented);
    Story story;
    const auto tellOne = [&](const Beat& beat) { tell(draws, cast, draws.pick(std::span(beat)), story); };
    tellOne(isInvented || draws.chance(0.4) ? all.introductions : all.openings);
    for (size_t i = 0; i < plot.beats.size(); ++i) {
        if (i > 0 && i == plot.pause && draws.chance(0.4)) tellOne(all.interludes);
        tellOne(plot.beats[i]);
    }
    return story;
}

std::vector<std::string> letters() {
    std::vector<std::string> letters{" "};
    for (char letter = 'A'; letter <= 'Z'; ++letter) letters.emplace_back(1, letter);
    for (char letter = 'a'; letter <= 'z'; ++letter) letters.emplace_back(1, letter);
    return letters;
}

std::vector<std::string> vocabulary() {
    constexpr Text kSlot = "Zzz"; // replaces the text of a slot; occurs in no word
    const PreTokenizer cutter = PreTokenizer::byteLevel(true);
    std::set<std::string> words;
    const auto add = [&](Text text) {
        for (const AlignedText& piece : cutter.apply(AlignedText(text, 0))) {
            const std::string word = fromByteAlphabet(piece.text()).value();
            if (word.find(kSlot) == std::string::npos && word != " ") words.insert(word);
        }
    };
    const auto addBeat = [&](const Beat& beat) {
        for (const Text sentence : beat) {
            size_t most = 1;
            walk(
                sentence, [](Text) {}, [](Text) {}, [&](Text choice) { most = std::max(most, optionCount(choice)); });
            for (size_t option = 0; option < most; ++option) {
                std::string text;
                walk(
                    sentence, [&](Text literal) { text += literal; }, [&](Text) { text += kSlot; },
                    [&](Text choice) { text += optionOf(choice, std::min(option, optionCount(choice) - 1)); });
                add(text);
            }
        }
    };
    const Grammar& all = grammar();
    addBeat(all.introductions);
    addBeat(all.openings);
    addBeat(all.interludes);
    for (const Plot& plot : all.plots)
        for (const Beat& beat : plot.beats) addBeat(beat);

    for (const auto& [name, list] : all.words)
        for (const Word& word : list) add(word.text);
    for (const State& state : all.states)
        for (const auto& text : {state.state, state.cause, state.relief}) add(text);
    for (const Weather& weather : all.weathers)
        for (const auto& text : {weather.state, weather.capitalised, weather.wear}) add(text);
    add("she he they it her him them his their She He Her His");
    add("the The a A an An some Some and is are was were girl boy");
    for (const std::string& letter : letters()) words.erase(letter);
    return {words.begin(), words.end()};
}

} // namespace attn::stories
