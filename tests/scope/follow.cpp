#include "app/scope/follower.h"
#include "engine/core/error.h"
#include "engine/system/temporary_folder.h"
#include "tests/scope/scope_window.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using namespace attn;
using namespace attn::scope;

namespace {

/// The other window: serves a socket and sends lines to whoever follows.
class Leader {
public:
    Leader() {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
        server_ = socket(AF_UNIX, SOCK_STREAM, 0);
        REQUIRE(bind(server_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
        REQUIRE(listen(server_, 1) == 0);
    }
    ~Leader() {
        end();
        close(server_);
    }
    std::string path() const { return path_.string(); }
    void send(const std::string& text) {
        if (client_ < 0) client_ = accept(server_, nullptr, nullptr);
        REQUIRE(write(client_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    }
    /// Sends as much of a text as is taken within half a second. @return its bytes, up to the last whole line
    size_t sendWhatFits(const std::string& text) {
        if (client_ < 0) client_ = accept(server_, nullptr, nullptr);
        size_t done = 0;
        while (done < text.size()) {
            pollfd ready{.fd = client_, .events = POLLOUT, .revents = 0};
            if (poll(&ready, 1, 500) != 1) break;
            const ssize_t count = ::send(client_, text.data() + done, text.size() - done, MSG_DONTWAIT);
            if (count > 0) done += static_cast<size_t>(count);
        }
        return done;
    }
    void end() {
        if (client_ >= 0) close(client_);
        client_ = -1;
    }

private:
    TemporaryFolder folder_;
    std::filesystem::path path_ = folder_ / "socket";
    int server_ = -1, client_ = -1;
};

} // namespace

TEST_CASE("mirror: a message survives its line, and wrong lines say what is wrong", "[scope]") {
    const MirrorMessage all{.path = "builtin:induction",
                            .prompt = "say \"ä\"\n",
                            .tokens = std::vector{1, 2, 3},
                            .promptLength = 2,
                            .step = 4,
                            .changes = Changes{{{.kind = ValueChange::Kind::Patch, .hook = "hook_embed", .text = "ä"}},
                                               {{.site = 1, .head = 0, .kind = PatternChange::Kind::Pin, .key = 2}},
                                               {{{0, 0}, 0.5f}}},
                            .site = 1,
                            .head = 0,
                            .view = "grid",
                            .theme = "light"};
    const std::string line = mirrorLine(all);
    CHECK(line.find('\n') == line.size() - 1);
    CHECK(parseMirrorLine(line) == all);
    CHECK(parseMirrorLine("{}") == MirrorMessage{});
    CHECK(parseMirrorLine(R"({"site": "blocks.2.attn", "of a later version": [1]})") == MirrorMessage{.site = 2});
    for (const char* wrong :
         {"", "x", "[1]", R"({"site": 1})", R"({"site": "blocks.x.attn"})", R"({"tokens": [1, "a"]})",
          R"({"theme": "pink"})", R"({"step": -1})", R"({"view": 3})", R"({"changes": 1})",
          R"({"changes": {"interventions": [{"kind": "melt"}]}})", R"({"head": 4294967297})", R"({"step": 4294967297})",
          R"({"tokens": [18446744073709551615]})",
          R"({"changes": {"gates": [{"site": "blocks.0.attn", "head": 0, "gate": 1e99}]}})",
          R"({"changes": {"gates": [{"site": "blocks.0.attn", "head": 0}]}})",
          R"({"changes": {"interventions": [{"kind": "zero", "hook": "x", "head": 4294967296}]}})",
          R"({"changes": {"patterns": [{"kind": "pin", "layer": 0.5, "head": 0}]}})"}) {
        INFO(wrong);
        CHECK_THROWS_AS(parseMirrorLine(wrong), Error);
    }
}

TEST_CASE("mirror: JSON that is nested deeply is refused in any field", "[scope]") {
    constexpr int kDepth = 1'000'000;
    for (const std::string field : {"changes", "tokens", "of a later version"}) {
        const std::string line = "{\"" + field + "\": " + std::string(kDepth, '[') + std::string(kDepth, ']') + "}";
        REQUIRE(line.size() < MirrorReader::kLongestLine);
        CHECK_THROWS_AS(parseMirrorLine(line), Error);
    }
}

TEST_CASE("mirror: lines are whole however they come", "[scope]") {
    MirrorReader reader;
    CHECK(reader.add("{\"lay").empty());
    CHECK(reader.add("er\": 1}\n\n{}\n{\"h") == std::vector<std::string>{"{\"layer\": 1}", "{}"});
    CHECK(reader.add("ead\": 0}\n") == std::vector<std::string>{"{\"head\": 0}"});
    CHECK(reader.add(std::string(MirrorReader::kLongestLine + 1, 'x')).empty()); // passed over
    CHECK(reader.add("x\n{}\n") == std::vector<std::string>{"{}"});
}

TEST_CASE("follow: lines that are not taken make the sender wait", "[scope]") {
    Leader leader;
    Follower follower(leader.path(), [] {});
    const std::string lines = [] {
        std::string text;
        while (text.size() < 1 << 16) text += "{\"layer\": 1}\n";
        return text;
    }();
    // The other side sends until nothing is taken any more.
    constexpr size_t kMuch = size_t{256} << 20;
    size_t sent = 0;
    for (size_t now = 1; now > 0 && sent < kMuch; sent += now) now = leader.sendWhatFits(lines);
    CHECK(sent < size_t{40} << 20);
    size_t taken = 0;
    while (taken < sent) { // everything arrives
        for (const std::string& line : follower.takeLines()) taken += line.size() + 1;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(taken == sent);
}

TEST_CASE("follow: the scope shows what it is sent", "[scope][gpu]") {
    Leader leader;
    ScopeWindow window({.prompt = "qwertyuiopqwert", .follow = leader.path(), .width = 700, .height = 600});
    Scope& scope = window.scope();
    leader.send(mirrorLine({.site = 1, .head = 1, .view = "grid", .theme = "light"}));
    REQUIRE(window.drawUntil([&] { return scope.page().shown() == ViewId::Grid; }));
    CHECK(scope.subject().layer() == 1);
    CHECK(scope.subject().head() == 1);
    CHECK(scope.page().look().isLight);

    leader.send(mirrorLine({.prompt = "abcabc", .head = 0, .view = "head"}) + mirrorLine({.step = 2}));
    REQUIRE(window.drawUntil([&] { return scope.subject().tokenCount() == 8; }));
    CHECK(scope.subject().labels().back() == "b");
    CHECK(scope.page().shown() == ViewId::Head);
    leader.send(mirrorLine({.tokens = std::vector{0, 1, 2}}));
    REQUIRE(window.drawUntil([&] { return scope.subject().tokenCount() == 3; }));

    leader.send("nonsense\n"); // is said, and does no harm
    REQUIRE(window.drawUntil([&] { return scope.subject().notice().find("not valid JSON") != std::string::npos; }));
    leader.send(mirrorLine({.path = "/no/such/model"}));
    REQUIRE(window.drawUntil([&] { return scope.subject().notice().find("no such file") != std::string::npos; }));
    leader.send(mirrorLine({.tokens = std::vector{0, 4000}}));
    REQUIRE(window.drawUntil([&] { return scope.subject().notice().find("vocabulary") != std::string::npos; }));
    CHECK(scope.subject().tokenCount() == 3);

    leader.end();
    REQUIRE(window.drawUntil([&] { return scope.subject().notice().find("has ended") != std::string::npos; }));
    CHECK_FALSE(scope.wantsToClose());
}

TEST_CASE("follow: the scope's model is edited as it is told", "[scope][gpu]") {
    Leader leader;
    ScopeWindow window({.prompt = "qwertyuiopqwert", .follow = leader.path(), .width = 700, .height = 600});
    Scope& scope = window.scope();
    const std::vector<float> before(scope.model().language().logits().begin(), scope.model().language().logits().end());
    const auto logits = [&] {
        const auto now = scope.model().language().logits();
        return std::vector<float>(now.begin(), now.end());
    };
    CHECK(scope.model().facts().find("changed") == std::string::npos);
    leader.send(mirrorLine({.changes = Changes{{{.hook = "blocks.1.attn.hook_z", .head = 0}}, {}}}));
    REQUIRE(window.drawUntil([&] { return scope.model().facts().starts_with("model changed"); }));
    for (float logit : logits()) CHECK(logit == Approx(0).margin(1e-6));
    const auto removed = scope.model().microscope().tensor("blocks.1.attn.hook_z"); // tensors are those of the same run
    CHECK(removed.statistics.maximum == 0);

    // A changed pattern shows in the head's picture and in the grid.
    const int last = scope.subject().tokenCount() - 1;
    leader.send(
        mirrorLine({.changes = Changes{{}, {{.site = 1, .head = 0, .kind = PatternChange::Kind::Pin, .key = 2}}},
                    .site = 1,
                    .head = 0}));
    REQUIRE(
        window.drawUntil([&] { return !scope.model().changes().patterns.empty() && scope.subject().layer() == 1; }));
    const Screenshot picture = window.picture();
    CHECK(window.colourOf(picture, {last, 2}).isNear(kOne));
    CHECK(window.colourOf(picture, {last, 3}).isNear(kZero));
    const auto tiles = scope.model().microscope().layerTiles(1, 32, 1, 0);
    REQUIRE(tiles.changedRows.size() == 1);
    CHECK(tiles.changedRows.front().at(last, 2) == 1);
    CHECK(tiles.changedRows.front().at(last, 3) == 0);
    leader.send(mirrorLine({.view = "grid"}));
    REQUIRE(window.drawUntil([&] { return scope.page().shown() == ViewId::Grid && !scope.isRefining(); }));
    leader.send(mirrorLine({.view = "lens"})); // the old name of the long-pattern view
    REQUIRE(window.drawUntil([&] { return scope.page().shown() == ViewId::LongPattern && !scope.isRefining(); }));
    const Screenshot pinned = window.picture();
    CHECK(scope.model().hasChangedPattern());
    CHECK(window.colourOf(pinned, {last, 2}).isNear(kOne));
    CHECK(window.colourOf(pinned, {last, 3}).isNear(kZero));
    leader.send(mirrorLine({.changes = Changes{}}));
    REQUIRE(window.drawUntil([&] { return scope.model().changes().empty() && !scope.isRefining(); }));
    CHECK_FALSE(window.colourOf(window.picture(), {last, 2}).isNear(kOne));

    // A timed step leaves no trace of it in the caches.
    leader.send(mirrorLine({.changes = Changes{{{.hook = "hook_embed", .position = last, .amount = 0.5f}}, {}}}));
    REQUIRE(window.drawUntil([&] { return !scope.model().changes().valueChanges.empty(); }));
    const auto changed = scope.model().language().patterns().tile({.site = 1, .head = 0}).values;
    scope.model().microscope().profile(Microscope::Phase::Decode);
    CHECK(scope.model().language().patterns().tile({.site = 1, .head = 0}).values == changed);

    const auto gates = [](float gate) {
        return Changes{.gates = {{{0, 0}, gate}, {{0, 1}, gate}, {{1, 0}, gate}, {{1, 1}, gate}}};
    };
    leader.send(mirrorLine({.changes = gates(0)}));
    REQUIRE(window.drawUntil([&] { return scope.model().changes().valueChanges.empty(); }));
    CHECK(logits() != before);
    leader.send(mirrorLine({.changes = Changes{{{.hook = "no such hook"}}, {}}})); // is said, and does no harm
    REQUIRE(window.drawUntil([&] { return scope.subject().notice().find("no hook") != std::string::npos; }));
    leader.send(mirrorLine({.changes = gates(0.5f)}) + mirrorLine({.changes = Changes{}}));
    REQUIRE(window.drawUntil([&] { return !scope.model().language().isChanged(); }));
    CHECK(logits() == before);
}

TEST_CASE("follow: another model takes the place of the one that is open", "[scope][gpu]") {
    Leader leader;
    ScopeWindow window({.prompt = "qwert", .view = "grid", .follow = leader.path(), .width = 700, .height = 600});
    leader.send(mirrorLine({.path = "builtin:reverse", .site = 1, .head = 3}));
    REQUIRE(window.drawUntil([&] { return window.scope().subject().name() == "reverse"; }));
    CHECK(window.scope().subject().heads() == 4);
    CHECK(window.scope().subject().head() == 3);
    CHECK(window.scope().page().shown() == ViewId::Grid);
    CHECK(window.picture().width == 700);
    window.press("2"); // keys still come
    CHECK(window.scope().page().shown() == ViewId::Head);
}
