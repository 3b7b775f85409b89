#include "runtime/stats/stats.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "runtime/base/error.h"

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
    need(sizeof v);
    std::memcpy(&v, bytes_.data(), sizeof v);
    bytes_ = bytes_.subspan(sizeof v);
  }
  void text(std::string& s) {
    std::uint64_t n = 0;
    value(n);
    need(n);
    s.assign(reinterpret_cast<const char*>(bytes_.data()), n);
    bytes_ = bytes_.subspan(n);
  }
  bool done() const { return bytes_.empty(); }

 private:
  /// They may come from a checkpoint, which may be damaged.
  void need(std::uint64_t n) const {
    if (bytes_.size() < n) throw SialError(fmt::format("the statistics end too early: {} bytes are left, {} are needed", bytes_.size(), n));
  }

  std::span<const std::byte> bytes_;
};

}  // namespace

std::span<const CounterRow> counter_rows() { return rows; }

bool Stats::has(Counter c) const {
  return c < Counter::device_kernel_time || c > Counter::device_wait_time || (*this)[Counter::device_timed] > 0;
}

double JobStats::hit_ratio() const {
  const double accesses = total[Counter::accesses];
  return accesses > 0 ? 1.0 - total[Counter::blocked_accesses] / accesses : 1.0;
}

namespace {

/// The fields of a row, in the order in which they travel: one list for packing and unpacking.
template <class Codec, class Row>
void line_fields(Codec& c, Row& l) {
  c.text(l.program);
  c.text(l.file);
  c.value(l.line);
  c.value(l.executions);
  c.value(l.seconds);
  c.value(l.compute_seconds);
  c.value(l.flops);
}

template <class Codec, class Row>
void access_fields(Codec& c, Row& a) {
  c.text(a.program);
  c.text(a.file);
  c.text(a.array);
  c.value(a.line);
  c.value(a.accesses);
  c.value(a.blocked);
  c.value(a.bytes);
  c.value(a.moved);
  c.value(a.in_place);
  c.value(a.firsts);
  c.value(a.wait_seconds);
  c.value(a.first_wait_seconds);
  c.value(a.prefetched);
  c.value(a.late);
  c.value(a.too_large);
  c.value(a.too_large_bytes);
  c.value(a.enough_memory);
}

template <class Codec, class Row>
void copy_fields(Codec& c, Row& r) {
  c.text(r.program);
  c.text(r.file);
  c.text(r.array);
  c.value(r.line);
  c.value(r.copied);
  c.value(r.bytes_copied);
  c.value(r.elided);
  c.value(r.bytes_elided);
}

template <class Codec, class Row>
void kernel_fields(Codec& c, Row& k) {
  c.text(k.program);
  c.text(k.file);
  c.text(k.way);
  c.text(k.why);
  c.value(k.line);
  c.value(k.calls);
  c.value(k.flops);
  c.value(k.bytes);
  c.value(k.seconds);
  c.value(k.largest);
}

template <class Codec, class Code>
void code_fields(Codec& c, Code& code) {
  c.text(code.state);
  c.value(code.asked);
  c.value(code.compiled);
  c.value(code.from_disk);
  c.value(code.failed);
  c.value(code.compile_seconds);
  c.value(code.engine);
}

template <class Codec, class Transfer>
void transfer_fields(Codec& c, Transfer& t) {
  c.text(t.program);
  c.text(t.file);
  c.text(t.array);
  c.value(t.line);
  for (auto* count : {&t.in, &t.out, &t.in_as_written, &t.out_as_written, &t.in_least, &t.out_least}) {
    c.value(count->transfers);
    c.value(count->bytes);
  }
}

template <class Row, class Fields>
void pack_rows(Packer& p, const std::vector<Row>& rows, Fields fields) {
  p.value(static_cast<std::uint64_t>(rows.size()));
  for (const Row& row : rows) fields(p, row);
}

template <class Row, class Fields>
void unpack_rows(Unpacker& u, std::vector<Row>& rows, Fields fields) {
  std::uint64_t n = 0;
  u.value(n);
  for (; n > 0; --n) {
    Row row;
    fields(u, row);
    rows.push_back(std::move(row));
  }
}

}  // namespace

std::vector<std::byte> pack_stats(const Stats& stats) {
  Packer p;
  p.value(stats.value);
  pack_rows(p, stats.lines, [](auto& c, auto& row) { line_fields(c, row); });
  pack_rows(p, stats.accesses, [](auto& c, auto& row) { access_fields(c, row); });
  pack_rows(p, stats.copies, [](auto& c, auto& row) { copy_fields(c, row); });
  pack_rows(p, stats.kernels, [](auto& c, auto& row) { kernel_fields(c, row); });
  code_fields(p, stats.code);
  pack_rows(p, stats.transfers, [](auto& c, auto& row) { transfer_fields(c, row); });
  return p.take();
}

