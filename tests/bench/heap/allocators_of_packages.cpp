// Allocators of Debian's packages, by the functions that their manuals describe. They are loaded beside malloc(), which
// stays glibc's.
#include <malloc.h>
#include <sys/resource.h>

#include <unistd.h>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>

#include "allocators.h"

namespace heapbench {

namespace {

constexpr std::size_t alignment = 64;

/// One heap per thread, in an arena that nobody else uses. Memory is not handed back to the system, which would cost
/// time.
class MimallocAllocator final : public Allocator {
 public:
  explicit MimallocAllocator(const Setup& setup) : region_(setup.capacity, segment) {
    setenv("MIMALLOC_ALLOW_DECOMMIT", "0", 1);
    setenv("MIMALLOC_SHOW_ERRORS", "0", 1);
    void* lib = library("libmimalloc.so.2", "libmimalloc2.0");
    malloc_ = function<Malloc>(lib, "mi_heap_malloc_aligned");
    free_ = function<Free>(lib, "mi_free");
    usable_ = function<Usable>(lib, "mi_usable_size");
    new_in_arena_ = function<NewInArena>(lib, "mi_heap_new_in_arena");
    auto* manage = function<bool(void*, std::size_t, bool, bool, bool, int, bool, int*)>(lib, "mi_manage_os_memory_ex");
    if (!manage(region_.begin(), region_.bytes() / segment * segment, true, false, true, -1, true, &arena_))
      throw std::runtime_error("mimalloc does not accept the region");
    enter(0);
  }
  void enter(int) override { heap_ = new_in_arena_(arena_); }
  void* take(std::size_t bytes, int) override { return malloc_(heap_, bytes, alignment); }
  void give_back(void* p, std::size_t, int) override { free_(p); }
  std::size_t taken(const void* p, std::size_t) const override { return usable_(p); }
  std::size_t committed() override { return region_.resident(); }

 private:
  static constexpr std::size_t segment = std::size_t{32} << 20;  // an arena is made of such pieces
  using Malloc = void*(void*, std::size_t, std::size_t);
  using Free = void(void*);
  using Usable = std::size_t(const void*);
  using NewInArena = void*(int);
  Region region_;
  Malloc* malloc_;
  Free* free_;
  Usable* usable_;
  NewInArena* new_in_arena_;
  int arena_ = 0;
  static thread_local void* heap_;
};
thread_local void* MimallocAllocator::heap_ = nullptr;

/// An arena per rank whose extents come from the region, one after the other. What jemalloc has got it keeps: its own
/// lists of free extents are what is measured.
class JemallocAllocator final : public Allocator {
 public:
  explicit JemallocAllocator(const Setup& setup) : region_(setup.capacity, std::size_t{4} << 20) {
    setenv("MALLOC_CONF", "lg_extent_max_active_fit:63", 1);  // small blocks may be cut from large extents
    void* lib = library("libjemalloc.so.2", "libjemalloc2");
    mallocx_ = function<Mallocx>(lib, "mallocx");
    dallocx_ = function<Dallocx>(lib, "sdallocx");
    nallocx_ = function<Nallocx>(lib, "nallocx");
    mallctl_ = function<Mallctl>(lib, "mallctl");
    hooks_ = {{alloc, keep, nullptr, commit, keep_part, keep_part, keep_part, split, merge}, this};
    void* hooks = &hooks_;
    control("arenas.create", arena_, &hooks, sizeof hooks);
    for (const char* decay : {"dirty_decay_ms", "muzzy_decay_ms"}) {
      std::int64_t never = -1;
      mallctl_(("arena." + std::to_string(arena_) + "." + decay).c_str(), nullptr, nullptr, &never, sizeof never);
    }
    enter(0);
    // The region becomes one extent: several of them would never merge.
    for (std::size_t bytes = setup.capacity; bytes >= setup.capacity / 2; bytes -= setup.capacity / 64)
      if (void* p = mallocx_(bytes, flags())) {
        dallocx_(p, bytes, flags());
        break;
      }
  }
  void enter(int) override { control("tcache.create", cache_, nullptr, 0); }
  void* take(std::size_t bytes, int) override { return mallocx_(std::max<std::size_t>(bytes, 1), flags()); }
  void give_back(void* p, std::size_t bytes, int) override { dallocx_(p, std::max<std::size_t>(bytes, 1), flags()); }
  std::size_t taken(const void*, std::size_t bytes) const override {
    return nallocx_(std::max<std::size_t>(bytes, 1), flags());
  }
  std::size_t committed() override { return region_.resident(); }

