#pragma once
// The allocators that are compared, behind one interface. Each serves one region of `capacity` bytes (for an allocator
// that asks the system itself: a limit of the process), and every block is aligned to 64 bytes. An allocator is made
// once per process: some have state that cannot be made anew.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace heapbench {

struct Setup {
  std::size_t capacity = 0;  // bytes of all ranks together
  int ranks = 1;
};

class Allocator {
 public:
  virtual ~Allocator() = default;
  /// Null: the request cannot be satisfied. `rank`: who asks.
  virtual void* take(std::size_t bytes, int rank) = 0;
  /// `bytes`: as asked for.
  virtual void give_back(void* p, std::size_t bytes, int rank) = 0;
  /// Bytes that a block takes, with what rounding and headers add.
  virtual std::size_t taken(const void* p, std::size_t bytes) const = 0;
  /// Bytes of memory that the allocator holds now.
  virtual std::size_t committed() = 0;
  /// Before a thread takes or gives back anything as this rank.
  virtual void enter(int /*rank*/) {}
};

/// Why an allocator cannot be had here.
struct Unavailable {
  std::string reason;
};

struct Kind {
  std::string name, about;
  bool policy = false;                               // shows where blocks are placed; its times say nothing
  bool threads = false;                              // several threads may use it at once
  bool real = true;                                  // in use outside of this benchmark
  std::unique_ptr<Allocator> (*make)(const Setup&);  // throws Unavailable
};
const std::vector<Kind>& kinds();
const Kind* kind(const std::string& name);

std::unique_ptr<Allocator> make_node_heap(const Setup& setup);
std::unique_ptr<Allocator> make_node_heap_by_bytes(const Setup& setup);
std::unique_ptr<Allocator> make_mimalloc(const Setup& setup);
std::unique_ptr<Allocator> make_jemalloc(const Setup& setup);
std::unique_ptr<Allocator> make_glibc(const Setup& setup);
std::unique_ptr<Allocator> make_tcmalloc(const Setup& setup);
std::unique_ptr<Allocator> make_tlsf(const Setup& setup);
std::unique_ptr<Allocator> make_dmrt_policy(const Setup& setup);

/// Address range of private memory that the system fills with zeros when it is touched.
class Region {
 public:
  /// `alignment`: a power of two.
  Region(std::size_t bytes, std::size_t alignment);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  std::byte* begin() const { return begin_; }
  std::size_t bytes() const { return bytes_; }
  /// Bytes of its pages that have memory.
  std::size_t resident();

 private:
  std::byte *mapped_ = nullptr, *begin_ = nullptr;
  std::size_t bytes_, mapped_bytes_;
  std::vector<unsigned char> pages_;
};

/// A function of a library that is loaded without its taking the place of malloc(); throws Unavailable.
void* library(const char* file, const char* package);
void* function(void* library, const char* name);
template <class F>
F* function(void* library, const char* name) {
  return reinterpret_cast<F*>(function(library, name));
}

inline std::size_t round_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace heapbench
