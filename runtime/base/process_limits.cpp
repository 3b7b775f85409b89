#include "runtime/base/process_limits.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/bytes.h"

namespace sial {
namespace {

/// 0, or why the bytes are refused. Neither the heap nor its thresholds change, as they would with malloc.
int refusal(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  void* const p = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return errno;
  ::munmap(p, size);
  return 0;
}

/// ", and `ulimit -v` is 410 MB", where there is a limit.
std::string limit_of_addresses() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return fmt::format(", and `ulimit -v` allows {}", bytes_text(static_cast<std::int64_t>(limit.rlim_cur)));
}

}  // namespace

bool has_room_for(std::int64_t bytes) { return refusal(bytes) == 0; }

void require_room_for(std::int64_t bytes, const std::string& purpose) {
  if (const int error = refusal(bytes))
    throw ProcessLimitError(fmt::format("cannot allocate {} for {}: {}{}", bytes_text(bytes), purpose,
                                        std::strerror(error), limit_of_addresses()),
                            "raise `ulimit -v`, lower `--memory`, or run fewer ranks per machine");
}

std::thread start_thread(const std::string& purpose, std::function<void()> body) {
  std::string why;
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) { why = error.code().message(); } catch (const std::bad_alloc&) {
    why = "out of memory";
  }
  // The system gives one answer for too many threads and for no room for a stack.
  throw ProcessLimitError(fmt::format("cannot start a thread for {}: {}{}", purpose, why, limit_of_addresses()),
                          "raise `ulimit -u` (threads of this user) and `ulimit -v`, or run fewer ranks per machine");
}

}  // namespace sial
