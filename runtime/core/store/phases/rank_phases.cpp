#include "runtime/core/store/phases/rank_phases.h"

#include <algorithm>
#include <bit>

#include "runtime/core/base/error.h"

namespace sial {

void RankPhases::begin_program(std::int32_t program, std::vector<RemoteArrayInfo> arrays, PlaceNamer namer) {
  context_.transport.set_place_namer(namer);
  if (context_.placement)
    for (const RemoteArrayInfo& info : arrays)
      context_.placement->set_array(placement_number(program, info.id), info.name);
  context_.arrays.begin(program, std::move(arrays), std::move(namer));
  requests_.announce_arrays();
  snapshots_.begin_program();
  context_.sequence = 0;
}

bool RankPhases::synchronize(CollectiveKind kind, Place place, bool wants_attention) {
  Transport& transport = context_.transport;
  // One number says three things: how many want attention (high part), how many loaded labels, and what this rank has
  // deleted (low part: a hash). The sum over the ranks must stay below 2^53.
  const int count_bits = std::bit_width(static_cast<unsigned>(transport.size()));
  const int hash_bits = std::min(24, 53 - 3 * count_bits);
  const auto one_loader = std::uint64_t{1} << (hash_bits + count_bits), one_hint = one_loader << count_bits;
  const std::uint64_t deleted = deletions_.hash() & ((std::uint64_t{1} << hash_bits) - 1);
  const std::uint64_t mine = deleted + (snapshots_.has_new() ? one_loader : 0) + (wants_attention ? one_hint : 0);
  const auto sum = static_cast<std::uint64_t>(transport.sum(static_cast<double>(mine), {kind, place}));
  const std::uint64_t loaders = sum % one_hint / one_loader;
  if (sum % one_loader != deleted * static_cast<std::uint64_t>(transport.size()))
    throw SialError(
        "the workers have not deleted or restored the same arrays, or not in the same order",
        "delete, destroy and restore_persistent must be executed by all workers: move them out of conditions that differ between workers");
  ++context_.phase;
  peaks_.push_back(context_.heap.close_phase(context_.arena, transport.node_rank() == 0));
  if (context_.spilled) context_.spilled->look_anew();
  if (loaders > 0) snapshots_.exchange_new(place);
  return sum >= one_hint;
}

void RankPhases::apply_contributions(CollectiveKind kind, Place place) {
  if (!context_.options.deterministic) return;
  requests_.apply_contributions();
  context_.transport.barrier({kind, place});
}

bool RankPhases::barrier(Place place, bool wants_attention) {
  const double start = context_.transport.now();
  retention_.retain_or_drop();
  const bool attention = synchronize(CollectiveKind::barrier, place, wants_attention);
  apply_contributions(CollectiveKind::barrier, place);
  count_barrier(start, place);
  return attention;
}

void RankPhases::end_program(Place place) {
  const double start = context_.transport.now();
  retention_.drop_all();
  synchronize(CollectiveKind::end_of_program, place);
  apply_contributions(CollectiveKind::end_of_program, place);
  snapshots_.take_marked();
  std::vector<BlockKey> keys;
  for (std::size_t id = 0; id < context_.arrays.all().size(); ++id)
    keys.push_back(context_.arrays.key(ArrayId(id), {}));
  requests_.drop(keys);
  context_.transport.barrier({CollectiveKind::end_of_program, place});
  context_.arrays.end();
  deletions_.end_program();
  context_.transport.set_place_namer(nullptr);
  count_barrier(start, place);
}

void RankPhases::count_barrier(double start, Place place) {
  const double end = context_.transport.now();
  context_.stats.barrier_seconds += end - start;
  if (context_.trace) context_.trace->add(TraceKind::barrier, place, start, end);
}

}  // namespace sial