Stats unpack_stats(std::span<const std::byte> bytes) {
  Unpacker u(bytes);
  Stats stats;
  u.value(stats.value);
  unpack_rows(u, stats.lines, [](auto& c, auto& row) { line_fields(c, row); });
  unpack_rows(u, stats.accesses, [](auto& c, auto& row) { access_fields(c, row); });
  unpack_rows(u, stats.copies, [](auto& c, auto& row) { copy_fields(c, row); });
  if (u.done()) return stats;  // of a checkpoint from before kernels were counted
  unpack_rows(u, stats.kernels, [](auto& c, auto& row) { kernel_fields(c, row); });
  code_fields(u, stats.code);
  if (u.done()) return stats;  // ... before transfers were
  unpack_rows(u, stats.transfers, [](auto& c, auto& row) { transfer_fields(c, row); });
  return stats;
}

namespace {

using LineMap = std::map<std::tuple<std::string, std::string, std::int32_t>, LineCost>;
using AccessMap = std::map<std::tuple<std::string, std::string, std::int32_t, std::string>, AccessCost>;
using CopyMap = std::map<std::tuple<std::string, std::string, std::int32_t, std::string>, CopyCost>;
using KernelMap = std::map<std::tuple<std::string, std::string, std::int32_t, std::string>, KernelCost>;

using TransferMap = std::map<std::tuple<std::string, std::string, std::int32_t, std::string>, TransferCost>;

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

void add(KernelMap& kernels, const KernelCost& k) {
  const auto [at, is_new] = kernels.try_emplace({k.program, k.file, k.line, k.way}, k);
  if (is_new) return;
  KernelCost& row = at->second;
  row.calls += k.calls;
  row.flops += k.flops;
  row.bytes += k.bytes;
  row.seconds += k.seconds;
  if (k.largest > row.largest) row.largest = k.largest, row.why = k.why;
}

void add(TransferMap& transfers, TransferCost& t) {
  const auto [at, is_new] = transfers.try_emplace({t.program, t.file, t.line, t.array}, t);
  if (is_new) return;
  const auto to = at->second.counts(), from = t.counts();
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i]->transfers += from[i]->transfers;
    to[i]->bytes += from[i]->bytes;
  }
}

}  // namespace

void add_code(CodeCost& to, const CodeCost& code) {
  if (to.state.empty()) to.state = code.state;
  to.asked += code.asked;
  to.compiled += code.compiled;
  to.from_disk += code.from_disk;
  to.failed += code.failed;
  to.compile_seconds += code.compile_seconds;
}

/// To what an engine had done when the last rank looked at it.
static void raise_code(CodeCost& to, const CodeCost& code) {
  to.asked = std::max(to.asked, code.asked);
  to.compiled = std::max(to.compiled, code.compiled);
  to.from_disk = std::max(to.from_disk, code.from_disk);
  to.failed = std::max(to.failed, code.failed);
  to.compile_seconds = std::max(to.compile_seconds, code.compile_seconds);
}

JobStats reduce_stats(std::vector<Stats> ranks) {
  JobStats job;
  LineMap lines;
  AccessMap accesses;
  CopyMap copies;
  KernelMap kernels;
  TransferMap transfers;
  std::map<std::uint64_t, CodeCost> engines;
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
    for (const KernelCost& k : rank.kernels) add(kernels, k);
    for (TransferCost& t : rank.transfers) add(transfers, t);
    const auto [engine, is_new] = engines.try_emplace(rank.code.engine, rank.code);
    if (!is_new) rank.code.engine == 0 ? add_code(engine->second, rank.code) : raise_code(engine->second, rank.code);
    rank.kernels.clear();
    rank.lines.clear();
    rank.copies.clear();
    rank.transfers.clear();
    rank.accesses.clear();
  }
  for (auto& [key, line] : lines) job.total.lines.push_back(std::move(line));
  for (auto& [key, access] : accesses) job.total.accesses.push_back(std::move(access));
  for (auto& [key, copy] : copies) job.total.copies.push_back(std::move(copy));
  for (auto& [key, kernel] : kernels) job.total.kernels.push_back(std::move(kernel));
  for (auto& [key, transfer] : transfers) job.total.transfers.push_back(std::move(transfer));
  if (!ranks.empty()) job.total.code.state = ranks.front().code.state;
  for (const auto& [id, code] : engines) add_code(job.total.code, code);
  job.per_rank = std::move(ranks);
  return job;
}

}  // namespace sial
