#include "runtime/core/interp/operations/persist_handlers.h"

#include <algorithm>

#include <fmt/format.h>

namespace sial {

/// The value saved under the label, or an error.
template <class T>
const typename T::mapped_type& PersistHandlers::saved(const std::string& label, const char* what, const T& known,
                                                      Statement here) const {
  if (const auto found = known.find(label); found != known.end()) return found->second;
  std::string list;
  for (const auto& entry : known) list += (list.empty() ? "\"" : ", \"") + entry.first + "\"";
  context_.fail(
      here, fmt::format("no {} was saved under the label \"{}\"", what, label),
      list.empty()
          ? fmt::format("no {} has been saved yet: an earlier program of the job must mark one with set_persistent",
                        what)
          : fmt::format("saved so far: {}", list));
}

// One of two orbital sets, energies or amplitudes in the place of the other. Labels of other names are common, as long
// as they are not the name of another item of this program while the item's own name was saved, too.
template <class T, class Rows>
void PersistHandlers::warn_label(const std::string& label, const std::string& name, const T& known, const Rows& rows,
                                 Statement here) const {
  if (label == name || !(known.contains(name) || context_.env.state.dropped_remote.contains(name))) return;
  if (std::none_of(rows.begin(), rows.end(), [&](const auto& row) { return row.name == label; })) return;
  context_.warn(
      fmt::format("{}: `{}` is restored from \"{}\", though \"{}\" was saved as well: is that the right label?",
                  context_.place_name(here), name, label, name));
}

// Equal extents are not enough: a Fock matrix over orbitals is as large as one over basis functions.
void PersistHandlers::warn_kinds(const std::string& label, const BoundArray& array, Statement here) const {
  const auto& static_kinds = context_.env.state.static_kinds;
  const auto saved = static_kinds.find(label);
  if (saved == static_kinds.end()) return;
  const auto orbitals = [](IndexKind kind) {
    return kind == IndexKind::mo || kind == IndexKind::moa || kind == IndexKind::mob;
  };
  for (int d = 0; d < std::min(array.rank, static_cast<std::int32_t>(saved->second.size())); ++d) {
    const IndexKind then = saved->second[static_cast<std::size_t>(d)], now = array.dim[d].kind;
    if (!(orbitals(then) && now == IndexKind::ao) && !(then == IndexKind::ao && orbitals(now))) continue;
    context_.warn(fmt::format(
        "{}: `{}` is restored from \"{}\", which was saved over {} in dimension {}, and is declared over {} there: is that the right label?",
        context_.place_name(here), array.name, label, orbitals(then) ? "orbitals" : "basis functions", d + 1,
        orbitals(now) ? "orbitals" : "basis functions"));
    return;
  }
}

void PersistHandlers::op_set_persistent(const Instruction& in, Statement here) {
  marks_.mark(in.a != 0, in.b, context_.module.strings[in.c], here);
}

void PersistHandlers::op_restore_persistent(const Instruction& in, Statement here) {
  const std::string& label = context_.module.strings[in.c];
  if (in.a == 0) restore_scalar(in.b, label, here);
  else if (is_remote(context_.bound.arrays[in.b].kind)) restore_remote(ArrayId(in.b), label, here);
  else restore_static(ArrayId(in.b), label, here);
}

void PersistHandlers::restore_scalar(std::int32_t id, const std::string& label, Statement here) {
  const auto& known = context_.env.state.saved_scalars;
  const double value = saved(label, "scalar", known, here);
  warn_label(label, context_.module.scalars[id].name, known, context_.module.scalars, here);
  registers_.scalar(id) = value;
}

void PersistHandlers::restore_remote(ArrayId id, const std::string& label, Statement here) {
  const BoundArray& array = context_.bound.arrays[id.at()];
  const RankState& state = context_.env.state;
  const SavedLayout& layout = saved(label, "distributed or served array", state.saved_remote, here);
  const SavedLayout mine = layout_of(context_, id, here);
  if (layout.first_segment != mine.first_segment || layout.extents != mine.extents)
    context_.fail(
        here,
        fmt::format("the array saved as \"{}\" (`{}`) and `{}` do not have the same segments", label, layout.array,
                    array.name),
        state.restored_segments.empty()
            ? std::string("restore into an array declared over the same ranges")
            : fmt::format(
                  "the results to restore from have other segments (automatic ones follow the number of ranks and the memory): add `{}`",
                  state.restored_segments));
  warn_label(label, array.name, state.saved_remote, context_.module.arrays, here);
  check_.synchronise(CollectiveKind::persist, here);
  puts_.carry_out();
  context_.env.store.snapshots().restore(id, label, context_.place(here));
}

void PersistHandlers::restore_static(ArrayId id, const std::string& label, Statement here) {
  const BoundArray& array = context_.bound.arrays[id.at()];
  const auto& known = context_.env.state.saved_statics;
  const DataArray& from = saved(label, "static array", known, here);
  double* data = statics_.whole(id, Intent::update, here);
  const std::vector<std::int64_t> declared(array.whole.extent.begin(), array.whole.extent.begin() + array.rank);
  if (from.extents != declared)
    context_.fail(here,
                  fmt::format("the array saved as \"{}\" has extents ({}), and `{}` is declared with ({})", label,
                              fmt::join(from.extents, ","), array.name, fmt::join(declared, ",")),
                  "restore into an array of the same shape");
  warn_label(label, array.name, known, context_.module.arrays, here);
  warn_kinds(label, array, here);
  std::copy(from.data.begin(), from.data.end(), data);
}

}  // namespace sial
