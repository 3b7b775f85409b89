#include "runtime/core/kernels/jit/code_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "runtime/core/base/input_file.h"
#include "runtime/core/base/running_program.h"
#include "runtime/core/base/sha256.h"
#include "runtime/core/kernels/jit/generator_memory.h"

namespace sial::kernels {
namespace {

/// The state of the builders and of what they share with their callers.
constexpr std::string_view code_state = SIALX_CODE_STATE;
constexpr bool built_with_generator = SIALX_BUILT_WITH_JIT;

/// Adds the places of code in a module that another program has loaded: the folder of sialx's programs where it was
/// built, and its own folder where it is installed. None for programs of our own.
void add_places_of_module(const std::filesystem::path& program, const char* name,
                          std::vector<std::filesystem::path>& places) {
  Dl_info here{};
  std::error_code failed;
  if (dladdr(code_state.data(), &here) == 0 || !here.dli_fname) return;
  const std::filesystem::path module = std::filesystem::canonical(here.dli_fname, failed);
  if (failed || module == program) return;
  const std::filesystem::path folder = module.parent_path();
  places.push_back(folder.parent_path().parent_path() / "bin" / name);
  places.push_back(folder / name);
}

/// The places of the code generator: beside the program, as it is built, and in lib/sialx of its prefix, as it is
/// installed.
std::vector<std::filesystem::path> library_places() {
  constexpr const char* name = "libsialx_jit.so";
  const std::filesystem::path self = running_program();
  if (self.empty()) return {name};
  const std::filesystem::path folder = self.parent_path(), prefix = folder.parent_path();
  std::vector<std::filesystem::path> places{folder / name, prefix / "lib" / "sialx" / name};
  add_places_of_module(self, name, places);
  return places;
}

/// Writes all of it, or returns false.
bool write_whole(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file, text.data(), text.size());
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
    else if (n == 0 || errno != EINTR) return false;
  }
  return true;
}

/// Why what is in this file or folder may not be ours; empty when only this user can have put it there.
std::string distrust(int file, const std::string& path) {
  struct stat about{};
  if (::fstat(file, &about) != 0) return fmt::format("`{}` cannot be examined: {}", path, std::strerror(errno));
  if (about.st_uid != ::geteuid()) return fmt::format("`{}` belongs to another user", path);
  return (about.st_mode & (S_IWGRP | S_IWOTH)) != 0 ? fmt::format("others may write to `{}`", path) : std::string();
}

/// Folders that are missing, for this user alone.
bool make_private(const std::filesystem::path& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return true;
  if (errno != ENOENT || !folder.has_relative_path()) return false;
  return make_private(folder.parent_path()) && (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST);
}

std::string digest_of(std::span<const char> bytes) {
  Sha256 hash;
  hash.update(std::string_view(bytes.data(), bytes.size()));
  return hash.hex();
}

}  // namespace

void* open_code_library(std::string& trouble) {
  std::string searched;
  for (const std::filesystem::path& place : library_places()) {
    std::error_code failure;
    if (!std::filesystem::exists(place, failure)) {
      searched += fmt::format("{}{}", searched.empty() ? "" : ", ", place.string());
      continue;
    }
    if (const std::string problem = library_problem(place.string()); !problem.empty()) {
      trouble = fmt::format("the code generator {} cannot be loaded: {}", place.string(), problem);
      return nullptr;
    }
    // Never closed: libraries like LLVM do not survive it.
    void* library = GeneratorMemory::of_process().open([&] { return dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL); });
    if (!library) {
      const char* const why = dlerror();
      trouble = fmt::format("the code generator cannot be loaded: {}", why ? why : place.string());
      return nullptr;
    }
    auto* state = reinterpret_cast<const char* (*)()>(dlsym(library, "sialx_code_state"));
    if (state && state() == code_state) return library;
    trouble = fmt::format("the code generator {} is of another build", place.string());
    return nullptr;
  }
  trouble = built_with_generator ? fmt::format("the code generator is missing: there is no {}", searched)
                                 : "this build has no code generator";
  return nullptr;
}

DiskCache::DiskCache(std::string folder, const std::string& identity, std::string suffix)
    : head_(fmt::format("sialx code {} {}\n", code_state.substr(0, 16), identity)),
      suffix_(std::move(suffix)),
      base_(std::move(folder)),
      part_(digest_of(head_).substr(0, 16)) {}

bool DiskCache::trusts(int file) {
  refused_ = !distrust(file, {}).empty();
  if (refused_) folder_ = Descriptor();
  return !refused_;
}

bool DiskCache::open_folder(bool make) {
  if (base_.empty() || refused_) return false;
  if (folder_.get() >= 0) return true;
  if (make && !make_private(base_)) return false;
  const Descriptor base(::open(base_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (base.get() < 0 || !trusts(base.get())) return false;
  if (make && ::mkdirat(base.get(), part_.c_str(), 0700) != 0 && errno != EEXIST) return false;
  Descriptor part(::openat(base.get(), part_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (part.get() < 0 || !trusts(part.get())) return false;
  folder_ = std::move(part);
  return true;
}

std::vector<char> DiskCache::read(const CodeKey& key) {
  if (!open_folder(false)) return {};
  const std::string name = file_name(key);
  const Descriptor file(::openat(folder_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat about{};
  if (file.get() < 0 || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
  if (!trusts(file.get())) return {};
  const std::string head = head_ + code_name(key) + "\n";
  constexpr std::size_t digest = 64, largest = std::size_t{1} << 28;
  const auto size = static_cast<std::size_t>(about.st_size);
  if (size < head.size() + digest || size > largest) return {};
  std::vector<char> all(size);
  for (std::size_t at = 0; at < size;) {
    const ssize_t n = ::read(file.get(), &all[at], size - at);
    if (n <= 0 && !(n < 0 && errno == EINTR)) return {};
    if (n > 0) at += static_cast<std::size_t>(n);
  }
  if (std::memcmp(all.data(), head.data(), head.size()) != 0) return {};
  std::vector<char> code(all.begin() + static_cast<std::ptrdiff_t>(head.size() + digest), all.end());
  if (std::string_view(all.data() + head.size(), digest) != digest_of(code)) return {};
  return code;
}

void DiskCache::write(const CodeKey& key, std::span<const char> code) {
  if (!open_folder(true)) return;
  const std::string target = file_name(key), partial = fmt::format("{}.{}", target, ::getpid());
  ::unlinkat(folder_.get(), partial.c_str(), 0);  // of a process that was killed: the folder is ours alone
  Descriptor file(::openat(folder_.get(), partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.get() < 0) return;
  const std::string head = head_ + code_name(key) + "\n" + digest_of(code);
  const bool written = write_whole(file.get(), head) && write_whole(file.get(), {code.data(), code.size()}) &&
                       ::close(file.release()) == 0;
  if (!written || ::renameat(folder_.get(), partial.c_str(), folder_.get(), target.c_str()) != 0)
    ::unlinkat(folder_.get(), partial.c_str(), 0);
}

std::string cache_trouble(const std::string& folder) {
  if (folder.empty()) return {};
  const auto trouble_of = [](const std::string& path, int links) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | links));
    return file.get() < 0 ? std::string() : distrust(file.get(), path);  // what cannot be opened is not run either
  };
  std::string trouble = trouble_of(folder, 0);
  std::error_code failure;
  for (std::filesystem::recursive_directory_iterator it(folder, failure), end; trouble.empty() && !failure && it != end;
       it.increment(failure))
    trouble = trouble_of(it->path().string(), O_NOFOLLOW);
  return trouble;
}

}  // namespace sial::kernels
