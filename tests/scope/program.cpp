#include "engine/system/temporary_folder.h"
#include "tests/scope/scope_window.h"
#include "tests/support/command.h"

using attn::test::Answer;
using attn::test::runCommand;

namespace {

Answer run(const std::string& arguments, const std::string& environment = {}) {
    attn::scope::testDisplay();
    return runCommand(environment + " '" ATTN_SCOPE_PROGRAM "' " + arguments + " 2>&1");
}

void checkFails(const Answer& answer, const std::string& what, const std::string& remedy) {
    CHECK(answer.code == 1);
    INFO(answer.text);
    CHECK(answer.text.find("attention-scope: ") == 0);
    CHECK(answer.text.find(what) != std::string::npos);
    CHECK(answer.text.find(remedy) != std::string::npos);
}

} // namespace

TEST_CASE("program: what stops it is said with its remedy", "[scope][gpu]") {
    checkFails(run("", "env -u DISPLAY -u WAYLAND_DISPLAY"), "no display could be opened",
               "start it in a desktop session");
    checkFails(run("/no/such/model"), "no such file or folder", "check the path");
    checkFails(run("--device 'no such card'"), "no such card", "llvmpipe");
    checkFails(run("--follow /no/such/socket"), "cannot connect to the socket", "Open in scope");
    checkFails(run("builtin:numbers-de"), "an encoder and a decoder", "open the model in attention-lab");
    checkFails(run("builtin:vit-shapes"), "reads pictures, not text", "attention-lab");
    checkFails(run("--layer 7"), "layer 7 does not exist", "choose 0 to 1");
    checkFails(run("--head 2"), "head 2 does not exist", "choose 0 to 1");
    checkFails(run("--prompt 'a1'"), "no token", "use only its 27 characters");
    checkFails(run("--random 4096,2,16 --head 2"), "head 2 does not exist", "choose 0 to 1");
    checkFails(run("--random 131072,128,256"), "take", "use at most");
    checkFails(run("--screenshot /no/such/folder/a.png"), "cannot be written", "create the folder first");
}

TEST_CASE("program: writes a screenshot and ends", "[scope][gpu]") {
    const attn::TemporaryFolder folder;
    const auto file = folder / "picture.png";
    const Answer answer = run("--layer 1 --size 400x300 --frames 5 --screenshot '" + file.string() + "'");
    INFO(answer.text);
    CHECK(answer.code == 0);
    CHECK(answer.text.empty());
    CHECK(std::filesystem::file_size(file) > 2000);
}

TEST_CASE("program: says how many frames a second it drew", "[scope][gpu]") {
    const Answer answer = run("--view grid --size 400x300 --frames 20");
    INFO(answer.text);
    CHECK(answer.code == 0);
    CHECK(answer.text.find("frames of grid at 400 x 300") != std::string::npos);
    CHECK(answer.text.find("frames per second") != std::string::npos);
}
