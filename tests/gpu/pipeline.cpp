#include "engine/gpu/pipeline.h"

#include "engine/gpu/descriptors.h"
#include "engine/gpu/transfer.h"
#include "engine/system/temporary_folder.h"
#include "tests/gpu/gpu_test.h"

#include <sys/stat.h>

using namespace attn;
using namespace attn::gpu;

namespace fs = std::filesystem;

TEST_CASE("pipeline cache: what one run saves the next one loads", "[gpu]") {
    TestContext context;
    const TemporaryFolder folder;
    const fs::path nested = folder.path() / "not" / "there yet";
    fs::path file;
    {
        PipelineCache cache(*context, nested);
        CHECK(cache.loadedBytes() == 0);
        const ComputePipeline pipeline = scalePipeline(*context, 2.0f, &cache);
        file = cache.file();
    }
    REQUIRE(fs::exists(file));
    CHECK(std::distance(fs::directory_iterator(nested), {}) == 1); // no partial file is left
    {
        PipelineCache cache(*context, nested);
        CHECK(cache.loadedBytes() > 0);
        const ComputePipeline pipeline = scalePipeline(*context, 2.0f, &cache);
        CHECK(cache.save());
    }
}

TEST_CASE("pipeline cache: a damaged, truncated or foreign file counts as empty and is replaced", "[gpu]") {
    TestContext context;
    const TemporaryFolder folder;
    fs::path file;
    {
        PipelineCache cache(*context, folder.path());
        REQUIRE(cache.save());
        file = cache.file();
    }
    const auto size = fs::file_size(file);
    const auto damage = GENERATE(0, 1, 2, 3);
    if (damage == 0) {
        std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(-1, std::ios::end).put('?');
    } else if (damage == 1) {
        fs::resize_file(file, size - 1);
    } else if (damage == 2) {
        std::ofstream(file) << "version https://git-lfs.github.com/spec/v1";
    } else {
        fs::resize_file(file, 0);
    }
    {
        PipelineCache cache(*context, folder.path());
        CHECK(cache.loadedBytes() == 0);
        CHECK(cache.save());
    }
    CHECK(PipelineCache(*context, folder.path()).loadedBytes() > 0);
}

TEST_CASE("pipeline cache: a pipe in the place of the file is left alone and nothing waits for it", "[gpu]") {
    TestContext context;
    const TemporaryFolder folder;
    const fs::path file = PipelineCache(*context, folder.path()).file();
    fs::remove(file);
    REQUIRE(mkfifo(file.c_str(), 0600) == 0);
    PipelineCache cache(*context, folder.path());
    CHECK(cache.loadedBytes() == 0);
    const ComputePipeline pipeline = scalePipeline(*context, 2.0f, &cache);
    CHECK_FALSE(cache.save());
    CHECK(fs::is_fifo(file));
}

TEST_CASE("pipeline cache: a folder that cannot be written costs nothing but time", "[gpu]") {
    TestContext context;
    const TemporaryFolder folder;
    std::ofstream(folder.path() / "file") << "in the way";
    PipelineCache cache(*context, folder.path() / "file");
    CHECK(cache.loadedBytes() == 0);
    const ComputePipeline pipeline = scalePipeline(*context, 2.0f, &cache);
    CHECK_FALSE(cache.save());
    PipelineCache nowhere(*context, fs::path());
    CHECK_FALSE(nowhere.save());
}

TEST_CASE("pipeline: several threads build pipelines at once", "[gpu]") {
    TestContext context;
    const TemporaryFolder folder;
    const PipelineCache cache(*context, folder.path());
    std::array<ComputePipeline, 4> pipelines;
    {
        std::vector<std::jthread> threads;
        for (size_t i = 0; i < pipelines.size(); ++i) {
            threads.emplace_back([&, i] { pipelines[i] = scalePipeline(*context, static_cast<float>(i), &cache); });
        }
    }
    for (const auto& pipeline : pipelines) CHECK(pipeline.get() != VK_NULL_HANDLE);
}

TEST_CASE("pipeline: more push constants than the device has are refused by name", "[gpu]") {
    TestContext context;
    const ComputePipeline::Options options{
        .name = "ops/greedy", .spirv = scaleShader(), .pushConstantBytes = context->traits().maxPushConstantBytes + 4};
    try {
        const ComputePipeline pipeline(*context, options);
        FAIL("not refused");
    } catch (const Error& error) {
        CHECK(error.where() == "ops/greedy");
    }
}

TEST_CASE("descriptors: a pool grows past its first page", "[gpu]") {
    TestContext context;
    const Buffer buffer(*context, {1024, Placement::DeviceLocal, "shared"});
    const BufferView view(*context, buffer, 0, 512);
    const ComputePipeline pipeline = scalePipeline(*context, 1.0f);
    DescriptorPool pool(*context);
    std::vector<DescriptorSet> sets;
    for (int i = 0; i < 1000; ++i) {
        sets.push_back(pool.allocate(pipeline, std::array<BoundResource, 2>{&view, BufferRange{&buffer, 512}}));
    }
    std::ranges::sort(sets, {}, &DescriptorSet::get);
    CHECK(std::ranges::adjacent_find(sets, {}, &DescriptorSet::get) == sets.end());
}

TEST_CASE("descriptors: a storage range beyond the device's limit is refused, a texel view of it is not", "[gpu]") {
    TestContext context;
    const uint64_t limit = context->traits().maxStorageBufferRange;
    if (!context->traits().isSoftware || limit + 64 > context->traits().maxAllocationBytes) {
        WARN("skipped: no buffer here can be larger than a storage binding");
        return;
    }
    const Buffer large(*context, {limit + 64, Placement::DeviceLocal, "embedding"});
    const Buffer target(*context, {64, Placement::DeviceLocal, "target"});
    const BufferView view(*context, large, 0, large.sizeBytes());
    const ComputePipeline pipeline = scalePipeline(*context, 1.0f);
    DescriptorPool pool(*context);
    CHECK_THROWS_AS(pool.allocate(pipeline, std::array<BoundResource, 2>{&view, BufferRange{&large}}), Error);
    CHECK_NOTHROW(pool.allocate(pipeline, std::array<BoundResource, 2>{&view, BufferRange{&target}}));
}
