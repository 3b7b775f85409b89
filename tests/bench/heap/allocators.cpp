#include "allocators.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <stdexcept>

namespace heapbench {

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"node_heap", "sialx, budget by address", false, true, true, make_node_heap},
      {"node_heap_spill", "sialx, budget of bytes (with --spill)", false, true, true, make_node_heap_by_bytes},
      {"mimalloc", "an exclusive arena over the region", false, true, true, make_mimalloc},
      {"jemalloc", "an arena with extent hooks over the region", false, true, true, make_jemalloc},
      {"glibc", "as it is, RLIMIT_DATA as the region", false, true, true, make_glibc},
      {"tcmalloc", "as it is, RLIMIT_DATA as the region", false, true, true, make_tcmalloc},
      {"tlsf_from_paper", "from its description", false, false, false, make_tlsf},
      {"dmrt_policy_from_paper", "placement from its description", true, false, false, make_dmrt_policy},
  };
  return all;
}

const Kind* kind(const std::string& name) {
  const auto at = std::ranges::find(kinds(), name, &Kind::name);
  return at == kinds().end() ? nullptr : &*at;
}

Region::Region(std::size_t bytes, std::size_t alignment)
    : bytes_(round_up(bytes, 4096)), mapped_bytes_(bytes_ + alignment), pages_(bytes_ / 4096) {
  void* p = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::runtime_error("no address range for the region");
  mapped_ = static_cast<std::byte*>(p);
  begin_ = reinterpret_cast<std::byte*>(round_up(reinterpret_cast<std::size_t>(p), alignment));
  madvise(begin_, bytes_, MADV_NOHUGEPAGE);  // what is resident is counted in pages
}

Region::~Region() { munmap(mapped_, mapped_bytes_); }

std::size_t Region::resident() {
  if (mincore(begin_, bytes_, pages_.data()) != 0) throw std::runtime_error("mincore() fails");
  return static_cast<std::size_t>(std::ranges::count_if(pages_, [](unsigned char c) { return (c & 1) != 0; })) * 4096;
}

void* library(const char* file, const char* package) {
  void* handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw Unavailable{std::string(file) + " of the package " + package + " cannot be loaded: " + dlerror()};
  return handle;
}

void* function(void* library, const char* name) {
  void* f = dlsym(library, name);
  if (!f) throw Unavailable{std::string("its library has no ") + name};
  return f;
}

}  // namespace heapbench
