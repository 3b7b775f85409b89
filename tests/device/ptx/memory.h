#pragma once
// Global memory as kernels see it: pieces of this process's memory that somebody has registered, with a note for every
// eight bytes of who wrote them in the present launch. What was given back is remembered, to be named in errors.
//
// Memory that nobody has written yet is filled with `poison`, a NaN of its own kind. Arithmetic hands it on, and a
// kernel that stores what stems from it is in error; what is read and then thrown away is not.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace ptx {

constexpr std::uint64_t poison = 0x7ff45a5adeadbeef;
/// Also after arithmetic has made it quiet, or has changed its sign.
constexpr bool is_poison(std::uint64_t bits) {
  return (bits & ~(std::uint64_t{1} << 63 | std::uint64_t{1} << 51)) == poison;
}
void fill_with_poison(void* p, std::size_t bytes);

class Memory {
 public:
  /// What one launch did to eight bytes.
  struct Note {
    std::uint32_t written_in = 0, writer = 0;     // number of the launch; block * threads + thread
    std::uint32_t unchanging_in = 0, reader = 0;  // read as memory that nobody writes
  };
  struct Piece {
    std::uint64_t begin = 0, end = 0;
    std::string name;
    bool constant = false;  // kernels must not write there
    struct Free {
      void operator()(void* p) const;
    };
    std::unique_ptr<Note, Free> notes;
    Note& note(std::uint64_t address) const { return notes.get()[address / 8 - begin / 8]; }
  };

  /// The memory stays the caller's. Pieces must not overlap.
  void add(const void* p, std::size_t bytes, std::string name = "memory", bool constant = false);
  void remove(const void* p);
  bool has(const void* p) const { return pieces_.count(reinterpret_cast<std::uint64_t>(p)) != 0; }
  /// The piece that holds all these bytes; null: none does.
  const Piece* find(std::uint64_t address, std::size_t bytes) const;
  /// Why there is none.
  std::string explain(std::uint64_t address, std::size_t bytes) const;
  std::uint32_t next_launch() { return ++launch_; }

 private:
  std::map<std::uint64_t, Piece> pieces_;                                // by begin
  std::map<std::uint64_t, std::pair<std::uint64_t, std::string>> gone_;  // begin: end, name
  std::uint32_t launch_ = 0;
};

}  // namespace ptx
