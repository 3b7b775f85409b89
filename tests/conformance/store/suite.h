#pragma once
// The behaviour of the store as bodies that run on every rank of a job, on any transport. Failures are exceptions, so
// the same bodies run in the simulator, on real threads and under mpirun. Servers only need serve().

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/core/base/ids.h"
#include "runtime/core/store/store.h"

namespace sial::suite {

#define EXPECT(condition)                                                                                          \
  do {                                                                                                             \
    if (!(condition))                                                                                              \
      throw std::runtime_error(std::string(__FILE__) + ":" + std::to_string(__LINE__) + ": expected " #condition); \
  } while (false)

using Values = std::vector<double>;

/// Which implementation of the store a body works with.
using StoreMaker = std::function<std::unique_ptr<BlockStore>(Transport&, const StoreOptions&)>;
std::unique_ptr<BlockStore> real_store(Transport& transport, const StoreOptions& options);

/// A job's store with a few arrays, begun as program 0; steps that need the ranks in line use `meet`, which is a
/// barrier of the transport and not of the store.
class Job {
 public:
  Job(Transport& transport, const StoreOptions& options = {}, const StoreMaker& make = real_store);
  void begin(std::int32_t program);
  void meet();
  Values read(ArrayId array, const BlockIndex& block, std::int64_t size);
  void get(ArrayId array, const BlockIndex& block, std::int64_t size) {
    store->fetch().end_statement();
    store->fetch().get(array, block, size, next());
  }
  void put(ArrayId array, const BlockIndex& block, const Values& v) {
    store->update().put(array, block, static_cast<std::int64_t>(v.size()), v.data(), next());
  }
  void accumulate(ArrayId array, const BlockIndex& block, const Values& v) {
    store->update().accumulate(array, block, static_cast<std::int64_t>(v.size()), v.data(), next());
  }
  void accumulate_later(ArrayId array, const BlockIndex& block, const Values& v) {
    store->update().accumulate_later(array, block, static_cast<std::int64_t>(v.size()), v.data(), next());
  }
  void barrier() { store->synchronization().barrier({program, 1}); }
  /// Memory in use by blocks of this rank's share; what others still hand back is waited for.
  bool everything_freed();
  Place next() { return {program, 100 + rank * 1000 + ++statement}; }

  Transport& transport;
  const int rank, ranks;
  std::unique_ptr<BlockStore> store;
  std::int32_t program = 0;

 private:
  int statement = 0;
};

inline constexpr int n_arrays = 3;

inline BlockIndex at(int i, int j = 0) { return {2, {i, j}}; }
inline Values of(double x, std::size_t n = 20) { return Values(n, x); }
bool refused(const std::function<void()>& f);

/// Random programs that keep the phase rule, compared with a model after every step. The seed decides the store's mode
/// as well.
void history(Transport& transport, std::uint64_t seed, int programs, int phases, const StoreMaker& make = real_store);
void serve_history(Transport& transport, std::uint64_t seed, const StoreMaker& make = real_store);

struct Rule {
  const char* name;
  std::function<void(Job&)> run;  // begins and ends in a fresh program
};
const std::vector<Rule>& rules();
const std::vector<Rule>& rules_of_elision();
const std::vector<Rule>& prefetch_rules();
const std::vector<Rule>& incoming_rules();
const std::vector<Rule>& snapshot_rules();
/// One of them; the number of blocks of this rank's that went on before all of them had come.
int blocks_go_on_as_they_come(Job& j);
/// All rules on one job; for servers too.
void run_rules(Transport& transport, StoreOptions options = {}, const StoreMaker& make = real_store);
/// A server's part in any job of this suite.
void serve(Transport& transport, const StoreOptions& options = {}, const StoreMaker& make = real_store);
/// Accumulates numbers whose sum depends on the order, with `deterministic`; the result must have the bits of the
/// (rank, sequence) order.
void deterministic_sum(Transport& transport, std::uint64_t seed);

}  // namespace sial::suite
