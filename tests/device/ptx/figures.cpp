#include "tests/device/ptx/figures.h"

#include <algorithm>
#include <array>
#include <set>

namespace ptx {
namespace {

constexpr int warp = 32;
constexpr double division = 10;       // instructions of a quotient that is rounded right, about
constexpr std::uint64_t sector = 32;  // bytes that global memory moves at once

int rounded(int n, int unit) { return (n + unit - 1) / unit * unit; }

bool computes(const Op& op) { return op.code < OpCode::load; }
bool is_float(OpCode code) {
  switch (code) {
    case OpCode::add_f64:
    case OpCode::sub_f64:
    case OpCode::mul_f64:
    case OpCode::div_f64:
    case OpCode::fma_f64: return true;
    default: return false;
  }
}

}  // namespace

const std::vector<Gpu>& gpus() {
  static const std::vector<Gpu> all = {
      {"sm_70", "sm_75", "V100", 64, 32, 65536, 98304, 256, 0, 80, 1.53e9, 0.90e12, 7.8e12, 64},
      {"sm_80", "sm_80", "A100", 64, 32, 65536, 167936, 128, 1024, 108, 1.41e9, 2.04e12, 9.7e12, 64},
      {"sm_90", "sm_90", "H200", 64, 32, 65536, 233472, 128, 1024, 132, 1.98e9, 4.8e12, 34e12, 64},
      {"sm_100", "sm_100", "B200", 64, 32, 65536, 233472, 128, 1024, 148, 1.97e9, 8.0e12, 37e12, 128},
  };
  return all;
}

double occupancy(const Gpu& gpu, int registers, unsigned threads, unsigned shared_bytes) {
  const int warps = rounded(static_cast<int>(threads), warp) / warp;
  int blocks = std::min(gpu.blocks, gpu.warps / warps);
  // Registers go to warps in units of 256, and the four parts of a multiprocessor have a quarter each.
  const int of_warp = rounded(std::max(registers, 1) * warp, 256);
  blocks = std::min(blocks, gpu.registers / 4 / of_warp * 4 / warps);
  const int of_block = rounded(static_cast<int>(shared_bytes) + gpu.shared_reserved, gpu.shared_unit);
  if (of_block > 0) blocks = std::min(blocks, gpu.shared_bytes / of_block);
  return static_cast<double>(blocks * warps) / gpu.warps;
}

int live_registers(const Program& program) {
  const auto slots = static_cast<std::size_t>(program.slots);
  std::vector<int> units(slots, 0);  // constants and special registers take none
  for (const Registers& r : program.registers)
    for (int k = 0; k < r.count; ++k) units[static_cast<std::size_t>(r.first + k)] = r.units;
  // Backwards until nothing changes: what is alive before an operation.
  const std::size_t n = program.ops.size();
  std::vector<std::vector<bool>> alive(n + 1, std::vector<bool>(slots, false));
  const auto before = [&](std::size_t k) {
    const Op& op = program.ops[k];
    std::vector<bool> now(slots, false);
    if (op.code != OpCode::ret && (op.code != OpCode::branch || op.guard != no_slot)) now = alive[k + 1];
    if (op.code == OpCode::branch) {
      const std::vector<bool>& there = alive[static_cast<std::size_t>(op.target)];
      for (std::size_t s = 0; s < slots; ++s)
        if (there[s]) now[s] = true;
    }
    for (const int d : op.d)
      if (d != no_slot && op.guard == no_slot) now[static_cast<std::size_t>(d)] = false;
    for (const int s : {op.s[0], op.s[1], op.s[2], op.s[3], op.base, op.guard})
      if (s != no_slot) now[static_cast<std::size_t>(s)] = true;
    return now;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t k = n; k-- > 0;) {
      std::vector<bool> now = before(k);
      if (now != alive[k]) {
        alive[k] = std::move(now);
        changed = true;
      }
    }
  }
  int most = 0;
  for (const auto& set : alive) {
    int sum = 0;
    for (std::size_t s = 0; s < slots; ++s) sum += set[s] ? units[s] : 0;
    most = std::max(most, sum);
  }
  return most;
}

