#include "test_transfer.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <thread>

namespace sial::test {

namespace fs = std::filesystem;

Transfer::Transfer(std::uint64_t offset, std::size_t size, std::size_t shift) : all(size + 8192 + shift) {
  at = offset;
  bytes = size;
  memory = all.data() + (4096 - reinterpret_cast<std::uintptr_t>(all.data()) % 4096) + shift;
}

void Transfer::completed(int error) noexcept {
  result = error;
  ++calls;
}

void Transfer::fill(double value) { std::fill_n(values(), bytes / 8, value); }

bool Transfer::holds(double value) {
  return std::all_of(values(), values() + bytes / 8, [=](double v) { return v == value; });
}

void wait(Tier& tier, const Transfer& transfer) {
  while (transfer.calls == 0) {
    tier.progress();
    std::this_thread::yield();
  }
}

Folder::Folder() {
  path_ = (fs::temp_directory_path() / "sialx-tier-XXXXXX").string();
  if (!::mkdtemp(path_.data())) throw std::runtime_error("no folder for tests");
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

bool Folder::empty() const { return fs::is_empty(path_); }

int in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      ::_exit(work());
    } catch (...) { ::_exit(99); }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace sial::test