 private:
  // Their layout and flags are those of jemalloc 5's public header and manual.
  struct Hooks {
    void* (*alloc)(Hooks*, void*, std::size_t, std::size_t, bool*, bool*, unsigned);
    bool (*dalloc)(Hooks*, void*, std::size_t, bool, unsigned);
    void (*destroy)(Hooks*, void*, std::size_t, bool, unsigned);
    bool (*commit)(Hooks*, void*, std::size_t, std::size_t, std::size_t, unsigned);
    bool (*decommit)(Hooks*, void*, std::size_t, std::size_t, std::size_t, unsigned);
    bool (*purge_lazy)(Hooks*, void*, std::size_t, std::size_t, std::size_t, unsigned);
    bool (*purge_forced)(Hooks*, void*, std::size_t, std::size_t, std::size_t, unsigned);
    bool (*split)(Hooks*, void*, std::size_t, std::size_t, std::size_t, bool, unsigned);
    bool (*merge)(Hooks*, void*, std::size_t, void*, std::size_t, bool, unsigned);
  };
  struct OwnedHooks : Hooks {
    JemallocAllocator* owner;
  };
  static void* alloc(Hooks* hooks, void* wanted, std::size_t bytes, std::size_t align, bool* zero, bool* committed,
                     unsigned) {
    JemallocAllocator& a = *static_cast<OwnedHooks*>(hooks)->owner;
    const auto begin = reinterpret_cast<std::size_t>(a.region_.begin());
    const std::size_t at = round_up(begin + a.top_, align) - begin;
    if (wanted || at + bytes > a.region_.bytes()) return nullptr;
    a.top_ = at + bytes;
    *zero = *committed = true;
    return a.region_.begin() + at;
  }
  static bool keep(Hooks*, void*, std::size_t, bool, unsigned) { return true; }
  static bool keep_part(Hooks*, void*, std::size_t, std::size_t, std::size_t, unsigned) { return true; }
  static bool commit(Hooks*, void*, std::size_t, std::size_t, std::size_t, unsigned) { return false; }
  static bool split(Hooks*, void*, std::size_t, std::size_t, std::size_t, bool, unsigned) { return false; }
  static bool merge(Hooks*, void*, std::size_t, void*, std::size_t, bool, unsigned) { return false; }

  int flags() const {
    return 6 | static_cast<int>((cache_ + 2) << 8) | static_cast<int>((arena_ + 1) << 20);  // 6: 2^6 bytes of alignment
  }
  void control(const char* name, unsigned& result, void* value, std::size_t bytes) const {
    std::size_t size = sizeof result;
    if (mallctl_(name, &result, &size, value, bytes) != 0)
      throw std::runtime_error(std::string("jemalloc refuses ") + name);
  }

  using Mallocx = void*(std::size_t, int);
  using Dallocx = void(void*, std::size_t, int);
  using Nallocx = std::size_t(std::size_t, int);
  using Mallctl = int(const char*, void*, std::size_t*, void*, std::size_t);
  Region region_;
  std::size_t top_ = 0;
  OwnedHooks hooks_{};
  Mallocx* mallocx_;
  Dallocx* dallocx_;
  Nallocx* nallocx_;
  Mallctl* mallctl_;
  unsigned arena_ = 0;
  static thread_local unsigned cache_;
};
thread_local unsigned JemallocAllocator::cache_ = 0;

/// "VmData: ... kB" and the like of this process.
std::size_t status(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;)
    if (word == name + ":") {
      std::size_t kilobytes = 0;
      file >> kilobytes;
      return kilobytes * 1024;
    }
  throw std::runtime_error("/proc/self/status has no " + name);
}

/// Allocators that ask the system for memory by themselves: what they may have is a limit of the process.
class SystemAllocator : public Allocator {
 public:
  std::size_t committed() override { return std::max(status("RssAnon"), resident_at_first_) - resident_at_first_; }

 protected:
  void limit(const Setup& setup) {
    resident_at_first_ = status("RssAnon");
    const rlimit most{status("VmData") + setup.capacity, RLIM_INFINITY};
    if (setrlimit(RLIMIT_DATA, &most) != 0) throw std::runtime_error("RLIMIT_DATA cannot be set");
  }

 private:
  std::size_t resident_at_first_ = 0;
};

class GlibcAllocator final : public SystemAllocator {
 public:
  explicit GlibcAllocator(const Setup& setup) {
    malloc_trim(0);
    limit(setup);
  }
  void* take(std::size_t bytes, int) override { return memalign(alignment, bytes); }
  void give_back(void* p, std::size_t, int) override { std::free(p); }
  std::size_t taken(const void* p, std::size_t) const override { return malloc_usable_size(const_cast<void*>(p)) + 8; }
};

class TcmallocAllocator final : public SystemAllocator {
 public:
  explicit TcmallocAllocator(const Setup& setup) {
    setenv("TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD", "9000000000000", 1);
    void* lib = library("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4");
    malloc_ = function<Malloc>(lib, "tc_memalign");
    free_ = function<Free>(lib, "tc_free");
    usable_ = function<Usable>(lib, "tc_malloc_size");
    free_(malloc_(alignment, 1));
    limit(setup);
  }
  void* take(std::size_t bytes, int) override { return malloc_(alignment, bytes); }
  void give_back(void* p, std::size_t, int) override { free_(p); }
  std::size_t taken(const void* p, std::size_t) const override { return usable_(const_cast<void*>(p)); }

 private:
  using Malloc = void*(std::size_t, std::size_t);
  using Free = void(void*);
  using Usable = std::size_t(void*);
  Malloc* malloc_;
  Free* free_;
  Usable* usable_;
};

}  // namespace

std::unique_ptr<Allocator> make_mimalloc(const Setup& setup) { return std::make_unique<MimallocAllocator>(setup); }
std::unique_ptr<Allocator> make_jemalloc(const Setup& setup) { return std::make_unique<JemallocAllocator>(setup); }
std::unique_ptr<Allocator> make_glibc(const Setup& setup) { return std::make_unique<GlibcAllocator>(setup); }
std::unique_ptr<Allocator> make_tcmalloc(const Setup& setup) { return std::make_unique<TcmallocAllocator>(setup); }

}  // namespace heapbench
