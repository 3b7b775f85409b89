#include "runtime/core/bytecode/write.h"

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "module_generated.h"
#include "runtime/core/base/check.h"

namespace sial {
namespace {

std::vector<std::int32_t> numbers(const std::vector<IndexId>& ids) {
  std::vector<std::int32_t> out;
  for (const IndexId id : ids) out.push_back(id.number());
  return out;
}

std::array<std::int32_t, max_rank> padded(const std::vector<std::int32_t>& values) {
  SIAL_CHECK(values.size() <= static_cast<std::size_t>(max_rank), "{} entries in a row of at most {}", values.size(),
             max_rank);
  std::array<std::int32_t, max_rank> out{};
  std::copy(values.begin(), values.end(), out.begin());
  return out;
}

// Strings are never shared between rows: the reader relies on decoded size <= buffer size to refuse overlapping tables.
class Writer {
 public:
  std::vector<std::byte> write(const Module& m) {
    const auto program = b_.CreateString(m.program);
    const auto producer = b_.CreateString(m.producer);
    const auto source_hash = b_.CreateString(m.source_hash);
    const auto files = strings(m.files);
    const auto pool = strings(m.strings);
    const auto reals = b_.CreateVector(m.reals);
    const auto ints = table<siox::IntVar>(m.ints, [&](const IntVar& v) {
      return siox::CreateIntVar(b_, b_.CreateString(v.name), v.predefined, v.initial);
    });
    const auto scalars = table<siox::ScalarVar>(m.scalars, [&](const ScalarVar& v) {
      return siox::CreateScalarVar(b_, b_.CreateString(v.name), v.predefined, v.initial);
    });
    const auto indices = table<siox::Index>(m.indices, [&](const IndexRow& r) {
      return siox::CreateIndex(b_, b_.CreateString(r.name), static_cast<int>(r.kind), r.lo.symbolic, r.lo.value,
                               r.hi.symbolic, r.hi.value, r.parent.number());
    });
    const auto arrays = table<siox::Array>(m.arrays, [&](const ArrayRow& r) {
      const auto name = b_.CreateString(r.name);
      return siox::CreateArray(b_, name, static_cast<int>(r.kind), r.predefined, r.sparse,
                               b_.CreateVector(numbers(r.dims)));
    });
    const auto specials = table<siox::Special>(m.specials, [&](const SpecialRow& r) {
      const auto name = b_.CreateString(r.name);
      return siox::CreateSpecial(b_, name, b_.CreateString(r.signature));
    });
    const auto procs = table<siox::Proc>(
        m.procs, [&](const ProcRow& r) { return siox::CreateProc(b_, b_.CreateString(r.name), r.entry, r.end); });
    const auto loops = structs<siox::Loop>(m.loops, [](const LoopRow& r) {
      return siox::Loop(static_cast<int>(r.kind), static_cast<int>(r.indices.size()), span(padded(numbers(r.indices))),
                        r.begin, r.body, r.next, r.end, r.n_wheres, r.pragma, static_cast<int>(r.rank_dependence));
    });
    const auto refs = structs<siox::Ref>(m.refs, [](const RefRow& r) {
      std::vector<std::int32_t> index;
      std::int32_t as_simple = 0;
      for (std::size_t e = 0; e < r.entries.size(); ++e) {
        index.push_back(r.entries[e].index.number());
        if (r.entries[e].as_simple) as_simple |= 1 << e;
      }
      return siox::Ref(r.array.number(), static_cast<int>(r.intent), static_cast<int>(r.entries.size()), as_simple,
                       span(padded(index)));
    });
    const auto regions = structs<siox::Region>(m.regions, [](const RegionRow& r) {
      return siox::Region(r.array.number(), static_cast<int>(r.intent), static_cast<int>(r.lo.size()),
                          span(padded(r.lo)), span(padded(r.hi)));
    });
    const auto args = structs<siox::Arg>(
        m.args, [](const ArgRow& r) { return siox::Arg(static_cast<int>(r.kind), r.id, static_cast<int>(r.intent)); });
    const auto code = structs<siox::Instruction>(
        m.code, [](const Instruction& i) { return siox::Instruction(static_cast<int>(i.op), i.a, i.b, i.c, i.d); });
    const auto places =
        structs<siox::Place>(m.places, [](const SourcePlace& p) { return siox::Place(p.file, p.line, p.column); });
    const auto remarks = table<siox::Remark>(m.remarks, [&](const RemarkRow& r) {
      const auto pass = b_.CreateString(r.pass);
      const auto name = b_.CreateString(r.name);
      const auto text = b_.CreateString(r.text);
      const auto advice = b_.CreateString(r.advice);
      const auto bytes = cost(r.bytes), flops = cost(r.flops), executions = cost(r.executions);
      return siox::CreateRemark(b_, static_cast<int>(r.kind), pass, name, r.place.file, r.place.line, r.place.column,
                                r.array.number(), text, advice, bytes, flops, executions);
    });
    const auto slices = table<siox::Slice>(m.slices, [&](const SliceRow& r) {
      return siox::CreateSlice(b_, r.loop, structs<siox::Step>(r.steps, [](const SliceStep& s) {
                                 return siox::Step(s.pc, static_cast<int>(s.action));
                               }));
    });
    const auto kept = strings(m.kept);
    const auto root =
        siox::CreateModule(b_, module_format_version, program, producer, source_hash, m.optimisation, m.main_entry,
                           m.n_int_registers, m.n_scalar_registers, files, pool, reals, ints, scalars, indices, arrays,
                           specials, procs, loops, refs, regions, args, code, places, remarks, slices, kept);
    siox::FinishModuleBuffer(b_, root);
    std::vector<std::byte> bytes(b_.GetSize());
    std::memcpy(bytes.data(), b_.GetBufferPointer(), bytes.size());
    return bytes;
  }

