#include "runtime/core/bytecode/read.h"

#include <flatbuffers/flatbuffers.h>
#include <fmt/format.h>

#include <cstring>

#include "module_generated.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/input_file.h"

namespace sial {
namespace {

constexpr const char* recompile_hint = "compile the program again with sialc";

// Copies the wire form into a Module. Only shape is checked here (row sizes, flags, opcode width); everything about the
// content is verify_module's business. FlatBuffers lets many rows share one string or vector, so a small file could
// decode into something huge: what is decoded may not exceed the file in size.
class Decoder {
 public:
  Decoder(const siox::Module& wire, std::size_t size, const std::string& name)
      : wire_(wire), budget_(size), name_(name) {}

  Module decode() {
    Module m;
    m.program = text(wire_.program());
    m.producer = text(wire_.producer());
    m.source_hash = text(wire_.source_hash());
    m.optimisation = wire_.optimisation();
    m.main_entry = wire_.main_entry();
    m.n_int_registers = wire_.n_int_registers();
    m.n_scalar_registers = wire_.n_scalar_registers();
    rows(wire_.files(), m.files, [&](const flatbuffers::String* s) { return text(s); });
    rows(wire_.kept(), m.kept, [&](const flatbuffers::String* s) { return text(s); });
    rows(wire_.strings(), m.strings, [&](const flatbuffers::String* s) { return text(s); });
    reals(wire_.reals(), m.reals);
    rows(wire_.ints(), m.ints, [&](const siox::IntVar* r) {
      return IntVar{text(r->name()), flag(r->predefined(), "predefined"), r->initial()};
    });
    rows(wire_.scalars(), m.scalars, [&](const siox::ScalarVar* r) {
      return ScalarVar{text(r->name()), flag(r->predefined(), "predefined"), r->initial()};
    });
    rows(wire_.indices(), m.indices, [&](const siox::Index* r) {
      return IndexRow{text(r->name()), static_cast<IndexKind>(r->kind()),
                      Bound{flag(r->lo_symbolic(), "symbolic"), r->lo()},
                      Bound{flag(r->hi_symbolic(), "symbolic"), r->hi()}, IndexId(r->parent())};
    });
    rows(wire_.arrays(), m.arrays, [&](const siox::Array* r) {
      ArrayRow row{text(r->name()),
                   static_cast<ArrayKind>(r->kind()),
                   flag(r->predefined(), "predefined"),
                   flag(r->sparse(), "sparse"),
                   {}};
      rows(r->dims(), row.dims, [](std::int32_t d) { return IndexId(d); });
      return row;
    });
    rows(wire_.specials(), m.specials,
         [&](const siox::Special* r) { return SpecialRow{text(r->name()), text(r->signature())}; });
    rows(wire_.procs(), m.procs, [&](const siox::Proc* r) { return ProcRow{text(r->name()), r->entry(), r->end()}; });
    rows(wire_.loops(), m.loops, [&](const siox::Loop* r) {
      LoopRow row;
      row.kind = static_cast<LoopKind>(r->kind());
      row.indices = fixed<IndexId>(*r->indices(), r->n_indices(), "loop");
      row.begin = r->begin();
      row.body = r->body();
      row.next = r->next();
      row.end = r->end();
      row.n_wheres = r->n_wheres();
      row.pragma = r->pragma();
      if (r->rank_dependence() < 0 || r->rank_dependence() > static_cast<std::int32_t>(RankDependence::possible))
        fail(fmt::format("a loop has rank dependence {}", r->rank_dependence()));
      row.rank_dependence = static_cast<RankDependence>(r->rank_dependence());
      return row;
    });
    rows(wire_.refs(), m.refs, [&](const siox::Ref* r) {
      RefRow row{ArrayId(r->array()), static_cast<Intent>(r->intent()), {}};
      const auto index = fixed<IndexId>(*r->index(), r->rank(), "block reference");
      if ((r->as_simple() >> index.size()) != 0) fail("a block reference marks an entry it does not have as (index)");
      for (std::size_t e = 0; e < index.size(); ++e)
        row.entries.push_back({index[e], ((r->as_simple() >> e) & 1) != 0});
      return row;
    });
    rows(wire_.regions(), m.regions, [&](const siox::Region* r) {
      return RegionRow{ArrayId(r->array()), static_cast<Intent>(r->intent()),
                       fixed<std::int32_t>(*r->lo(), r->rank(), "region"),
                       fixed<std::int32_t>(*r->hi(), r->rank(), "region")};
    });
    rows(wire_.args(), m.args, [](const siox::Arg* r) {
      return ArgRow{static_cast<ArgKind>(r->kind()), r->id(), static_cast<Intent>(r->intent())};
    });
    rows(wire_.code(), m.code, [&](const siox::Instruction* i) {
      if (i->op() < 0 || i->op() > 0xffff) fail(fmt::format("there is no opcode {}", i->op()));
      return Instruction{static_cast<Opcode>(i->op()), i->a(), i->b(), i->c(), i->d()};
    });
    rows(wire_.places(), m.places, [](const siox::Place* p) { return SourcePlace{p->file(), p->line(), p->column()}; });
    rows(wire_.remarks(), m.remarks, [&](const siox::Remark* r) {
      return RemarkRow{static_cast<RemarkKind>(r->kind()),
                       text(r->pass()),
                       text(r->name()),
                       {r->file(), r->line(), r->column()},
                       ArrayId(r->array()),
                       text(r->text()),
                       text(r->advice()),
                       cost(r->bytes()),
                       cost(r->flops()),
                       cost(r->executions())};
    });
    rows(wire_.slices(), m.slices, [&](const siox::Slice* r) {
      SliceRow row{r->loop(), {}};
      rows(r->steps(), row.steps,
           [](const siox::Step* s) { return SliceStep{s->pc(), static_cast<SliceAction>(s->action())}; });
      return row;
    });
    return m;
  }

