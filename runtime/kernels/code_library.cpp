#include "runtime/kernels/code_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

#include "runtime/base/sha256.h"

namespace sial::kernels {
namespace {

/// Of the builders and of what they share with their callers.
constexpr std::string_view code_state = SIALX_CODE_STATE;

std::filesystem::path compiler_library() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path("libsialx_jit.so") : self.parent_path() / "libsialx_jit.so";
}

std::string digest_of(std::span<const char> bytes) {
  Sha256 hash;
  hash.update(std::string_view(bytes.data(), bytes.size()));
  return hash.hex();
}

}  // namespace

void* open_code_library(std::string& trouble) {
  // Never closed: libraries like LLVM do not survive it.
  void* library = dlopen(compiler_library().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    trouble = "this build has no code generator";
    return nullptr;
  }
  auto* state = reinterpret_cast<const char* (*)()>(dlsym(library, "sialx_code_state"));
  if (state && state() == code_state) return library;
  trouble = "the code generator beside the program is of another build";
  return nullptr;
}

DiskCache::DiskCache(const std::string& folder, const std::string& identity, std::string suffix)
    : head_(fmt::format("sialx code {} {}\n", code_state.substr(0, 16), identity)), suffix_(std::move(suffix)) {
  if (!folder.empty()) folder_ = std::filesystem::path(folder) / digest_of(head_).substr(0, 16);
}

std::vector<char> DiskCache::read(const CodeKey& key) const {
  if (folder_.empty()) return {};
  std::ifstream in(file(key), std::ios::binary);
  std::vector<char> all{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::string head = head_ + code_name(key) + "\n";
  constexpr std::size_t digest = 64;
  if (!in.is_open() || in.bad() || all.size() < head.size() + digest || std::memcmp(all.data(), head.data(), head.size()) != 0) return {};
  std::vector<char> code(all.begin() + static_cast<std::ptrdiff_t>(head.size() + digest), all.end());
  if (std::string_view(all.data() + head.size(), digest) != digest_of(code)) return {};
  return code;
}

void DiskCache::write(const CodeKey& key, std::span<const char> code) const {
  if (folder_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return;
  const std::filesystem::path target = file(key);
  const std::filesystem::path partial = target.string() + fmt::format(".{}", getpid());
  {
    std::ofstream out(partial, std::ios::binary);
    out << head_ << code_name(key) << '\n' << digest_of(code);
    out.write(code.data(), static_cast<std::streamsize>(code.size()));
    out.close();
    if (!out) {
      std::filesystem::remove(partial, error);
      return;
    }
  }
  std::filesystem::rename(partial, target, error);
  if (error) std::filesystem::remove(partial, error);
}

}  // namespace sial::kernels
