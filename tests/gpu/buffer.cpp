#include "engine/gpu/buffer.h"

#include "engine/gpu/transfer.h"
#include "tests/gpu/gpu_test.h"

using namespace attn;
using namespace attn::gpu;

namespace {

int released = 0;

void countRelease(VkDevice, VkBuffer, const VkAllocationCallbacks*) { ++released; }

std::vector<std::byte> pattern(uint64_t sizeBytes) {
    std::vector<std::byte> bytes(sizeBytes);
    for (uint64_t i = 0; i < sizeBytes; ++i) bytes[i] = static_cast<std::byte>((i * 2654435761u) >> 13);
    return bytes;
}

} // namespace

TEST_CASE("owned: every handle is released exactly once, and assignment releases the old one", "[gpu]") {
    using Handle = Owned<VkBuffer, countRelease>;
    static int storage[2];
    const auto fake = [](int i) { return Handle(nullptr, reinterpret_cast<VkBuffer>(&storage[i])); };
    released = 0;
    {
        Handle first = fake(0);
        Handle second = fake(1);
        first = std::move(second);
        CHECK(released == 1);
        CHECK_FALSE(second); // NOLINT(bugprone-use-after-move): what a move leaves is what is tested
        Handle third(std::move(first));
        CHECK_FALSE(first); // NOLINT(bugprone-use-after-move): the same
        CHECK(third.get() == reinterpret_cast<VkBuffer>(&storage[1]));
        Handle& itself = third;
        third = std::move(itself);
        CHECK(third);
        CHECK(released == 1);
    }
    CHECK(released == 2);
}

TEST_CASE("buffer: moving keeps the contents, assignment frees the memory it replaces", "[gpu]") {
    TestContext context;
    Buffer kept(*context, {1 << 20, Placement::Upload, "kept"});
    const uint64_t one = context->allocatedBytes();
    CHECK(one >= 1 << 20);
    kept.mapped()[5] = std::byte{42};
    Buffer other(*context, {1 << 20, Placement::Upload, "other"});
    CHECK(context->allocatedBytes() == 2 * one);
    other = std::move(kept);
    CHECK(context->allocatedBytes() == one);
    CHECK(other.name() == "kept");
    CHECK(other.mapped()[5] == std::byte{42});
    CHECK_FALSE(kept.isMapped()); // NOLINT(bugprone-use-after-move): the same
    CHECK(kept.sizeBytes() == 0);
    other = Buffer();
    CHECK(context->allocatedBytes() == 0);
}

TEST_CASE("transfer: what is uploaded comes back, mapped or staged, at odd offsets and across pieces", "[gpu]") {
    const bool forceStaging = GENERATE(false, true);
    TestContext context({.forceStaging = forceStaging});
    const uint64_t offset = 12;
    const auto bytes = pattern(2 * Transfer::kPieceBytes + 100);
    const Buffer buffer(*context, {bytes.size() + offset + 8, Placement::DeviceLocal, "large"});
    CHECK(buffer.isMapped() == context->traits().hostVisibleDeviceLocal);
    if (forceStaging) CHECK_FALSE(buffer.isMapped());

    Transfer transfer(*context);
    transfer.upload(buffer, offset, bytes);
    std::vector<std::byte> back(bytes.size());
    transfer.download(buffer, offset, back);
    CHECK(back == bytes);

    std::vector<std::byte> part(5);
    transfer.upload(buffer, offset + 64, std::vector<std::byte>(4));
    transfer.download(buffer, offset + 63, part);
    CHECK(part == std::vector<std::byte>{bytes[63], {}, {}, {}, {}});
    transfer.upload(buffer, 0, {});
    transfer.download(buffer, 0, {});
}

TEST_CASE("transfer: a part of a buffer becomes a part of another, mapped or staged", "[gpu]") {
    TestContext context({.forceStaging = GENERATE(false, true)});
    const auto bytes = pattern(4096);
    const Buffer from(*context, {bytes.size(), Placement::DeviceLocal, "from"}),
        to(*context, {bytes.size(), Placement::DeviceLocal, "to"});
    Transfer transfer(*context);
    transfer.upload(from, 0, bytes);
    transfer.upload(to, 0, std::vector<std::byte>(bytes.size()));
    transfer.copy(std::vector<CommandRecorder::Copy>{
        {.from = &from, .fromOffset = 256, .to = &to, .toOffset = 512, .sizeBytes = 1024},
        {.from = &from, .fromOffset = 4080, .to = &to, .toOffset = 0, .sizeBytes = 16}});
    std::vector<std::byte> expected(bytes.size()), back(bytes.size());
    std::copy_n(bytes.begin() + 256, 1024, expected.begin() + 512);
    std::copy_n(bytes.begin() + 4080, 16, expected.begin());
    transfer.download(to, 0, back);
    CHECK(back == expected);
    transfer.copy({});
}

