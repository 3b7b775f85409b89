#include "replay.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cstring>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

namespace heapbench {

namespace {

/// Seconds of the processor that this thread had: others on the machine do not count.
double own_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Writes to all pages of a block.
void touch(void* p, std::size_t bytes) {
  auto* data = static_cast<volatile std::byte*>(p);
  for (std::size_t b = 0; b < bytes; b += 4096) data[b] = std::byte{1};
  if (bytes > 0) data[bytes - 1] = std::byte{1};
}

/// Gives back what is left.
void clear(Allocator& allocator, const Workload& workload, std::vector<void*>& blocks) {
  std::vector<Operation> taken(workload.blocks);
  for (const Operation& o : workload.operations) taken[o.block] = o;
  for (std::uint32_t b = 0; b < workload.blocks; ++b)
    if (blocks[b]) allocator.give_back(std::exchange(blocks[b], nullptr), taken[b].bytes, taken[b].rank);
}

/// The largest request that could be satisfied, up to `most`: tried out in a copy of the process.
std::size_t largest_request(Allocator& allocator, std::size_t most) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process to try out requests in");
  if (child == 0) {
    std::size_t fits = 0, does_not = most + 1;
    while (does_not - fits > std::max<std::size_t>(64, fits / 512)) {
      const std::size_t bytes = fits + (does_not - fits) / 2;
      void* p = allocator.take(bytes, 0);
      if (p) allocator.give_back(p, bytes, 0);
      (p ? fits : does_not) = bytes;
    }
    const bool written = write(ends[1], &fits, sizeof fits) == sizeof fits;
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::size_t fits = 0;
  const bool read_all = read(ends[0], &fits, sizeof fits) == sizeof fits;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  if (!read_all) throw std::runtime_error("the process that tries out requests failed");
  return fits;
}

}  // namespace

double time_threads(Allocator& allocator, int threads, int rounds) {
  constexpr std::size_t blocks_each = 256;
  constexpr int calls_per_round = 16384;
  const std::vector<std::size_t> sizes = block_sizes(72);
  struct Block {
    void* p;
    std::size_t bytes;
  };
  std::vector<std::vector<Block>> held(static_cast<std::size_t>(threads),
                                       std::vector<Block>(blocks_each, {nullptr, 0}));
  std::barrier meet(threads);
  std::vector<double> spent(held.size());
  const auto work = [&](int rank) {
    allocator.enter(rank);
    std::uint64_t state = static_cast<std::uint64_t>(rank) + 1;
    const auto random = [&state] {
      state = state * 6364136223846793005u + 1442695040888963407u;
      return state >> 33;
    };
    for (int round = 0; round < rounds; ++round) {
      auto& mine = held[static_cast<std::size_t>(rank)];
      meet.arrive_and_wait();
      const double start = own_seconds();
      for (int i = 0; i < calls_per_round; ++i) {
        Block& b = mine[random() % blocks_each];
        if (b.p) allocator.give_back(b.p, b.bytes, rank);
        b.bytes = sizes[random() % sizes.size()];
        b.p = allocator.take(b.bytes, rank);
      }
      if (round > 0) spent[static_cast<std::size_t>(rank)] += own_seconds() - start;
      meet.arrive_and_wait();
      if (rank == 0)  // the first half of the blocks go to the next rank
        for (std::size_t r = 1; r < held.size(); ++r)
          std::swap_ranges(held[0].begin(), held[0].begin() + blocks_each / 2, held[r].begin());
    }
    meet.arrive_and_wait();
    for (Block& b : held[static_cast<std::size_t>(rank)])
      if (b.p) allocator.give_back(b.p, b.bytes, rank);
  };
  std::vector<std::thread> ranks;
  for (int r = 1; r < threads; ++r) ranks.emplace_back(work, r);
  work(0);
  for (std::thread& t : ranks) t.join();
  double total = 0;
  for (const double s : spent) total += s;
  return total * 1e9 / (2.0 * calls_per_round * (rounds - 1) * threads);
}

Memory measure_memory(Allocator& allocator, const Workload& workload, int samples) {
  std::vector<void*> blocks(workload.blocks);
  Memory m;
  std::size_t live = 0, taken = 0, at_last_look = 0;
  const std::size_t every =
      std::max<std::size_t>(1, workload.operations.size() / static_cast<std::size_t>(std::max(1, samples)));
  std::size_t done = 0;
  m.first_refused = ~std::size_t{0};
  m.largest_at_first = largest_request(allocator, workload.capacity);
  for (const Operation& o : workload.operations) {
    void*& p = blocks[o.block];
    if (o.takes) {
      p = allocator.take(o.bytes, o.rank);
      if (p) {
        touch(p, o.bytes);
        live += o.bytes;
        taken += allocator.taken(p, o.bytes);
        ++m.satisfied;
      } else {
        m.first_refused = std::min(m.first_refused, m.requests);
      }
      ++m.requests;
      m.last_satisfied = p != nullptr;
    } else if (p) {
      live -= o.bytes;
      taken -= allocator.taken(p, o.bytes);
      allocator.give_back(std::exchange(p, nullptr), o.bytes, o.rank);
    }
    ++done;
    const bool sample = samples > 0 && done % every == 0;
    // Between samples: whenever more is in use than ever, by a little.
    if (sample || live > m.peak_live + m.peak_live / 64 || done - at_last_look >= every / 8 + 1000) {
      m.peak_committed = std::max(m.peak_committed, allocator.committed());
      at_last_look = done;
    }
    m.peak_live = std::max(m.peak_live, live);
    if (sample)
      m.samples.push_back({done, live, taken, allocator.committed(), largest_request(allocator, workload.capacity)});
  }
  m.peak_committed = std::max(m.peak_committed, allocator.committed());
  m.first_refused = std::min(m.first_refused, m.requests);
  m.largest_at_end = largest_request(allocator, workload.capacity);
  clear(allocator, workload, blocks);
  m.largest_when_empty = largest_request(allocator, workload.capacity);
  return m;
}

std::string check_blocks(Allocator& allocator, const Workload& workload) {
  std::vector<void*> blocks(workload.blocks);
  std::vector<std::uint32_t> marks(workload.blocks);
  std::uint32_t number = 0;
  const auto fill = [](void* p, std::size_t bytes, std::uint32_t mark) {
    for (std::size_t at = 0; at + sizeof mark <= bytes; at += sizeof mark)
      std::memcpy(static_cast<std::byte*>(p) + at, &mark, sizeof mark);
  };
  const auto holds = [](const void* p, std::size_t bytes, std::uint32_t mark) {
    for (std::size_t at = 0; at + sizeof mark <= bytes; at += sizeof mark)
      if (std::memcmp(static_cast<const std::byte*>(p) + at, &mark, sizeof mark) != 0) return false;
    return true;
  };
  for (const Operation& o : workload.operations) {
    void*& p = blocks[o.block];
    if (o.takes) {
      p = allocator.take(o.bytes, o.rank);
      if (!p) continue;
      if (reinterpret_cast<std::uintptr_t>(p) % 64 != 0) return "a block is not aligned";
      if (allocator.taken(p, o.bytes) < o.bytes) return "a block is too small";
      fill(p, o.bytes, marks[o.block] = ++number);
    } else if (p) {
      if (!holds(p, o.bytes, marks[o.block])) return "a block was written to by another";
      allocator.give_back(std::exchange(p, nullptr), o.bytes, o.rank);
    }
  }
  clear(allocator, workload, blocks);
  return {};
}

}  // namespace heapbench
