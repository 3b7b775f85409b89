#include "runtime/core/stats/stats.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/stats/counter_field.h"

namespace sial {
namespace {

constexpr CounterRow rows[] = {
#define IS_PRESENT(...) false __VA_OPT__(|| true)
#define COUNTED_timed(field) field
#define COUNTER(number, name, unit, combine, by, meaning) \
  {number, #name, unit, Combine::combine, meaning, in_seconds(unit) && (IS_PRESENT(COUNTED_##by))},
#include "runtime/core/stats/counters.def"
#undef IS_PRESENT
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
    if (bytes_.size() < n)
      throw SialError(fmt::format("the statistics end too early: {} bytes are left, {} are needed", bytes_.size(), n));
  }

  std::span<const std::byte> bytes_;
};

}  // namespace

std::span<const CounterRow> counter_rows() { return rows; }

bool Stats::has(Counter c) const {
  return !rows[static_cast<int>(c)].device_time || (*this)[Counter::device_timed] > 0;
}

double JobStats::hit_ratio() const {
  const double accesses = total[Counter::accesses];
  return accesses > 0 ? 1.0 - total[Counter::blocked_accesses] / accesses : 1.0;
}

namespace {

/// The reduction of rows of one line to one.
enum class Reduction { sum, max, set };

template <Reduction how, class T>
void reduce(T& to, const T& from) {
  if constexpr (how == Reduction::sum) to += from;
  if constexpr (how == Reduction::max) to = std::max(to, from);
}

// The fields of a row, in the order in which they travel: one list for packing and unpacking.
#define TRAVELS(combine, field) \
  if constexpr (Reduction::combine != Reduction::set) c.value(row.field);

template <class Codec, class Row>
void line_fields(Codec& c, Row& row) {
  c.text(row.program);
  c.text(row.file);
  c.value(row.line);
#define LINE_COST(type, field, combine, key) TRAVELS(combine, field)
#include "runtime/core/stats/costs.def"
}

/// Rows of what is recorded by line and array.
template <class Codec, class Row>
void array_place(Codec& c, Row& row) {
  c.text(row.program);
  c.text(row.file);
  c.text(row.array);
  c.value(row.line);
}

template <class Codec, class Row>
void access_fields(Codec& c, Row& row) {
  array_place(c, row);
#define ACCESS_COST(type, field, combine, key) TRAVELS(combine, field)
#include "runtime/core/stats/costs.def"
}

template <class Codec, class Row>
void copy_fields(Codec& c, Row& row) {
  array_place(c, row);
#define COPY_COST(type, field, combine, key) TRAVELS(combine, field)
#include "runtime/core/stats/costs.def"
}

template <class Codec, class Row>
void kernel_fields(Codec& c, Row& row) {
  c.text(row.program);
  c.text(row.file);
  c.text(row.method);
  c.text(row.why);
  c.value(row.line);
#define KERNEL_COST(type, field, combine, key) TRAVELS(combine, field)
#include "runtime/core/stats/costs.def"
}

#undef TRAVELS

template <class Codec, class Code>
void code_fields(Codec& c, Code& code) {
  c.text(code.state);
#define CODE_COST(type, field) c.value(code.field);
#include "runtime/core/stats/costs.def"
  c.value(code.engine);
}

template <class Codec, class Row>
void transfer_fields(Codec& c, Row& row) {
  array_place(c, row);
#define TRANSFER_COST(field) c.value(row.field.transfers), c.value(row.field.bytes);
#include "runtime/core/stats/costs.def"
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
#define LINE_COST(type, field, combine, key) reduce<Reduction::combine>(row.field, l.field);
#include "runtime/core/stats/costs.def"
}

void add(AccessMap& accesses, const AccessCost& a) {
  AccessCost& row = accesses[{a.program, a.file, a.line, a.array}];
  if (row.program.empty()) row.program = a.program, row.file = a.file, row.array = a.array, row.line = a.line;
#define ACCESS_COST(type, field, combine, key) reduce<Reduction::combine>(row.field, a.field);
#include "runtime/core/stats/costs.def"
}

void add(CopyMap& copies, const CopyCost& c) {
  CopyCost& row = copies[{c.program, c.file, c.line, c.array}];
  if (row.program.empty()) row.program = c.program, row.file = c.file, row.array = c.array, row.line = c.line;
#define COPY_COST(type, field, combine, key) reduce<Reduction::combine>(row.field, c.field);
#include "runtime/core/stats/costs.def"
}

void add(KernelMap& kernels, const KernelCost& k) {
  const auto [at, is_new] = kernels.try_emplace({k.program, k.file, k.line, k.method}, k);
  if (is_new) return;
  KernelCost& row = at->second;
  if (k.largest > row.largest) row.why = k.why;
#define KERNEL_COST(type, field, combine, key) reduce<Reduction::combine>(row.field, k.field);
#include "runtime/core/stats/costs.def"
}

void add(TransferMap& transfers, const TransferCost& t) {
  const auto [at, is_new] = transfers.try_emplace({t.program, t.file, t.line, t.array}, t);
  if (is_new) return;
  TransferCost& row = at->second;
#define TRANSFER_COST(field) row.field.transfers += t.field.transfers, row.field.bytes += t.field.bytes;
#include "runtime/core/stats/costs.def"
}

}  // namespace

namespace {

template <class Map, class Row>
void merge(std::vector<Row>& rows) {
  Map merged;
  for (const Row& row : rows) add(merged, row);
  rows.clear();
  for (auto& [key, row] : merged) rows.push_back(std::move(row));
}

}  // namespace

void merge_rows(Stats& rank) {
  merge<LineMap>(rank.lines);
  merge<AccessMap>(rank.accesses);
  merge<CopyMap>(rank.copies);
  merge<KernelMap>(rank.kernels);
  merge<TransferMap>(rank.transfers);
}

void add_code(CodeCost& to, const CodeCost& code) {
  if (to.state.empty()) to.state = code.state;
#define CODE_COST(type, field) to.field += code.field;
#include "runtime/core/stats/costs.def"
}

/// To what an engine had done when the last rank looked at it.
static void raise_code(CodeCost& to, const CodeCost& code) {
#define CODE_COST(type, field) to.field = std::max(to.field, code.field);
#include "runtime/core/stats/costs.def"
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
    for (const TransferCost& t : rank.transfers) add(transfers, t);
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
