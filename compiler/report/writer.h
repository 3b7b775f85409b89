#pragma once
// Inside the report: lines of text, and figures about a run that several faces of the report show.

#include <fmt/format.h>

#include <iterator>

#include "compiler/report/model.h"

namespace sial::report {

/// Text line by line, without blanks at the ends of lines.
class Writer {
 protected:
  template <class... Args>
  void line(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<Args>(args)...);
    out_.erase(out_.find_last_not_of(' ') + 1);
    out_ += '\n';
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

/// Times of a rank that make up its wall time. Answering other nodes runs beside, on a helper thread.
inline constexpr const char* breakdown_names[] = {"compute", "fetch wait", "lock", "barrier", "checkpoint", "overhead"};
inline constexpr const char* breakdown_counters[] = {"compute_time", "fetch_wait_time", "lock_time",
                                                     "barrier_time", "checkpoint_time", "overhead_time"};
struct RankTimes {
  double wall = 0;
  double part[std::size(breakdown_names)] = {};
  double sum() const;
};
struct Breakdown {
  std::vector<RankTimes> ranks;
  double handler = 0, imbalance = 1;
};
Breakdown breakdown_of(const Run& run);

struct Traffic {
  std::string array;
  std::int64_t moved = 0, in_place = 0, accesses = 0;
  std::int64_t used = 0, on_other_nodes = 0;  // bytes; of them those that lay on another memory node than the rank
};
/// Per array of the program, most bytes first.
std::vector<Traffic> traffic_of(const Run& run);

/// "3 copies of `t` (1.2 MB), 5 spared (2 MB)" for each array of which blocks were copied at the line, or copies
/// spared; empty: none.
std::string copies_at(const Run& run, const std::string& file, int line);

/// Useful: used without waiting; late: its first use had to wait; useless: never used.
struct Prefetches {
  double issued = 0, useful = 0, late = 0, useless = 0;
};
Prefetches prefetches_of(const Run& run);

/// "1 execution", "2 executions".
std::string plural(double n, const char* noun);

}  // namespace sial::report