 private:
  Cost cost(const siox::Cost* wire) {
    Cost out;
    if (wire == nullptr) return out;
    std::vector<double> coefficients;
    std::vector<std::int32_t> counts, factors;
    reals(wire->coefficients(), coefficients);
    rows(wire->counts(), counts, [](std::int32_t n) { return n; });
    rows(wire->factors(), factors, [](std::int32_t f) { return f; });
    if (counts.size() != coefficients.size()) fail("a cost has other numbers of terms and of coefficients");
    std::size_t at = 0;
    for (std::size_t t = 0; t < counts.size(); ++t) {
      if (counts[t] < 0 || static_cast<std::size_t>(counts[t]) > factors.size() - at)
        fail("a cost has terms beyond its factors");
      CostTerm term{coefficients[t], {}};
      for (std::int32_t f = 0; f < counts[t]; ++f, ++at)
        term.factors.push_back({static_cast<FactorKind>(factors[at] & 1), IndexId(factors[at] >> 1)});
      out.terms.push_back(std::move(term));
    }
    if (at != factors.size()) fail("a cost has factors after its last term");
    return out;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(fmt::format("`{}` is not a valid sialx module: {}", name_, what), recompile_hint);
  }

  void spend(std::size_t bytes) {
    if (bytes > budget_) fail("its tables overlap");
    budget_ -= bytes;
  }

  std::string text(const flatbuffers::String* s) {
    if (s == nullptr) return {};
    spend(s->size());
    return s->str();
  }

  bool flag(std::int32_t value, const char* what) const {
    if (value != 0 && value != 1) fail(fmt::format("the flag `{}` has the value {}", what, value));
    return value == 1;
  }

  template <class WireVector, class Row, class Make>
  void rows(const WireVector* wire, std::vector<Row>& out, Make make) {
    if (wire == nullptr) return;
    spend(std::size_t{wire->size()} * 4);  // an element takes at least four bytes of the file
    out.reserve(wire->size());
    for (flatbuffers::uoffset_t i = 0; i < wire->size(); ++i) out.push_back(make(wire->Get(i)));
  }

  // The elements of a vector are the one thing whose alignment the FlatBuffers verifier leaves unchecked.
  void reals(const flatbuffers::Vector<double>* wire, std::vector<double>& out) {
    if (wire == nullptr) return;
    spend(std::size_t{wire->size()} * sizeof(double));
    out.resize(wire->size());
    if (!out.empty()) std::memcpy(out.data(), wire->Data(), out.size() * sizeof(double));
  }

  template <class Value, class WireArray>
  std::vector<Value> fixed(const WireArray& wire, std::int32_t n, const char* what) const {
    if (n < 0 || n > max_rank) fail(fmt::format("a {} has {} entries, at most {} are possible", what, n, max_rank));
    std::vector<Value> out;
    for (std::int32_t e = 0; e < max_rank; ++e) {
      if (e < n) out.push_back(Value(wire.Get(static_cast<flatbuffers::uoffset_t>(e))));
      else if (wire.Get(static_cast<flatbuffers::uoffset_t>(e)) != 0)
        fail(fmt::format("a {} has data after its last entry", what));
    }
    return out;
  }

  const siox::Module& wire_;
  std::size_t budget_;
  const std::string& name_;
};

}  // namespace

Module read_module(std::span<const std::byte> bytes, const std::string& name) {
  constexpr std::size_t root_and_identifier = 8;
  if (bytes.size() < root_and_identifier || std::memcmp(bytes.data() + 4, siox::ModuleIdentifier(), 4) != 0)
    throw InputError(fmt::format("`{}` is not a sialx module", name),
                     "a module is what `sialc program.sialx -o program.siox` writes");
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    throw InputError(fmt::format("`{}` is too large for a sialx module: {} bytes", name, bytes.size()), recompile_hint);

  // FlatBuffers reads numbers in place, so the buffer must be as aligned as its widest number.
  std::vector<std::uint64_t> aligned;
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  if (reinterpret_cast<std::uintptr_t>(data) % alignof(std::uint64_t) != 0) {
    aligned.resize(bytes.size() / sizeof(std::uint64_t) + 1);
    std::memcpy(aligned.data(), bytes.data(), bytes.size());
    data = reinterpret_cast<const std::uint8_t*>(aligned.data());
  }

  const auto damaged = [&] {
    throw InputError(fmt::format("`{}` is a damaged sialx module: its tables point outside the file", name),
                     recompile_hint);
  };
  constexpr flatbuffers::uoffset_t depth = 8;
  const auto max_tables = static_cast<flatbuffers::uoffset_t>(bytes.size());
  if (!flatbuffers::Verifier(data, bytes.size(), depth, max_tables).VerifyBuffer<siox::Header>(nullptr)) damaged();
  const std::uint32_t version = flatbuffers::GetRoot<siox::Header>(data)->format_version();
  if (version != module_format_version)
    throw InputError(fmt::format("`{}` has module format version {}, this program reads version {}", name, version,
                                 module_format_version),
                     recompile_hint);
  flatbuffers::Verifier verifier(data, bytes.size(), depth, max_tables);
  if (!siox::VerifyModuleBuffer(verifier)) damaged();

  Module module = Decoder(*siox::GetModule(data), bytes.size(), name).decode();
  verify_module(module, name);
  return module;
}

Module read_module_file(const std::string& path) {
  std::string problem;
  const std::string content = read_file(path, input_limit::module, problem);
  if (!problem.empty()) throw InputError(fmt::format("cannot read the module `{}`: {}", path, problem));
  return read_module(std::as_bytes(std::span(content)), path);
}

}  // namespace sial
