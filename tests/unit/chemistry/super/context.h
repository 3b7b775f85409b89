#pragma once
// A rank for super instruction bodies without an interpreter: arguments are plain vectors, output goes to a string.

#include <map>
#include <numeric>
#include <sstream>
#include <vector>

#include "runtime/core/base/error.h"
#include "runtime/core/super/registry.h"

class FakeContext : public sial::SuperContext {
 public:
  const sial::JobData& job() const override { return data; }
  int rank() const override { return 3; }
  int size() const override { return 4; }
  std::ostream& out() override { return output; }
  void set_all_ranks_print(bool on) override { all_ranks_print = on; }
  const double* scalar_by_name(std::string_view) const override { return nullptr; }
  void list_blocks(std::ostream& o, bool with_numbers) const override { o << (with_numbers ? "a[1] 0\n" : "a[1]\n"); }
  std::shared_ptr<void>& slot(std::string_view family) override { return slots[std::string(family)]; }
  const double* find_cached(const sial::BlockIndex& block, std::int64_t size) override {
    const auto it = kept.find(block);
    if (it == kept.end() || std::ssize(it->second) != size) return nullptr;
    ++references;
    ++found;
    return it->second.data();
  }
  void release_cached(const double*) override { --references; }
  double* allocate_cached(std::int64_t size) override {
    if (!keeps) return nullptr;
    ++references;
    room.resize(static_cast<std::size_t>(size));
    return room.data();
  }
  void keep_block(const sial::BlockIndex& block, double* data) override {
    kept[block].assign(data, data + room.size());
  }
  sial::SuperArg array_by_name(std::string_view name) override {
    auto it = program_arrays.find(std::string(name));
    return it == program_arrays.end() ? sial::SuperArg{} : it->second;
  }

  sial::JobData data;
  std::ostringstream output;
  bool all_ranks_print = false;
  std::map<std::string, sial::SuperArg> program_arrays;
  std::map<std::string, std::shared_ptr<void>> slots;
  bool keeps = false;  // integrals
  std::map<sial::BlockIndex, std::vector<double>> kept;
  std::vector<double> room;
  int references = 0, found = 0;
};

/// A block (or whole array) and its elements.
struct Array {
  Array(std::vector<std::int64_t> extents, std::vector<double> values = {}, sial::IndexKind kind = sial::IndexKind::moa)
      : data(std::move(values)) {
    arg.name = "x";
    arg.shape.rank = static_cast<std::int32_t>(extents.size());
    for (std::size_t d = 0; d < extents.size(); ++d) {
      arg.shape.extent[d] = extents[d];
      arg.segment[d] = 1;
      arg.kind[d] = kind;
    }
    data.resize(arg.shape.size());
  }
  /// Places dimension d at a segment that begins at `offset`.
  Array& at(int d, std::int32_t segment, std::int64_t offset) {
    arg.segment[d] = segment;
    arg.offset[d] = offset;
    return *this;
  }
  Array& simple(int d, std::int32_t value) {
    arg.kind[d] = sial::IndexKind::simple;
    arg.segment[d] = value;
    arg.offset[d] = 0;
    return *this;
  }
  Array& whole() {
    arg.whole_array = true;
    arg.segment = {};
    return *this;
  }
  operator sial::SuperArg() {
    arg.data = data.data();
    return arg;
  }
  std::vector<double> data;
  sial::SuperArg arg;
};

struct Scalar {
  operator sial::SuperArg() {
    sial::SuperArg arg;
    arg.name = "s";
    arg.is_scalar = true;
    arg.data = &value;
    return arg;
  }
  double value = 0.0;
};

inline void execute(FakeContext& context, const char* name, std::vector<sial::SuperArg> args) {
  const sial::SuperRow* row = sial::find_super(name);
  if (!row) throw std::logic_error(std::string("no super instruction ") + name);
  row->body(context, args);
}

/// The message of the SialError that execution throws, or nothing.
inline std::string execution_error(FakeContext& context, const char* name, std::vector<sial::SuperArg> args) {
  try {
    execute(context, name, std::move(args));
  } catch (const sial::SialError& e) { return e.what(); }
  return {};
}

/// A whole matrix over basis functions, zero.
inline Array ao_matrix(std::int64_t n) {
  Array a({n, n}, {}, sial::IndexKind::ao);
  a.whole();
  return a;
}

inline double trace_product(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