void AccessObserver::access(const Access& access) {
  if (access.block != block_) end_block();
  block_ = access.block;
  AccessFigures& f = figures_[access.op];
  const std::uint64_t bytes = std::uint64_t{access.op->parts} * access.op->bytes;
  for (std::size_t k = 0; k < access.threads.size();) {
    const int of = access.threads[k] / warp;
    std::size_t end = k;
    while (end < access.threads.size() && access.threads[end] / warp == of) ++end;
    if (access.op->space == Space::global) {
      std::set<std::uint64_t> sectors, words;
      for (std::size_t t = k; t < end; ++t)
        for (std::uint64_t at = access.addresses[t]; at < access.addresses[t] + bytes; at += 8) {
          words.insert(at);
          sectors.insert(at / sector);
        }
      f.useful += static_cast<double>((8 * words.size() + sector - 1) / sector * sector);
      f.moved += static_cast<double>(sector * sectors.size());
      sectors_[access.op].insert(sectors.begin(), sectors.end());
    } else {
      // Eight bytes a thread: half a warp at a time, in sixteen pairs of banks.
      for (std::size_t half = k; half < end;) {
        std::array<std::set<std::uint64_t>, 16> banks;
        const int which = access.threads[half] / 16;
        for (; half < end && access.threads[half] / 16 == which; ++half)
          banks[access.addresses[half] / 8 % 16].insert(access.addresses[half]);
        std::size_t ways = 0;
        for (const auto& b : banks) ways = std::max(ways, b.size());
        f.requests += 1;
        f.ways += static_cast<double>(ways);
        f.max_ways = std::max(f.max_ways, static_cast<double>(ways));
      }
    }
    k = end;
  }
}

void AccessObserver::end_block() {
  for (auto& [op, sectors] : sectors_) {
    figures_[op].moved_by_blocks += static_cast<double>(sector * sectors.size());
    sectors.clear();
  }
}

const std::map<const Op*, AccessFigures>& AccessObserver::figures() {
  end_block();
  return figures_;
}

Work work_of(const Program& program, const std::vector<std::uint64_t>& executed, AccessObserver& observer) {
  Work w;
  double loaded = 0, stored = 0, requests = 0, ways = 0;
  for (std::size_t k = 0; k < program.ops.size(); ++k) {
    const Op& op = program.ops[k];
    const auto n = static_cast<double>(executed[k]);
    w.instructions += n;
    if (is_float(op.code))
      w.flops += op.code == OpCode::fma_f64 ? 2 * n : op.code == OpCode::div_f64 ? division * n : n;
    else if (computes(op)) w.integers += n;
    if (op.space != Space::global) continue;
    (op.code == OpCode::load ? loaded : stored) += n * op.parts;
  }
  for (const auto& [op, f] : observer.figures()) {
    if (op->space == Space::shared) {
      requests += f.requests;
      ways += f.ways;
      w.max_ways = std::max(w.max_ways, f.max_ways);
      continue;
    }
    double& worst = op->code == OpCode::load ? w.load_efficiency : w.store_efficiency;
    worst = std::min(worst, f.useful / f.moved);
    w.block_efficiency = std::min(w.block_efficiency, f.useful / f.moved_by_blocks);
    (op->code == OpCode::load ? w.load_bytes : w.store_bytes) += f.moved_by_blocks;
  }
  if (requests > 0) w.ways = ways / requests;
  w.elements = stored >= loaded / 16 ? stored : loaded / 2;
  return w;
}

Bound bound(const Gpu& gpu, const Work& work) {
  const double memory = (work.load_bytes + work.store_bytes) / gpu.bandwidth;
  const double integers = work.integers / (gpu.multiprocessors * gpu.clock * gpu.integers);
  const double arithmetic = work.flops / (gpu.fp64 / 2);  // without fused operations half of it
  Bound b{std::max({memory, integers, arithmetic}), 0, "memory"};
  if (b.seconds == integers) b.by = "integers";
  else if (b.seconds == arithmetic) b.by = "arithmetic";
  b.of_bandwidth = b.seconds > 0 ? memory / b.seconds : 0;
  return b;
}

}  // namespace ptx
