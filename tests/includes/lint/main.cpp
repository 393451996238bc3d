#include "tests/includes/include_rules.h"

#include <exception>
#include <iostream>

// `./dev lint` runs this in the repository's root. test_includes checks the same.
int main() {
    try {
        const auto problems =
            attn::test::brokenIncludes(".", attn::test::readIncludeRules("tests/includes/folders.txt"));
        for (const auto& problem : problems) std::cerr << problem << '\n';
        return problems.empty() ? 0 : 1;
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 2;
    }
}
