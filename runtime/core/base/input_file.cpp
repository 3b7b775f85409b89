#include "runtime/core/base/input_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

namespace sial {
namespace {

std::string amount(std::int64_t bytes) {
  if (bytes >= std::int64_t{1} << 30) return fmt::format("{:.4g} GiB", static_cast<double>(bytes) / 0x1p30);
  if (bytes >= std::int64_t{1} << 20) return fmt::format("{:.4g} MiB", static_cast<double>(bytes) / 0x1p20);
  return fmt::format("{} bytes", bytes);
}

std::string too_large(std::int64_t bytes, std::int64_t limit) {
  return fmt::format("it has {}, and such a file may have {}", amount(bytes), amount(limit));
}

std::string problem_of(const struct stat& s, std::int64_t limit) {
  if (S_ISDIR(s.st_mode)) return "it is a folder";
  if (S_ISCHR(s.st_mode) || S_ISBLK(s.st_mode)) return "it is a device, and a regular file is needed";
  if (S_ISFIFO(s.st_mode)) return "it is a pipe, and a regular file is needed";
  if (!S_ISREG(s.st_mode)) return "it is no regular file";
  return s.st_size > limit ? too_large(s.st_size, limit) : std::string();
}

}  // namespace

std::string read_problem(const std::string& path, std::int64_t limit) {
  struct stat s = {};
  if (::stat(path.c_str(), &s) != 0) return std::strerror(errno);
  if (std::string problem = problem_of(s, limit); !problem.empty()) return problem;
  return ::access(path.c_str(), R_OK) == 0 ? std::string() : std::strerror(errno);
}

std::string read_file(const std::string& path, std::int64_t limit, std::string& problem) {
  problem.clear();
  const int file =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // of a pipe without a writer, too, the call returns
  struct stat s = {};
  if (file < 0 || ::fstat(file, &s) != 0) {
    problem = std::strerror(errno);
    if (file >= 0) ::close(file);
    return {};
  }
  problem = problem_of(s, limit);
  std::string content;
  // A file of /proc has a size of 0 and content, and others may grow meanwhile: it is read to its end.
  constexpr std::size_t min_piece = std::size_t{1} << 16;
  std::size_t size = 0;
  while (problem.empty()) {
    if (content.size() == size)
      content.resize(
          std::max<std::size_t>({size + min_piece, static_cast<std::size_t>(s.st_size) + 1, size + size / 2}));
    const ssize_t n = ::read(file, content.data() + size, content.size() - size);
    if (n == 0) break;
    if (n > 0) size += static_cast<std::size_t>(n);
    else if (errno != EINTR) problem = std::strerror(errno);
    if (static_cast<std::int64_t>(size) > limit) problem = too_large(static_cast<std::int64_t>(size), limit);
  }
  ::close(file);
  content.resize(problem.empty() ? size : 0);
  return content;
}

std::string library_problem(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::uint64_t>(std::max<std::streamoff>(file.tellg(), 0));
  const auto read = [&](std::uint64_t at, auto& to) {
    file.seekg(static_cast<std::streamoff>(at));
    return static_cast<bool>(file.read(reinterpret_cast<char*>(&to), sizeof to));
  };
  Elf64_Ehdr head;
  if (!read(0, head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  for (std::uint64_t i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr part;
    const bool there = read(head.e_phoff + i * head.e_phentsize, part);
    if (!there || (part.p_type == PT_LOAD && (part.p_offset > size || part.p_filesz > size - part.p_offset)))
      return fmt::format("it ends after {} bytes, in the middle of its parts", size);
  }
  return {};
}

}  // namespace sial
