#include "engine/gpu/pipeline_cache.h"

#include "engine/system/atomic_file.h"
#include "engine/system/environment.h"
#include "engine/system/folder.h"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace attn::gpu {
namespace {

/// Drivers trust what they are given, so the file carries its own length and checksum.
struct FileHeader {
    char magic[8] = {'A', 'T', 'T', 'N', 'P', 'C', '0', '1'};
    uint64_t sizeBytes = 0;
    uint64_t checksum = 0;
};

/// FNV-1a, 64 bits.
uint64_t checksumOf(const std::vector<char>& bytes) {
    uint64_t hash = 14695981039346656037ull;
    for (char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ull;
    return hash;
}

std::string fileNameFor(const VkPhysicalDeviceProperties& properties) {
    std::string name =
        fmt::format("pipelines-{:x}-{:x}-{:x}-", properties.vendorID, properties.deviceID, properties.driverVersion);
    for (uint8_t byte : properties.pipelineCacheUUID) name += fmt::format("{:02x}", byte);
    return name + ".bin";
}

std::vector<char> readPayload(const std::filesystem::path& file) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error)) return {}; // opening a pipe would wait for its writer
    std::ifstream in(file, std::ios::binary);
    FileHeader header;
    const FileHeader expected;
    if (!in.read(reinterpret_cast<char*>(&header), sizeof header)) return {};
    if (std::memcmp(header.magic, expected.magic, sizeof header.magic) != 0) return {};
    std::vector<char> payload{std::istreambuf_iterator<char>(in), {}};
    if (payload.size() != header.sizeBytes || checksumOf(payload) != header.checksum) return {};
    return payload;
}

/// @throws Error if the file cannot be written
void writePayload(const std::filesystem::path& file, const std::vector<char>& payload) {
    FileHeader header;
    header.sizeBytes = payload.size();
    header.checksum = checksumOf(payload);
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    bytes.append(payload.data(), payload.size());
    createFolder(file.parent_path());
    writeAtomically(file, bytes);
}

} // namespace

PipelineCache::PipelineCache(Context& context) : PipelineCache(context, environment::cacheDirectory()) {}

PipelineCache::PipelineCache(Context& context, const std::filesystem::path& folder)
    : device_(context.device()), file_(folder.empty() ? folder : folder / fileNameFor(context.physical().properties)) {
    const std::vector<char> payload = readPayload(file_);
    loadedBytes_ = savedBytes_ = payload.size();
    VkPipelineCacheCreateInfo create{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    create.initialDataSize = payload.size();
    create.pInitialData = payload.data();
    VkPipelineCache cache = VK_NULL_HANDLE;
    check(vkCreatePipelineCache(device_, &create, nullptr, &cache), "vkCreatePipelineCache", file_.string());
    cache_ = {device_, cache};
    context.setName(VK_OBJECT_TYPE_PIPELINE_CACHE, cache, "pipeline cache");
}

PipelineCache::~PipelineCache() { save(); }

PipelineCache& PipelineCache::operator=(PipelineCache&& other) noexcept {
    PipelineCache taken(std::move(other));
    std::swap(device_, taken.device_);
    std::swap(cache_, taken.cache_);
    std::swap(file_, taken.file_);
    std::swap(loadedBytes_, taken.loadedBytes_);
    std::swap(savedBytes_, taken.savedBytes_);
    return *this;
}

bool PipelineCache::save() noexcept {
    if (!cache_ || file_.empty()) return !cache_;
    try {
        size_t size = 0;
        check(vkGetPipelineCacheData(device_, cache_.get(), &size, nullptr), "vkGetPipelineCacheData");
        if (size <= savedBytes_) return true;
        std::vector<char> payload(size);
        check(vkGetPipelineCacheData(device_, cache_.get(), &size, payload.data()), "vkGetPipelineCacheData");
        payload.resize(size);
        writePayload(file_, payload);
        savedBytes_ = size;
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

} // namespace attn::gpu
