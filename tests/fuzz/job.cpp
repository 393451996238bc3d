#include "engine/jobs/job_file.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

#include <stdexcept>

using namespace attn;

/// job.json and job.request of a job's folder. A record that is read is written as it was.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const fuzz::Folder folder;
    folder.write("job.json", fuzz::textOf(data, size));
    folder.write("job.request", fuzz::textOf(data, size));
    (void)takeRequest(folder.path());
    std::optional<JobRecord> record;
    fuzz::mayRefuse([&] { record = readJob(folder.path()); });
    if (record) {
        writeJob(folder.path(), *record);
        if (!readJob(folder.path())) throw std::runtime_error("what was written cannot be read");
    }
    return 0;
}
