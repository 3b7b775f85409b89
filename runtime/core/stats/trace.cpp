#include "runtime/core/stats/trace.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/core/base/check.h"
#include "runtime/core/base/json.h"

namespace sial {

TraceLane lane_of(TraceKind kind) {
  switch (kind) {
    case TraceKind::program:
    case TraceKind::pardo: return TraceLane::program;
    case TraceKind::compute: return TraceLane::compute;
    case TraceKind::get:
    case TraceKind::put:
    case TraceKind::fetch_wait: return TraceLane::communication;
    case TraceKind::barrier:
    case TraceKind::collective: return TraceLane::barrier;
  }
  return TraceLane::program;
}

const char* trace_kind_name(TraceKind kind) {
  static constexpr const char* names[trace_kinds] = {"program", "pardo",      "compute", "get",
                                                     "put",     "fetch wait", "barrier", "collective"};
  return names[static_cast<int>(kind)];
}

Trace::Trace(std::size_t max_spans, double origin) : max_spans_(max_spans), origin_(origin) {
  SIAL_CHECK(max_spans >= 2, "a trace of {} spans", max_spans);
}

void Trace::drop(const TraceSpan& span) {
  Dropped& d = dropped_[static_cast<std::size_t>(span.kind)];
  ++d.count;
  d.seconds += span.end - span.begin;
}

// Half of the spans go at a time, so that each is looked at twice at most on average.
void Trace::thin_out() {
  const auto length = [](const TraceSpan& s) { return s.end - s.begin; };
  std::vector<double> lengths(spans_.size());
  std::transform(spans_.begin(), spans_.end(), lengths.begin(), length);
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  // Spans as long as the middle one go too: many may be equally long.
  shortest_recorded_ = std::nextafter(*middle, HUGE_VAL);
  std::erase_if(spans_, [&](const TraceSpan& s) {
    if (length(s) >= shortest_recorded_) return false;
    drop(s);
    return true;
  });
}

TraceWriter::TraceWriter(const std::string& path, int ranks, TraceNamer namer)
    : out_(path, "choose another place with --trace"), namer_(std::move(namer)) {
  waiting_ = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  for (int r = 0; r < ranks; ++r) {
    event(fmt::format(R"({{"ph":"M","name":"process_name","pid":{0},"args":{{"name":"rank {0}"}}}})", r));
    for (const auto& [lane, name] : {std::pair{TraceLane::program, "program"},
                                     {TraceLane::compute, "compute"},
                                     {TraceLane::communication, "communication"},
                                     {TraceLane::barrier, "barrier"}})
      event(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})", r,
                        static_cast<int>(lane), name));
  }
}

void TraceWriter::event(const std::string& text) {
  constexpr std::size_t piece = std::size_t{1} << 20;
  if (!first_) waiting_ += ",\n";
  first_ = false;
  waiting_ += text;
  if (waiting_.size() < piece) return;
  out_.write(waiting_);
  waiting_.clear();
}

// Ends are rounded like beginnings, to whole nanoseconds: what is nested stays nested.
void TraceWriter::spans(int rank, std::span<const TraceSpan> spans) {
  const auto quoted = [](const std::string& s) { return json_text(s, -1); };
  const auto nanoseconds = [](double t) { return static_cast<std::int64_t>(std::floor(t * 1e9)); };
  const auto microseconds = [](std::int64_t ns) {
    return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", std::abs(ns) / 1000, std::abs(ns) % 1000);
  };
  for (const TraceSpan& s : spans) {
    const TraceName name = namer_(s);
    const std::int64_t begin = nanoseconds(s.begin), end = nanoseconds(s.end);
    event(fmt::format(R"({{"ph":"X","pid":{},"tid":{},"cat":"{}","name":{},"ts":{},"dur":{},"args":{{"at":{}}}}})",
                      rank, static_cast<int>(lane_of(s.kind)), trace_kind_name(s.kind), quoted(name.name),
                      microseconds(begin), microseconds(end - begin), quoted(name.where)));
  }
}

void TraceWriter::dropped(int rank, const std::array<Trace::Dropped, trace_kinds>& dropped) {
  for (int k = 0; k < trace_kinds; ++k) {
    const Trace::Dropped& d = dropped[static_cast<std::size_t>(k)];
    if (d.count == 0) continue;
    event(
        fmt::format(R"({{"ph":"M","name":"left_out","pid":{},"cat":"{}","args":{{"spans":{},"microseconds":{:.3f}}}}})",
                    rank, trace_kind_name(static_cast<TraceKind>(k)), d.count, d.seconds * 1e6));
  }
}

void TraceWriter::finish() {
  out_.write(waiting_ + "\n]}\n");
  out_.finish();
}

}  // namespace sial
