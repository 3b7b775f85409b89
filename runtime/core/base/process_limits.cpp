#include "runtime/core/base/process_limits.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/core/base/bytes.h"

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

void require_files(int number, const std::string& purpose) {
  std::vector<int> files;
  int error = 0;
  while (error == 0 && static_cast<int>(files.size()) < number) {
    const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (file >= 0) files.push_back(file);
    else error = errno;
  }
  for (const int file : files) ::close(file);
  rlimit limit{};
  if (error == EMFILE && ::getrlimit(RLIMIT_NOFILE, &limit) == 0)
    throw ProcessLimitError(fmt::format("cannot open {} files for {}: {}, and `ulimit -n` allows {}", number, purpose,
                                        std::strerror(error), limit.rlim_cur),
                            "raise `ulimit -n`");
}

void require_stack(bool says) {
  constexpr rlim_t needed = 256 << 10;
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= needed) return;
  if (says)
    fmt::print(
        stderr,
        "error: `ulimit -s` allows {} KiB for a stack, and {} are needed\n  hint: raise `ulimit -s`: 8192 is usual\n",
        limit.rlim_cur >> 10, needed >> 10);
  std::_Exit(exit_environment_error);
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
