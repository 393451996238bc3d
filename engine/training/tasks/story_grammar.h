#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace attn::stories {

// The templates and words of the stories, written for this project.
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

struct Noun {
    std::string_view text;
    Pronouns pronouns = Pronouns::It; ///< They: plural
};
/// A state that someone is in, its cause and its remedy.
struct State {
    std::string_view state, cause, relief;
};
struct Weather {
    std::string_view state, capitalised, wear;
};

/// Alternative templates for one step of a story.
using Beat = std::vector<std::string_view>;

struct Plot {
    std::span<const Noun> things; ///< choices for {O} and {Q}
    std::vector<Beat> beats{};
    size_t pause = 0; ///< index of the beat before which an interlude may come; 0: none
};

std::span<const std::string_view> girlNames();
std::span<const std::string_view> boyNames();
std::span<const Noun> relatives();
std::span<const Noun> animals();
std::span<const Noun> toys();
std::span<const Noun> fragileThings();
std::span<const Noun> handmadeThings();
std::span<const Noun> crops();
std::span<const Noun> tools();
std::span<const std::string_view> colors();
std::span<const std::string_view> sizes(); ///< sizes of animals
std::span<const std::string_view> hidingPlaces();
std::span<const std::string_view> indoorPlaces();
std::span<const std::string_view> gardenPlaces();
std::span<const std::string_view> traps();
std::span<const std::string_view> destinations();
std::span<const std::string_view> homes();
std::span<const std::string_view> days();
std::span<const State> states();
std::span<const Weather> weathers();

/// Openings that tell whether A is a girl or a boy, for invented names.
const Beat& introductions();
/// Openings for names from the lists.
const Beat& openings();
const Beat& interludes();
const std::vector<Plot>& plots();

} // namespace attn::stories
