#include "engine/training/tasks/story_grammar.h"

#include <array>

namespace attn::stories {

using enum Pronouns;
using Text = std::string_view;

std::span<const Text> girlNames() {
    static constexpr std::array<Text, 32> kNames{"Mia",   "Anna",  "Lily",  "Emma",  "Clara", "Nora",  "Ella",  "Ruth",
                                                 "Alice", "Rosa",  "Maya",  "Ida",   "Julia", "Lucy",  "Sara",  "Hanna",
                                                 "Marta", "Greta", "Olga",  "Vera",  "Iris",  "Amina", "Leila", "Priya",
                                                 "Mei",   "Yuki",  "Sofia", "Elena", "Zoe",   "Ines",  "Freya", "Tara"};
    return kNames;
}

std::span<const Text> boyNames() {
    static constexpr std::array<Text, 32> kNames{"Tom",   "Ben",   "Max",   "Leo",  "Paul",  "Jack",  "Sam",  "Finn",
                                                 "Oscar", "Peter", "Hugo",  "Noah", "Emil",  "Anton", "Karl", "Luca",
                                                 "Marco", "Pedro", "Omar",  "Ali",  "Ravi",  "Kenji", "Ivan", "Boris",
                                                 "Adam",  "David", "Felix", "Otto", "Jonas", "Simon", "Theo", "Erik"};
    return kNames;
}

std::span<const Noun> relatives() {
    static constexpr std::array<Noun, 8> kNouns{{{"mother", She},
                                                 {"father", He},
                                                 {"sister", She},
                                                 {"brother", He},
                                                 {"grandmother", She},
                                                 {"grandfather", He},
                                                 {"aunt", She},
                                                 {"uncle", He}}};
    return kNouns;
}

std::span<const Noun> animals() {
    static constexpr std::array<Noun, 14> kNouns{{{"dog"},
                                                  {"cat"},
                                                  {"rabbit"},
                                                  {"duck"},
                                                  {"goat"},
                                                  {"lamb"},
                                                  {"fox"},
                                                  {"owl"},
                                                  {"hedgehog"},
                                                  {"squirrel"},
                                                  {"kittens", They},
                                                  {"puppies", They},
                                                  {"birds", They},
                                                  {"mice", They}}};
    return kNouns;
}

std::span<const Noun> toys() {
    static constexpr std::array<Noun, 24> kNouns{
        {{"kite"},          {"ball"},        {"doll"},       {"drum"},          {"book"},          {"hat"},
         {"whistle"},       {"boat"},        {"bell"},       {"ring"},          {"knife"},         {"bracelet"},
         {"compass"},       {"puppet"},      {"umbrella"},   {"boots", They},   {"gloves", They},  {"marbles", They},
         {"pencils", They}, {"shoes", They}, {"keys", They}, {"ribbons", They}, {"buttons", They}, {"cards", They}}};
    return kNouns;
}

std::span<const Noun> fragileThings() {
    static constexpr std::array<Noun, 12> kNouns{{{"vase"},
                                                  {"cup"},
                                                  {"lamp"},
                                                  {"clock"},
                                                  {"bowl"},
                                                  {"mirror"},
                                                  {"jug"},
                                                  {"violin"},
                                                  {"plates", They},
                                                  {"glasses", They},
                                                  {"tiles", They},
                                                  {"bottles", They}}};
    return kNouns;
}

std::span<const Noun> handmadeThings() {
    static constexpr std::array<Noun, 12> kNouns{{{"scarf"},
                                                  {"basket"},
                                                  {"box"},
                                                  {"lantern"},
                                                  {"blanket"},
                                                  {"chair"},
                                                  {"pillow"},
                                                  {"sweater"},
                                                  {"socks", They},
                                                  {"mittens", They},
                                                  {"candles", They},
                                                  {"slippers", They}}};
    return kNouns;
}

std::span<const Noun> crops() {
    static constexpr std::array<Noun, 10> kNouns{{{"pumpkin"},
                                                  {"melon"},
                                                  {"cabbage"},
                                                  {"rose"},
                                                  {"sunflower"},
                                                  {"carrots", They},
                                                  {"beans", They},
                                                  {"tulips", They},
                                                  {"radishes", They},
                                                  {"strawberries", They}}};
    return kNouns;
}

std::span<const Noun> tools() {
    static constexpr std::array<Noun, 8> kNouns{
        {{"rope"}, {"ladder"}, {"net"}, {"bucket"}, {"plank"}, {"shovel"}, {"sheets", They}, {"poles", They}}};
    return kNouns;
}

std::span<const Text> colors() {
    static constexpr std::array<Text, 16> kWords{"red",   "blue",   "green",  "yellow", "white", "black",
                                                 "brown", "golden", "silver", "purple", "old",   "new",
                                                 "tiny",  "large",  "pretty", "gray"};
    return kWords;
}

std::span<const Text> sizes() {
    static constexpr std::array<Text, 6> kWords{"small", "young", "thin", "frightened", "hungry", "wet"};
    return kWords;
}

std::span<const Text> hidingPlaces() {
    static constexpr std::array<Text, 20> kPlaces{
        "under the bed",       "behind the gate",    "in the barn",          "on the roof",      "next to the well",
        "under the bridge",    "behind the curtain", "in the attic",         "under the stairs", "in the cellar",
        "behind the oak tree", "near the pond",      "on the kitchen table", "under the bench",  "in the wheelbarrow",
        "behind the stove",    "in the tall grass",  "on the wall",          "in the cupboard",  "by the fountain"};
    return kPlaces;
}

std::span<const Text> indoorPlaces() {
    static constexpr std::array<Text, 10> kPlaces{
        "under the bed",    "behind the curtain", "in the attic",    "under the stairs", "in the cellar",
        "behind the stove", "in the cupboard",    "behind the door", "on the balcony",   "in the laundry room"};
    return kPlaces;
}

std::span<const Text> gardenPlaces() {
    static constexpr std::array<Text, 8> kPlaces{"next to the well", "near the pond",   "behind the barn",
                                                 "by the fence",     "beside the path", "under the window",
                                                 "next to the shed", "along the hedge"};
    return kPlaces;
}

std::span<const Text> traps() {
    static constexpr std::array<Text, 8> kPlaces{
        "in a deep hole",      "in a tall tree",   "under a fallen branch", "on a small island",
        "behind a high fence", "in an empty well", "between two big rocks", "on a narrow ledge"};
    return kPlaces;
}

std::span<const Text> destinations() {
    static constexpr std::array<Text, 16> kPlaces{"the market",     "the river",   "the school",  "the library",
                                                  "the beach",      "the mill",    "the forest",  "the lake",
                                                  "the lighthouse", "the castle",  "the harbor",  "the bakery",
                                                  "the meadow",     "the orchard", "the theater", "the village square"};
    return kPlaces;
}

std::span<const Text> homes() {
    static constexpr std::array<Text, 10> kPlaces{
        "by the sea",        "near a dark forest",  "in a small village", "at the edge of the town",
        "on a green hill",   "beside a wide river", "in a narrow street", "next to an old windmill",
        "in a quiet valley", "above a little shop"};
    return kPlaces;
}

std::span<const Text> days() {
    static constexpr std::array<Text, 7> kDays{"Monday", "Tuesday",  "Wednesday", "Thursday",
                                               "Friday", "Saturday", "Sunday"};
    return kDays;
}

std::span<const State> states() {
    static constexpr std::array<State, 10> kStates{{
        {"hungry", "had eaten nothing since breakfast", "ate some bread and cheese"},
        {"thirsty", "had run the whole way", "drank some cold water"},
        {"tired", "had worked since sunrise", "rested on a bench"},
        {"sleepy", "had been awake all night", "took a short nap"},
        {"wet", "had fallen into a ditch", "sat down by a fire"},
        {"cold", "had waited in the wind", "drank some hot tea"},
        {"dirty", "had crawled through the mud", "washed in a stream"},
        {"bored", "had nothing to do", "sang a song"},
        {"nervous", "had heard a strange noise", "took a deep breath"},
        {"late", "had taken the wrong path", "began to run"},
    }};
    return kStates;
}

std::span<const Weather> weathers() {
    static constexpr std::array<Weather, 6> kWeathers{{
        {"it was raining", "It was raining", "raincoat"},
        {"it was snowing", "It was snowing", "fur cap"},
        {"the wind was cold", "The wind was cold", "coat"},
        {"the sun was hot", "The sun was hot", "straw hat"},
        {"it was foggy", "It was foggy", "bright vest"},
        {"the night was chilly", "The night was chilly", "shawl"},
    }};
    return kWeathers;
}

} // namespace attn::stories