TEST_CASE("transfer: a filling callback sees every piece once and in order", "[gpu]") {
    TestContext context({.forceStaging = GENERATE(false, true)});
    const uint64_t size = 3 * Transfer::kPieceBytes + 64;
    const Buffer buffer(*context, {size, Placement::DeviceLocal, "weights"});
    uint64_t expectedAt = 0;
    Transfer transfer(*context);
    transfer.upload(buffer, 0, size, [&](uint64_t at, std::span<std::byte> piece) {
        CHECK(at == expectedAt);
        CHECK(piece.size() <= Transfer::kPieceBytes);
        expectedAt += piece.size();
        std::memset(piece.data(), static_cast<int>(at / Transfer::kPieceBytes + 1), piece.size());
    });
    CHECK(expectedAt == size);
    std::vector<std::byte> back(size);
    transfer.download(buffer, 0, back);
    for (uint64_t i = 0; i < size; i += 4096) {
        if (back[i] != static_cast<std::byte>(i / Transfer::kPieceBytes + 1)) FAIL("wrong byte at " << i);
    }

    CHECK_THROWS_AS(transfer.upload(buffer, 0, 16, [](uint64_t, std::span<std::byte>) { throw Error("unreadable"); }),
                    Error);
    transfer.upload(buffer, 0, std::vector<std::byte>(16)); // still usable
}

TEST_CASE("transfer: several ranges are copied on the device", "[gpu]") {
    TestContext context({.forceStaging = GENERATE(false, true)});
    const Buffer from(*context, {64, Placement::DeviceLocal, "from"}), to(*context, {64, Placement::DeviceLocal, "to"});
    const std::vector<std::byte> bytes = pattern(64);
    Transfer transfer(*context);
    transfer.upload(from, 0, bytes);
    transfer.upload(to, 0, std::vector<std::byte>(64));
    transfer.copy(
        std::array{CommandRecorder::Copy{.from = &from, .fromOffset = 8, .to = &to, .toOffset = 40, .sizeBytes = 16},
                   CommandRecorder::Copy{.from = &from, .fromOffset = 48, .to = &from, .toOffset = 0, .sizeBytes = 4}});
    std::vector<std::byte> back(64);
    transfer.download(to, 0, back);
    CHECK(std::ranges::equal(std::span(back).subspan(40, 16), std::span(bytes).subspan(8, 16)));
    CHECK(back[39] == std::byte{0});
    transfer.download(from, 0, back);
    CHECK(std::ranges::equal(std::span(back).first(4), std::span(bytes).subspan(48, 4)));
}

TEST_CASE("buffer: a request beyond the device's memory says how much there is and what to do", "[gpu]") {
    TestContext context;
    const auto placement = GENERATE(Placement::DeviceLocal, Placement::Upload, Placement::Readback);
    try {
        const Buffer buffer(*context, {1ull << 46, placement, "blocks.0.mlp.weight"});
        FAIL("64 TiB were allocated");
    } catch (const OutOfMemory& error) {
        CHECK(error.where() == "blocks.0.mlp.weight");
        CHECK(error.message().find("67108864 MiB") != std::string::npos);
        CHECK(error.message().find(context->traits().name) != std::string::npos);
        CHECK(error.hint().find("smaller model") != std::string::npos);
    }
    CHECK(context->allocatedBytes() == 0);
    CHECK(context->freeBytes() > 0);
    CHECK(context->freeBytes() <= context->traits().heapBytes);
}

TEST_CASE("buffer: device memory that runs out buffer by buffer throws and frees what it had", "[gpu]") {
    TestContext context({.validation = true});
    if (!context->traits().isSoftware) {
        WARN("skipped: would fill the memory of a device that others use");
        return;
    }
    // Memory that is not touched costs nothing here; a driver that never refuses is an acceptable answer too.
    std::vector<Buffer> buffers;
    try {
        for (int i = 0; i < 4; ++i) {
            buffers.emplace_back(*context, Buffer::Options{1ull << 30, Placement::DeviceLocal, "gibibyte"});
        }
    } catch (const OutOfMemory& error) {
        CHECK(error.message().find("of which this program holds") != std::string::npos);
    }
    buffers.clear();
    CHECK(context->allocatedBytes() == 0);
}

TEST_CASE("buffer: a texel view beyond the device's limit is refused", "[gpu]") {
    TestContext context;
    const uint64_t limitBytes = context->traits().maxTexelBufferElements * 16;
    if (limitBytes + 16 > context->traits().maxAllocationBytes || !context->traits().isSoftware) {
        WARN("skipped: no buffer here can be larger than a texel view");
        return;
    }
    const Buffer buffer(*context, {limitBytes + 16, Placement::DeviceLocal, "enormous"});
    CHECK_THROWS_AS(BufferView(*context, buffer, 0, limitBytes + 16), Error);
}
