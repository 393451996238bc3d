// Compiled into every program under the address sanitizer. Vulkan's driver and layers, fontconfig and D-Bus leak a
// little. The sanitizer can attribute a leak to them only while they are loaded.

#include <dlfcn.h>

#include <initializer_list>

extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
    return "leak:libVkLayer_\nleak:libvulkan_lvp\nleak:libfontconfig\nleak:libdbus\nleak:libLLVM\n";
}
/// Software Vulkan allocates and frees large blocks in every dispatch. If the sanitizer quarantined them for long, each
/// block would need new pages from the system, and training would be five times as slow.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "quarantine_size_mb=8:thread_local_quarantine_size_kb=64"; }
/// Tests expect that some programs print nothing.
extern "C" const char* __lsan_default_options();
extern "C" const char* __lsan_default_options() { return "print_suppressions=0"; }

namespace {

struct KeepLoaded {
    KeepLoaded() {
        for (const char* name : {"libvulkan_lvp.so", "libVkLayer_khronos_validation.so",
                                 "libVkLayer_MESA_device_select.so", "libfontconfig.so.1", "libdbus-1.so.3"}) {
            dlopen(name, RTLD_LAZY | RTLD_NODELETE);
        }
    }
} const keepLoaded;

} // namespace
