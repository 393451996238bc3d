#include "engine/core/attempt.h"

#include "engine/core/error.h"

#include <exception>
#include <new>

namespace attn {

std::optional<Failure> attempt(const std::string& where, const std::function<void()>& work, const std::string& remedy) {
    try {
        work();
    } catch (const Error& error) {
        return Failure{error.message(), error.where(), error.hint()};
    } catch (const std::bad_alloc&) {
        return Failure{"the computer is out of memory", where, remedy};
    } catch (const std::exception& error) {
        return Failure{error.what(), where, "please report this"};
    }
    return {};
}

} // namespace attn
