#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace attn::stories {

// The templates and words of the stories, written for this project, are in assets/stories/grammar.json.
//
// A template is a sentence or two with slots in braces. {A} is the first person, {B} the second, {AB} both; {R} and {X}
// are relatives of A, {AR} and {AX} are A and that relative; {O} and {Q} are things, {N} and {M} animals. {P}, {P2} and
// {P3} are places where things lie, {H} one in a house, {Y} one in a garden, {K} one where animals get stuck; {G} is
// somewhere to go, {L} where people live, {D} a day. {S}, {T} and {U} are states with cause and relief, {W} is the
// weather with clothes to wear. The form of a slot follows a point:
//   {A} Mia, {R} her mother, {O} the kite       {O.C} The kite, at the start of a sentence
//   {A.he} {A.him} {A.his} the pronouns         {A.He} {A.His} the same at the start of a sentence
//   {O.a} a red kite, {M.A} A small dog         {O.full} the red kite
//   {O.whole} red kite                          {O.noun} kite, {R.noun} mother, {A.kind} girl
//   {O.is} is or are                            {O.was} was or were
//   {S.state} {S.cause} {S.relief}              {W.state} {W.State} {W.wear}
// An exclamation mark, {A.he!}, marks a place where only a pronoun for this person or thing is right, given the text
// before it. Agreement is measured at these places. [one|two|three] is a random choice that is not remembered.

enum class Pronouns { She, He, They, It };

/// A word or phrase that fills a slot.
struct Word {
    std::string text;
    Pronouns pronouns = Pronouns::It; ///< of nouns; They: plural
};
/// A state that someone is in, its cause and its remedy.
struct State {
    std::string state, cause, relief;
};
struct Weather {
    std::string state, capitalised, wear;
};

/// Alternative templates for one step of a story.
using Beat = std::vector<std::string>;

struct Plot {
    std::string things; ///< name of the list of choices for {O} and {Q}
    size_t pause = 0;   ///< index of the beat before which an interlude may come; 0: none
    std::vector<Beat> beats{};
};

struct Grammar {
    std::map<std::string, std::vector<Word>, std::less<>> words; ///< by the name of their list: "girls", "toys", ...
    std::vector<State> states;
    std::vector<Weather> weathers;
    Beat introductions; ///< openings that tell whether A is a girl or a boy, for invented names
    Beat openings;      ///< for names from the lists
    Beat interludes;
    std::vector<Plot> plots;

    /// @throws std::out_of_range if there is no such list
    const std::vector<Word>& list(std::string_view name) const;
};

/// The grammar, read from its file when it is first needed.
/// @throws Error naming the file if it is missing or damaged
const Grammar& grammar();

} // namespace attn::stories
