// Blocks without copies, as plans ask for them: memory with several holders, temps that end early or live on. Sharing
// cannot change what a program computes: whoever writes a block first makes sure that he is the memory's only holder
// (Machine::unshared, and the store for its own).

#include "runtime/device/cache/block_cache.h"
#include "runtime/interp/machine.h"
#include "runtime/interp/operations/view_ops.h"
#include "runtime/interp/prefetch/deferred_puts.h"

namespace sial {

void Machine::op_block_alias(const Instruction& in) {
  const ResolvedReference& target = bound_.refs[in.a];
  const ResolvedReference& source = bound_.refs[in.b];
  Located from, to;
  locate(source, from);
  const double* data = is_remote(source.kind) ? env_.store.fetch().read(source.array, from.block, from.size, place())
                                              : own_block(source, from, Access::existing, Use::read);
  locate(target, to);
  if (copies_) copies_->on_host(data, data, Intent::read, statement());  // what is shared is valid there
  if (to.size != from.size || !env_.store.buffers().share(data)) {
    op_block_copy(in);  // or its error
    return;
  }
  ++block_operations_;
  count(elided_, target.array, to.size);
  // Nothing is written through the pointer while there are others.
  double* shared = const_cast<double*>(data);
  if (BlockMap::Entry* found = blocks_[target.array].find(to.key)) {
    release_block(*found);
    found->data = shared;
    return;
  }
  blocks_[target.array].insert(to.key, shared, to.size);
  if (target.kind == ArrayKind::temp) temps_.push_back({target.array, to.key});
}

void Machine::op_put_move(const Instruction& in) {
  if (!put_later(in, PutAs::given) && !put_from_device(in, false)) put_block_as(in, PutAs::given);
}

void Machine::op_free_block(const Instruction& in) {
  const ResolvedReference& ref = bound_.refs[in.a];
  Located at;
  locate(ref, at);
  if (!blocks_[ref.array].find(at.key)) return;
  const BlockMap::Entry e = blocks_[ref.array].remove(at.key);
  release_block(e);
  for (std::size_t t = temps_.size(); t-- > 0;) {
    if (temps_[t].array != ref.array || temps_[t].key != at.key) continue;
    temps_[t].array = -1;
    break;
  }
  const std::size_t mark = loops_.empty() ? 0 : loops_.back().temp_mark;
  while (temps_.size() > mark && temps_.back().array < 0) temps_.pop_back();
}

void Machine::op_expect(const Instruction& in) {
  const ResolvedReference& ref = bound_.refs[in.a];
  Located at;
  locate(ref, at);
  switch (ref.kind) {
    case ArrayKind::temp:
    case ArrayKind::local: own_block(ref, at, Access::existing, Use::read); break;
    case ArrayKind::distributed:
    case ArrayKind::served:
      // Only whether it was asked for: what the answer is shows at the use, and names the get.
      if (!env_.store.fetch().held(ref.array, at.block)) env_.store.fetch().read(ref.array, at.block, at.size, place());
      break;
    case ArrayKind::static_: static_data(ref.array); break;
    case ArrayKind::contiguous_local: break;  // the verifier knows better
  }
  if (in.b != 0) count(elided_, ref.array, at.size);
}

void Machine::op_keep_block(const Instruction& in) {
  const ResolvedReference& ref = bound_.refs[in.a];
  Located at;
  locate(ref, at);
  const std::size_t loops = std::min(loops_.size(), static_cast<std::size_t>(in.b));
  if (loops == 0) return;
  const std::size_t from = loops_.size() - loops;
  const std::size_t mark = loops_[from].temp_mark;
  for (std::size_t t = temps_.size(); t-- > mark;) {
    if (temps_[t].array != ref.array || temps_[t].key != at.key) continue;
    const TempEntry kept = temps_[t];
    temps_.erase(temps_.begin() + static_cast<std::ptrdiff_t>(t));
    temps_.insert(temps_.begin() + static_cast<std::ptrdiff_t>(mark), kept);
    for (std::size_t f = from; f < loops_.size(); ++f) {
      if (loops_[f].temp_mark <= t) ++loops_[f].temp_mark;
      if (f > from && loops_[f].first_temp <= t) ++loops_[f].first_temp;
    }
    return;
  }
}

}  // namespace sial
