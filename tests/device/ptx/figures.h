#pragma once
// Static figures of a kernel: registers that are alive together, occupancy by the rules of NVIDIA's published
// calculator, how a warp's accesses fall together, and an estimate of what bounds its speed.

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "tests/device/ptx/machine.h"

namespace ptx {

/// A kind of GPU. Limits of a multiprocessor: CUDA C++ Programming Guide, "Compute Capabilities", and the occupancy
/// calculator's granularities; rates: NVIDIA's data sheets of the card (boost clock; FP64 without tensor cores).
struct Gpu {
  const char* arch;  // as in tables
  const char*
      assembled;  // what ptxas of CUDA 13 is asked for: it knows no sm_70, whose instructions are coded as sm_75's
  const char* card;
  int warps, blocks, registers, shared_bytes, shared_unit, shared_reserved;  // of a multiprocessor; of a block
  int multiprocessors;
  double clock, bandwidth, fp64;  // Hz, bytes/s, flop/s
  int integers;                   // 32-bit operations a clock and multiprocessor
};
const std::vector<Gpu>& gpus();

/// Share of a multiprocessor's warps that blocks of this kind fill.
double occupancy(const Gpu& gpu, int registers, unsigned threads, unsigned shared_bytes);

/// The most registers of 32 bits that are alive at one place of the text: what an assembler needs at least, about.
int live_registers(const Program& program);

/// How the accesses of one instruction fall together.
struct AccessFigures {
  double useful = 0, moved = 0;                 // bytes of global memory; moved: in sectors of 32 bytes for every warp
  double moved_by_blocks = 0;                   // the same when a block meets every sector once
  double requests = 0, ways = 0, max_ways = 0;  // of shared memory: half warps, and how often banks are asked
};

class AccessObserver final : public Observer {
 public:
  void access(const Access& access) override;
  /// By operation.
  const std::map<const Op*, AccessFigures>& figures();

 private:
  void end_block();
  std::map<const Op*, AccessFigures> figures_;
  std::map<const Op*, std::unordered_set<std::uint64_t>> sectors_;  // of the present block
  unsigned block_ = 0;
};

/// Of all launches of a kernel together.
struct Work {
  double elements = 0;                               // stored, or, where sums are made, multiplied
  double flops = 0, integers = 0, instructions = 0;  // by all threads
  double load_bytes = 0, store_bytes = 0;
  double load_efficiency = 1, store_efficiency = 1, block_efficiency = 1;  // worst instruction's
  double ways = 1, max_ways = 1;
};
Work work_of(const Program& program, const std::vector<std::uint64_t>& executed, AccessObserver& observer);

/// Seconds that the work takes at least, and what bounds it: "memory", "integers" or "arithmetic".
struct Bound {
  double seconds = 0, of_bandwidth = 0;  // share of the bandwidth that is used
  const char* by = "";
};
Bound bound(const Gpu& gpu, const Work& work);

}  // namespace ptx
