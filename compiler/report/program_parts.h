#pragma once
// Inside predictions: the parts that a program's lines belong to, and its sizes in a job. Facts about a module and a
// run.

#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/report/model.h"
#include "runtime/core/base/ids.h"
#include "runtime/core/bytecode/evaluate/slice.h"

namespace sial::report {

using LineKey = std::pair<std::string, int>;

/// The part that each line belongs to: a pardo, or an outermost serial loop with an access slice that gets in which
/// ranks do not meet (its loop row), with the procedures it calls; or the code outside (-1). A procedure called from a
/// part and from elsewhere counts to the part, and so does a line that both share.
class Parts {
 public:
  explicit Parts(const Module& m);
  LineKey line_of(std::int32_t pc) const {
    return {m_.files[static_cast<std::size_t>(m_.places[static_cast<std::size_t>(pc)].file)],
            m_.places[static_cast<std::size_t>(pc)].line};
  }
  std::int32_t part_of_pc(std::int32_t pc) const { return part_[static_cast<std::size_t>(pc)]; }
  /// -2: no line of the program.
  std::int32_t part_of(const LineKey& line) const;
  /// Outside of parts, and where ranks meet: barriers and other collectives.
  bool is_synchronization(const LineKey& line) const { return synchronizations_.contains(line); }
  /// Nothing stands there but a pardo's begin or end, where iterations are drawn.
  bool is_draw(const LineKey& line) const { return draws_.contains(line); }

  /// The steps of a program, in its order, each loop and branch once, procedures in the place of their calls. Where
  /// ranks meet in a loop, what it does up to its first synchronization follows once more at its end: that is where its
  /// next iteration meets. The first time belongs to the first iteration, the second to all others.
  enum class What { part, synchronization, barrier, keep, put };
  enum class Turn { every, first, other };
  struct Event {
    What what = What::part;
    std::int32_t row = 0;  // loop row, pc, pc, array row, pc
    Turn turn = Turn::every;
    std::int32_t loop = -1, synchronization = -1;  // whose turn: loop row, pc of its first synchronization
  };
  const std::vector<Event>& events() const { return events_; }

 private:
  void follow(std::int32_t begin, std::int32_t end, std::set<std::int32_t>& callers);
  void repeat(std::size_t first, std::int32_t loop);
  bool has_synchronization(const LoopRow& loop) const;

  const Module& m_;
  std::vector<Event> events_;
  std::vector<std::int32_t> part_;
  std::map<LineKey, std::int32_t> part_of_;
  std::set<LineKey> synchronizations_, draws_;
};

/// The sizes of a job, for one module. Throws SialError when the run does not say them.
class Sizes {
 public:
  Sizes(const Module& m, const Run& run);
  const std::vector<IndexRange>& ranges() const { return ranges_; }
  std::span<const std::int32_t> ints() const { return ints_; }
  std::span<const double> scalars() const { return scalars_; }
  /// First value of every index.
  std::span<const std::int32_t> firsts() const { return firsts_; }
  double bytes(const FetchRequest& get) const;
  /// The bytes of a mean block.
  double bytes(const RefRow& ref) const;

 private:
  double extent(IndexId index, std::int32_t segment) const;
  double mean_extent(IndexId index) const;

  const Module& m_;
  const Run& run_;
  std::vector<IndexRange> ranges_;
  std::vector<std::int32_t> ints_, firsts_;
  std::vector<double> scalars_;
};

}  // namespace sial::report
