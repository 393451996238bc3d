#include "tests/includes/include_rules.h"
#include "tests/includes/source_rules.h"

#include <exception>
#include <iostream>
#include <utility>

// `./dev lint` runs this in the repository's root. test_includes checks the same.
int main() {
    try {
        auto problems = attn::test::brokenIncludes(".", attn::test::readIncludeRules("tests/includes/folders.txt"));
        for (const auto check : {attn::test::throwingFileCalls, attn::test::spelledBlockNames,
                                 attn::test::guessedMarkup, attn::test::viewsOfRanges, attn::test::forbiddenWords})
            for (auto& problem : check(".")) problems.push_back(std::move(problem));
        for (const auto& problem : problems) std::cerr << problem << '\n';
        return problems.empty() ? 0 : 1;
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 2;
    }
}
