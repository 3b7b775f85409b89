#include "runtime/core/kernels/jit/generator_memory.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace sial::kernels {
namespace {

using Visit = std::function<void(const dl_phdr_info&)>;

void for_each_library(const Visit& visit) {
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* what) {
        (*static_cast<const Visit*>(what))(*info);
        return 0;
      },
      const_cast<Visit*>(&visit));
}

/// The loader has written addresses into parts that are not writable otherwise.
bool has_text_relocations(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    for (auto* d = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr); d->d_tag != DT_NULL;
         ++d)
      if (d->d_tag == DT_TEXTREL || (d->d_tag == DT_FLAGS && (d->d_un.d_val & DF_TEXTREL) != 0)) return true;
  }
  return false;
}

}  // namespace

GeneratorMemory& GeneratorMemory::of_process() {
  static GeneratorMemory memory;
  return memory;
}

void* GeneratorMemory::open(const std::function<void*()>& open) {
  std::vector<std::string> before;
  for_each_library([&](const dl_phdr_info& info) { before.emplace_back(info.dlpi_name); });
  void* const library = open();
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::lock_guard lock(mutex_);
  for_each_library([&](const dl_phdr_info& info) {
    if (std::find(before.begin(), before.end(), info.dlpi_name) != before.end() || has_text_relocations(info)) return;
    for (int i = 0; i < info.dlpi_phnum; ++i) {
      const ElfW(Phdr)& part = info.dlpi_phdr[i];
      if (part.p_type != PT_LOAD || (part.p_flags & PF_W) != 0) continue;
      const std::uintptr_t at = info.dlpi_addr + part.p_vaddr;
      const std::uintptr_t begin = (at + page - 1) / page * page, end = (at + part.p_filesz) / page * page;
      if (begin < end) parts_.emplace_back(reinterpret_cast<std::byte*>(begin), end - begin);
    }
  });
  return library;
}

void GeneratorMemory::release() {
  const std::lock_guard lock(mutex_);
  for (const std::span<std::byte> part : parts_) ::madvise(part.data(), part.size(), MADV_DONTNEED);
}

}  // namespace sial::kernels
