/* Preloaded by tests/faults: a disk with room for FULL_DISK_BYTES bytes. Writes to files beyond that fail with ENOSPC. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long written;

static int is_full(int descriptor, size_t count) {
    const char* room = getenv("FULL_DISK_BYTES");
    struct stat status;
    if (room == NULL || fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
    return atomic_fetch_add(&written, (long)count) + (long)count > atol(room);
}

ssize_t write(int descriptor, const void* bytes, size_t count) {
    static ssize_t (*next)(int, const void*, size_t);
    if (next == NULL) next = (ssize_t(*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
    if (is_full(descriptor, count)) {
        errno = ENOSPC;
        return -1;
    }
    return next(descriptor, bytes, count);
}
