#pragma once
// The timeline of one rank: spans of programs, pardos, computation, communication and barriers, each with the statement
// it belongs to. Memory is bounded: when the record is full, the shorter half of its spans is given up, and shorter
// ones are not kept from then on; their number and time are, so that totals stay true. Owned by whoever runs the job,
// filled by one thread. The job's ranks send theirs to rank 0, which writes one file for Chrome's tracing page and
// Perfetto.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/base/output_file.h"
#include "runtime/core/base/shape.h"

namespace sial {

enum class TraceKind : std::int32_t { program, pardo, compute, get, put, fetch_wait, barrier, collective };
inline constexpr int trace_kinds = 8;
enum class TraceLane : std::int32_t { program = 1, compute = 2, communication = 3, barrier = 4 };
TraceLane lane_of(TraceKind kind);
const char* trace_kind_name(TraceKind kind);

struct TraceSpan {
  double begin = 0, end = 0;
  Place place;
  TraceKind kind = TraceKind::compute;
};

class Trace {
 public:
  static constexpr std::size_t default_most_spans = 200'000;
  /// `origin`: the time that becomes 0, the same moment on all ranks. At least 2 spans.
  Trace(std::size_t max_spans, double origin);

  void add(TraceKind kind, Place place, double begin, double end) {
    if (end - begin < shortest_recorded_) return drop({begin, end, place, kind});
    spans_.push_back({begin - origin_, end - origin_, place, kind});
    if (spans_.size() >= max_spans_) thin_out();
  }

  struct Dropped {
    std::int64_t count = 0;
    double seconds = 0;
  };
  const std::vector<TraceSpan>& spans() const { return spans_; }
  const std::array<Dropped, trace_kinds>& dropped() const { return dropped_; }

 private:
  void drop(const TraceSpan& span);
  void thin_out();

  std::size_t max_spans_;
  double origin_;
  double shortest_recorded_ = -1;
  std::vector<TraceSpan> spans_;
  std::array<Dropped, trace_kinds> dropped_{};
};

/// The name of a span and its source line.
struct TraceName {
  std::string name, where;
};
using TraceNamer = std::function<TraceName(const TraceSpan&)>;

/// Writes the file piece by piece. Throws EnvironmentError when it cannot be written.
class TraceWriter {
 public:
  TraceWriter(const std::string& path, int ranks, TraceNamer namer);
  void spans(int rank, std::span<const TraceSpan> spans);
  void dropped(int rank, const std::array<Trace::Dropped, trace_kinds>& dropped);
  void finish();

 private:
  void event(const std::string& text);

  OutputFile out_;
  std::string waiting_;  // for a write that is worth it
  TraceNamer namer_;
  bool first_ = true;
};

}  // namespace sial
