#pragma once
// Carries out launches of a kernel, strictly: what a GPU might pass over is an error that names kernel, block, thread
// and line. Threads of a block go on together, those first that are furthest behind in the text; nothing depends on it,
// as whatever could is an error. Registers and shared memory are lost between blocks, and hold poison at first.
//
// Errors: access outside registered memory, shared memory or the parameter; a misaligned one; shared memory that is
// read before it is written; two threads at the same eight bytes of shared memory between barriers, one of them
// writing; a barrier that not all threads of a block come to; a register that is read before it is written; a stored
// value that stems from poison; two threads writing the same eight bytes of global memory in one launch, or one of them
// where `nc` promises that nobody does; a launch with more threads, other parameters or more shared memory than it may
// have, or one that does not end.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/device/ptx/memory.h"
#include "tests/device/ptx/program.h"

namespace ptx {

struct Launch {
  unsigned blocks = 1, threads = 1, shared_bytes = 0;
};

/// One instruction's access to global or shared memory, by the threads of a block that come to it together.
struct Access {
  const Op* op = nullptr;
  unsigned block = 0;
  std::span<const std::uint16_t> threads;
  std::span<const std::uint64_t> addresses;  // of shared memory: from its beginning
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void access(const Access& access) = 0;
};

class Machine {
 public:
  /// Both outlive the machine.
  Machine(const Program& program, Memory& memory);
  /// Throws Error. Blocks go one after the other, in a row that `seed` chooses (0: by number).
  void launch(const Launch& launch, std::span<const std::byte> arguments, Observer* observer = nullptr,
              std::uint64_t seed = 0);
  /// How often each operation was carried out by a thread, in all launches so far.
  const std::vector<std::uint64_t>& executed() const { return executed_; }

  /// Operations that the threads of one block carry out together, at most; the default is far more than any kernel of
  /// ours takes.
  std::uint64_t max_steps = 2'000'000;

  static constexpr unsigned most_threads = 1024, max_shared = 48 * 1024;

 private:
  using Mask = std::uint64_t;
  struct SharedNote {
    std::uint32_t block = 0;  // that wrote it last, as counted by this machine
    std::uint32_t written_at = 0, writer = 0, read_at = 0, reader = 0;  // at: barriers passed
    bool many_readers = false;
  };
  struct Group {
    int at = 0;
    std::vector<Mask> mask;
  };

  void run_block();
  void run_operation(const Op& op);
  void leave_for(int at, const std::vector<Mask>& mask, std::vector<Group>& groups) const;
  void list_lanes();
  bool take_next();
  void pass_barrier();
  void branch(const Op& op);
  void load(const Op& op);
  void store(const Op& op);
  std::uint64_t address(const Op& op, std::uint16_t thread) const;
  void check_shared(const Op& op, std::uint64_t offset, std::uint16_t thread);
  const Memory::Piece& check_global(const Op& op, std::uint64_t address, std::uint16_t thread);
  void check_read(const Op& op, int slot);
  void mark_written(int slot);
  void tell(const Op& op);
  std::uint64_t* row(int slot) { return registers_.data() + static_cast<std::size_t>(slot) * stride_; }
  const std::uint64_t* row(int slot) const { return registers_.data() + static_cast<std::size_t>(slot) * stride_; }
  Mask* ready(int slot) { return ready_.data() + static_cast<std::size_t>(slot) * words_; }
  std::string name_of(int slot) const;
  [[noreturn]] void fail(const Op& op, unsigned thread, const std::string& what) const;

  const Program& program_;
  Memory& memory_;
  Launch launch_;
  std::span<const std::byte> arguments_;
  Observer* observer_ = nullptr;
  std::uint32_t number_ = 0;  // of the launch
  unsigned block_ = 0;
  std::size_t stride_ = 0, words_ = 0;
  std::vector<std::uint64_t> registers_;  // by slot and thread
  std::vector<Mask> ready_;               // which threads have written a slot
  std::vector<std::byte> shared_;
  std::vector<SharedNote> shared_notes_;
  std::uint32_t blocks_run_ = 0, barriers_ = 0;
  // The threads that go on at present.
  int at_ = 0;
  std::vector<Mask> mask_;
  std::vector<std::uint16_t> lanes_;
  bool dense_ = false;                   // all threads of the block
  std::vector<Group> others_, waiting_;  // others_: by `at`, last first
  std::size_t exited_ = 0;
  std::vector<std::uint64_t> addresses_;
  const Memory::Piece* last_ = nullptr;
  std::vector<std::uint64_t> executed_;
  std::uint64_t steps_ = 0;
};

}  // namespace ptx
