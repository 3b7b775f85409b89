#pragma once
// A protocol of the program as a model: its locations, its threads, and what has to hold at the end. explore() runs the
// threads in all orders with all values that the memory model lets them read, up to states that were seen before, and
// stops at the first execution that breaks a property: a require() that fails, two plain accesses that race, threads
// that wait for ever.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/models/memory.h"
#include "tests/models/program.h"
#include "tests/models/sites.h"

namespace sial::models {

class Protocol {
 public:
  explicit Protocol(Weakening weakening = {}) : weakening_(std::move(weakening)) {}
  virtual ~Protocol() = default;
  Protocol(const Protocol&) = delete;
  Protocol& operator=(const Protocol&) = delete;

  virtual int threads() const = 0;
  virtual Task<> run(Thread& t) const = 0;
  /// Behind all threads. Returns what does not hold; empty: all does.
  virtual std::string at_end(const Memory&) const { return {}; }

  /// A weaker order that is seen to be enough, and why the program has the stronger one.
  struct Kept {
    std::string site;
    std::memory_order order;
    std::string reason;
  };
  const std::vector<Site>& sites() const { return sites_; }
  const std::vector<Kept>& kept() const { return kept_; }
  /// Sites that stand in for each other: all of them weakened together have to be seen.
  const std::vector<Weakening>& together() const { return together_; }

  Memory memory() const { return {atomics_, plain_, static_cast<int>(ghosts_.size()), threads()}; }
  std::string describe(const Op& op) const;

 protected:
  Atomic atomic(std::string name, Value first = 0);
  Plain plain(std::string name, Value first = 0);
  Ghost ghost(std::string name);
  /// The orders of an access, as it stands in the program, or as they are weakened.
  Orders site(std::string name, std::string file, std::string text);
  void keep(std::string site, std::memory_order order, std::string reason) {
    kept_.push_back({std::move(site), order, std::move(reason)});
  }
  void weaken_together(Weakening w) { together_.push_back(std::move(w)); }

 private:
  Weakening weakening_;
  std::vector<Site> sites_;
  std::vector<Kept> kept_;
  std::vector<Weakening> together_;
  std::vector<Value> atomics_, plain_;
  std::vector<std::string> atomic_names_, plain_names_, ghosts_;
};

struct Exploration {
  std::string failure;             // empty: everything holds
  std::vector<std::string> trace;  // of the execution that fails, an access a line
  std::int64_t states = 0;
  std::int64_t ends = 0;  // states in which all threads have ended
};

/// `end`: called for each state in which all threads have ended. Aborts with a failure beyond `max_states`.
Exploration explore(const Protocol& protocol, const std::function<void(const Memory&)>& end = {},
                    std::int64_t max_states = 3'000'000);

}  // namespace sial::models
