#include "runtime/core/interp/blocks/persistent_marks.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/core/checkpoint/pack.h"

namespace sial {

SavedLayout layout_of(const RunContext& context, ArrayId id, Statement here) {
  const BoundArray& array = context.bound.arrays[id.at()];
  context.require_usable(array, here);
  SavedLayout result;
  result.array = array.name;
  for (int d = 0; d < array.rank; ++d) {
    const BoundDim& dim = array.dim[d];
    result.first_segment.push_back(dim.lo);
    std::vector<std::int64_t>& extents = result.extents.emplace_back();
    for (std::int32_t s = dim.lo; s <= dim.hi; ++s) extents.push_back(dim.extent_of(s));
  }
  return result;
}

void PersistentMarks::mark(bool is_array, std::int32_t id, const std::string& label, Statement here) {
  const Module& m = context_.module;
  const bool remote = is_array && is_remote(m.arrays[id].kind);
  Marks& marks = !is_array ? scalars_ : remote ? remote_ : statics_;
  for (const Mark& mark : marks) {
    if (mark.id != id) continue;
    if (mark.label == label) return;  // the statement stands in a loop
    if (remote)
      context_.fail(here,
                    fmt::format("array `{}` is marked twice in this program, for \"{}\" and for \"{}\"",
                                m.arrays[id].name, mark.label, label),
                    "one label per array and program");
  }
  marks.push_back({id, label});
  if (remote) context_.env.store.snapshots().save_at_end(ArrayId(id), label, context_.place(here));
}

bool PersistentMarks::has(bool scalar, std::int32_t id, const std::string& label) const {
  const Marks& marks = scalar ? scalars_ : statics_;
  return std::any_of(marks.begin(), marks.end(), [&](const Mark& m) { return m.id == id && m.label == label; });
}

void PersistentMarks::warn_overwritten(const char* what, const std::string& label) const {
  context_.warn(fmt::format("program `{}`: the saved {} \"{}\" is overwritten", context_.module.program, what, label));
}

void PersistentMarks::save(const Registers& registers, Statics& statics, Statement here) const {
  RankState& state = context_.env.state;
  for (const Mark& m : scalars_) {
    if (state.saved_scalars.contains(m.label)) warn_overwritten("scalar", m.label);
    const double value = state.saved_scalars[m.label] = registers.scalar(m.id);
    if (!std::isfinite(value) && !context_.model)
      context_.warn(fmt::format("program `{}`: the saved scalar \"{}\" is {}", context_.module.program, m.label,
                                std::isnan(value) ? "nan" : "infinite"));
  }
  for (const Mark& m : statics_) {
    if (state.saved_statics.contains(m.label)) warn_overwritten("static array", m.label);
    statics.data(m.array(), here);
    state.saved_statics[m.label] = statics.contents(m.array());
    const BoundArray& array = context_.bound.arrays[m.id];
    std::vector<IndexKind>& kinds = state.static_kinds[m.label];
    kinds.clear();
    for (int d = 0; d < array.rank; ++d) kinds.push_back(array.dim[d].kind);
  }
  for (const Mark& m : remote_) {
    if (state.saved_remote.contains(m.label)) warn_overwritten("array", m.label);
    state.saved_remote[m.label] = layout_of(context_, m.array(), here);
  }
}

void PersistentMarks::write_marks(Packer& packer, const Marks& marks) {
  packer.value(static_cast<std::uint64_t>(marks.size()));
  for (const Mark& m : marks) {
    packer.value(m.id);
    packer.text(m.label);
  }
}

void PersistentMarks::read_marks(Unpacker& unpacker, Marks& marks) {
  for (auto n = unpacker.value<std::uint64_t>(); n > 0; --n) {
    Mark mark;
    mark.id = unpacker.value<std::int32_t>();
    mark.label = unpacker.text();
    marks.push_back(std::move(mark));
  }
}

void PersistentMarks::write(Packer& packer) const {
  write_marks(packer, scalars_);
  write_marks(packer, statics_);
  write_marks(packer, remote_);
}

void PersistentMarks::read(Unpacker& unpacker) {
  read_marks(unpacker, scalars_);
  read_marks(unpacker, statics_);
  read_marks(unpacker, remote_);
}

bool PersistentMarks::fit() const {
  const Module& m = context_.module;
  const auto all = [](const Marks& marks, const auto& rows, const auto& allowed) {
    return std::all_of(marks.begin(), marks.end(), [&](const Mark& mark) {
      return mark.id >= 0 && mark.id < std::ssize(rows) && allowed(rows[mark.id]);
    });
  };
  return all(scalars_, m.scalars, [](const auto&) { return true; }) &&
         all(statics_, m.arrays, [](const auto& array) { return array.kind == ArrayKind::static_; }) &&
         all(remote_, m.arrays, [](const auto& array) { return is_remote(array.kind); });
}

void PersistentMarks::tell_store(Statement here) const {
  for (const Mark& m : remote_) context_.env.store.snapshots().save_at_end(m.array(), m.label, context_.place(here));
}

}  // namespace sial
