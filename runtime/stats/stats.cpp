#include "runtime/stats/stats.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "runtime/base/check.h"

namespace sial {
namespace {

constexpr CounterRow rows[] = {
#define COUNTER(number, name, unit, combine, meaning) {number, #name, unit, Combine::combine, meaning},
#include "runtime/stats/counters.def"
#undef COUNTER
};

class Packer {
 public:
  template <class T>
  void value(const T& v) {
    const auto* p = reinterpret_cast<const std::byte*>(&v);
    bytes_.insert(bytes_.end(), p, p + sizeof v);
  }
  void text(const std::string& s) {
    value(static_cast<std::uint64_t>(s.size()));
    const auto* p = reinterpret_cast<const std::byte*>(s.data());
    bytes_.insert(bytes_.end(), p, p + s.size());
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  void value(T& v) {
    SIAL_CHECK(bytes_.size() >= sizeof v, "statistics message too short: {} bytes left", bytes_.size());
    std::memcpy(&v, bytes_.data(), sizeof v);
    bytes_ = bytes_.subspan(sizeof v);
  }
  void text(std::string& s) {
    std::uint64_t n = 0;
    value(n);
    SIAL_CHECK(bytes_.size() >= n, "statistics message too short: {} bytes left, {} needed", bytes_.size(), n);
    s.assign(reinterpret_cast<const char*>(bytes_.data()), n);
    bytes_ = bytes_.subspan(n);
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

std::span<const CounterRow> counter_rows() { return rows; }

double JobStats::hit_ratio() const {
  const double accesses = total[Counter::accesses];
  return accesses > 0 ? 1.0 - total[Counter::blocked_accesses] / accesses : 1.0;
}

std::vector<std::byte> pack_stats(const Stats& stats) {
  Packer p;
  p.value(stats.value);
  p.value(static_cast<std::uint64_t>(stats.lines.size()));
  for (const LineCost& l : stats.lines) {
    p.text(l.program);
    p.text(l.file);
    p.value(l.line);
    p.value(l.executions);
    p.value(l.seconds);
    p.value(l.compute_seconds);
    p.value(l.flops);
  }
  p.value(static_cast<std::uint64_t>(stats.accesses.size()));
  for (const AccessCost& a : stats.accesses) {
    p.text(a.program);
    p.text(a.file);
    p.text(a.array);
    p.value(a.line);
    p.value(a.accesses);
    p.value(a.blocked);
    p.value(a.bytes);
    p.value(a.moved);
    p.value(a.in_place);
    p.value(a.firsts);
    p.value(a.wait_seconds);
    p.value(a.first_wait_seconds);
    p.value(a.prefetched);
    p.value(a.late);
    p.value(a.too_large);
    p.value(a.too_large_bytes);
    p.value(a.enough_memory);
  }
  p.value(static_cast<std::uint64_t>(stats.copies.size()));
  for (const CopyCost& c : stats.copies) {
    p.text(c.program);
    p.text(c.file);
    p.text(c.array);
    p.value(c.line);
    p.value(c.copied);
    p.value(c.bytes_copied);
    p.value(c.elided);
    p.value(c.bytes_elided);
  }
  return p.take();
}

Stats unpack_stats(std::span<const std::byte> bytes) {
  Unpacker u(bytes);
  Stats stats;
  u.value(stats.value);
  std::uint64_t n = 0;
  u.value(n);
  for (; n > 0; --n) {
    LineCost l;
    u.text(l.program);
    u.text(l.file);
    u.value(l.line);
    u.value(l.executions);
    u.value(l.seconds);
    u.value(l.compute_seconds);
    u.value(l.flops);
    stats.lines.push_back(std::move(l));
  }
  u.value(n);
  for (; n > 0; --n) {
    AccessCost a;
    u.text(a.program);
    u.text(a.file);
    u.text(a.array);
    u.value(a.line);
    u.value(a.accesses);
    u.value(a.blocked);
    u.value(a.bytes);
    u.value(a.moved);
    u.value(a.in_place);
    u.value(a.firsts);
    u.value(a.wait_seconds);
    u.value(a.first_wait_seconds);
    u.value(a.prefetched);
    u.value(a.late);
    u.value(a.too_large);
    u.value(a.too_large_bytes);
    u.value(a.enough_memory);
    stats.accesses.push_back(std::move(a));
  }
  u.value(n);
  for (; n > 0; --n) {
    CopyCost c;
    u.text(c.program);
    u.text(c.file);
    u.text(c.array);
    u.value(c.line);
    u.value(c.copied);
    u.value(c.bytes_copied);
    u.value(c.elided);
    u.value(c.bytes_elided);
    stats.copies.push_back(std::move(c));
  }
  return stats;
}

namespace {

using LineMap = std::map<std::tuple<std::string, std::string, std::int32_t>, LineCost>;
using AccessMap = std::map<std::tuple<std::string, std::string, std::int32_t, std::string>, AccessCost>;
using CopyMap = std::map<std::tuple<std::string, std::string, std::int32_t, std::string>, CopyCost>;

LineCost& row_of(LineMap& lines, const LineCost& l) {
  LineCost& row = lines[{l.program, l.file, l.line}];
  if (row.program.empty()) row.program = l.program, row.file = l.file, row.line = l.line;
  return row;
}

void add(LineMap& lines, const LineCost& l) {
  LineCost& row = row_of(lines, l);
  row.executions += l.executions;
  row.seconds += l.seconds;
  row.compute_seconds += l.compute_seconds;
  row.flops += l.flops;
}

void add(AccessMap& accesses, const AccessCost& a) {
  AccessCost& row = accesses[{a.program, a.file, a.line, a.array}];
  if (row.program.empty()) row.program = a.program, row.file = a.file, row.array = a.array, row.line = a.line;
  row.accesses += a.accesses;
  row.blocked += a.blocked;
  row.bytes += a.bytes;
  row.moved += a.moved;
  row.in_place += a.in_place;
  row.firsts += a.firsts;
  row.wait_seconds += a.wait_seconds;
  row.first_wait_seconds += a.first_wait_seconds;
  row.prefetched += a.prefetched;
  row.late += a.late;
  row.too_large += a.too_large;
  row.too_large_bytes = std::max(row.too_large_bytes, a.too_large_bytes);
  row.enough_memory = std::max(row.enough_memory, a.enough_memory);
}

void add(CopyMap& copies, const CopyCost& c) {
  CopyCost& row = copies[{c.program, c.file, c.line, c.array}];
  if (row.program.empty()) row.program = c.program, row.file = c.file, row.array = c.array, row.line = c.line;
  row.copied += c.copied;
  row.bytes_copied += c.bytes_copied;
  row.elided += c.elided;
  row.bytes_elided += c.bytes_elided;
}

}  // namespace

JobStats reduce_stats(std::vector<Stats> ranks) {
  JobStats job;
  LineMap lines;
  AccessMap accesses;
  CopyMap copies;
  for (Stats& rank : ranks) {
    for (int i = 0; i < counter_count; ++i) {
      double& total = job.total.value[i];
      total = rows[i].combine == Combine::sum ? total + rank.value[i] : std::max(total, rank.value[i]);
    }
    LineMap own;
    for (const LineCost& l : rank.lines) add(own, l);
    for (const auto& [key, l] : own) {
      add(lines, l);
      LineCost& total = row_of(lines, l);
      total.slowest_seconds = std::max(total.slowest_seconds, l.seconds);
    }
    for (const AccessCost& a : rank.accesses) add(accesses, a);
    for (const CopyCost& c : rank.copies) add(copies, c);
    rank.lines.clear();
    rank.copies.clear();
    rank.accesses.clear();
  }
  for (auto& [key, line] : lines) job.total.lines.push_back(std::move(line));
  for (auto& [key, access] : accesses) job.total.accesses.push_back(std::move(access));
  for (auto& [key, copy] : copies) job.total.copies.push_back(std::move(copy));
  job.per_rank = std::move(ranks);
  return job;
}

}  // namespace sial