 private:
  static flatbuffers::span<const std::int32_t, max_rank> span(const std::array<std::int32_t, max_rank>& a) {
    return flatbuffers::span<const std::int32_t, max_rank>(a);
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>> strings(
      const std::vector<std::string>& rows) {
    std::vector<flatbuffers::Offset<flatbuffers::String>> offsets;
    offsets.reserve(rows.size());
    for (const auto& s : rows) offsets.push_back(b_.CreateString(s));
    return b_.CreateVector(offsets);
  }

  flatbuffers::Offset<siox::Cost> cost(const Cost& cost) {
    std::vector<double> coefficients;
    std::vector<std::int32_t> counts, factors;
    for (const CostTerm& t : cost.terms) {
      coefficients.push_back(t.coefficient);
      counts.push_back(static_cast<std::int32_t>(t.factors.size()));
      for (const CostFactor& f : t.factors) factors.push_back(2 * f.index.number() + static_cast<std::int32_t>(f.kind));
    }
    const auto c = b_.CreateVector(coefficients);
    const auto n = b_.CreateVector(counts);
    return siox::CreateCost(b_, c, n, b_.CreateVector(factors));
  }

  template <class Wire, class Row, class Make>
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<Wire>>> table(const std::vector<Row>& rows, Make make) {
    std::vector<flatbuffers::Offset<Wire>> offsets;
    offsets.reserve(rows.size());
    for (const Row& row : rows) offsets.push_back(make(row));
    return b_.CreateVector(offsets);
  }

  template <class Wire, class Row, class Make>
  flatbuffers::Offset<flatbuffers::Vector<const Wire*>> structs(const std::vector<Row>& rows, Make make) {
    std::vector<Wire> wire;
    wire.reserve(rows.size());
    for (const Row& row : rows) wire.push_back(make(row));
    return b_.CreateVectorOfStructs(wire);
  }

  flatbuffers::FlatBufferBuilder b_{1 << 16};
};

}  // namespace

std::vector<std::byte> write_module(const Module& module) { return Writer().write(module); }

}  // namespace sial
