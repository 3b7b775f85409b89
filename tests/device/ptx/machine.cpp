#include "tests/device/ptx/machine.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <type_traits>

#include <fmt/format.h>

namespace ptx {
namespace {

using u32 = std::uint32_t;
using s32 = std::int32_t;
using u64 = std::uint64_t;
using s64 = std::int64_t;
using f64 = double;
using pred = bool;

template <class T>
T taken(std::uint64_t bits) {
  if constexpr (std::is_same_v<T, double>) return std::bit_cast<double>(bits);
  else if constexpr (std::is_same_v<T, bool>) return bits != 0;
  else return static_cast<T>(bits);
}
template <class T>
std::uint64_t put(T value) {
  if constexpr (std::is_same_v<T, double>) return std::bit_cast<std::uint64_t>(value);
  else if constexpr (std::is_same_v<T, std::int32_t>) return static_cast<std::uint32_t>(value);
  else return static_cast<std::uint64_t>(value);
}

/// Every lane, or those listed.
template <class F>
void each(bool dense, std::size_t threads, const std::vector<std::uint16_t>& lanes, F&& f) {
  if (dense)
    for (std::size_t t = 0; t < threads; ++t) f(t);
  else
    for (const std::uint16_t t : lanes) f(std::size_t{t});
}

}  // namespace

Machine::Machine(const Program& program, Memory& memory)
    : program_(program), memory_(memory), executed_(program.ops.size(), 0) {}

std::string Machine::name_of(int slot) const {
  for (const Registers& r : program_.registers)
    if (slot >= r.first && slot < r.first + r.count) return fmt::format("register {}{}", r.prefix, slot - r.first);
  return "a special register";
}

void Machine::fail(const Op& op, unsigned thread, const std::string& what) const {
  throw Error(
      fmt::format("kernel {}, block {}, thread {}, {}: {}", program_.kernel, block_, thread, program_.at(op), what));
}

void Machine::launch(const Launch& launch, std::span<const std::byte> arguments, Observer* observer,
                     std::uint64_t seed) {
  const auto refuse = [&](const std::string& what) {
    throw Error(
        fmt::format("kernel {}: launch of {} x {} threads: {}", program_.kernel, launch.blocks, launch.threads, what));
  };
  if (launch.blocks == 0 || launch.threads == 0 || launch.threads > std::min(program_.max_threads, most_threads))
    refuse(fmt::format("a block has 1 to {} threads", std::min(program_.max_threads, most_threads)));
  if (launch.shared_bytes > max_shared) refuse(fmt::format("{} bytes of shared memory", launch.shared_bytes));
  if (arguments.size() != program_.parameter_bytes)
    refuse(fmt::format("{} bytes of parameters instead of {}", arguments.size(), program_.parameter_bytes));
  launch_ = launch;
  arguments_ = arguments;
  observer_ = observer;
  number_ = memory_.next_launch();
  last_ = nullptr;
  stride_ = launch.threads;
  words_ = (launch.threads + 63) / 64;
  registers_.assign(stride_ * static_cast<std::size_t>(program_.slots), 0);
  ready_.assign(words_ * static_cast<std::size_t>(program_.slots), 0);
  std::iota(row(tid_x), row(tid_x) + stride_, 0u);
  std::fill_n(row(ntid_x), stride_, launch.threads);
  std::fill_n(row(nctaid_x), stride_, launch.blocks);
  for (const Constant& c : program_.constants) std::fill_n(row(c.slot), stride_, c.bits);
  shared_.resize(launch.shared_bytes);
  shared_notes_.assign(launch.shared_bytes / 8 + 1, {});
  std::vector<unsigned> order(launch.blocks);
  std::iota(order.begin(), order.end(), 0u);
  if (seed != 0) std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  for (const unsigned block : order) {
    block_ = block;
    std::fill_n(row(ctaid_x), stride_, block);
    run_block();
  }
}

void Machine::run_block() {
  mask_.assign(words_, ~Mask{0});
  if (launch_.threads % 64 != 0) mask_.back() = (Mask{1} << launch_.threads % 64) - 1;
  std::fill(ready_.begin(), ready_.end(), 0);
  const int first_constant = program_.constants.empty() ? program_.slots : program_.constants.front().slot;
  for (int s = 0; s < program_.slots; s = s + 1 == specials ? first_constant : s + 1)
    std::copy(mask_.begin(), mask_.end(), ready(s));
  ++blocks_run_;
  ++barriers_;
  fill_with_poison(shared_.data(), shared_.size());
  others_.clear();
  waiting_.clear();
  exited_ = 0;
  at_ = 0;
  steps_ = 0;
  list_lanes();
  do {
    const Op& op = program_.ops[static_cast<std::size_t>(at_)];
    if (++steps_ > max_steps)
      fail(op, lanes_.front(), fmt::format("the block has not ended after {} instructions", max_steps));
    run_operation(op);
  } while (take_next());
}

void Machine::list_lanes() {
  lanes_.clear();
  for (std::size_t w = 0; w < words_; ++w)
    for (Mask m = mask_[w]; m != 0; m &= m - 1)
      lanes_.push_back(static_cast<std::uint16_t>(64 * w + static_cast<std::size_t>(std::countr_zero(m))));
  dense_ = lanes_.size() == launch_.threads;
}

void Machine::leave_for(int at, const std::vector<Mask>& mask, std::vector<Group>& groups) const {
  auto place = groups.begin();
  while (place != groups.end() && place->at > at) ++place;
  if (place == groups.end() || place->at != at) {
    groups.insert(place, {at, mask});
    return;
  }
  for (std::size_t w = 0; w < words_; ++w) place->mask[w] |= mask[w];
}

/// False when the block has ended.
bool Machine::take_next() {
  if (lanes_.empty() || (!others_.empty() && others_.back().at <= at_)) {
    if (!lanes_.empty()) leave_for(at_, mask_, others_);
    if (others_.empty() && !waiting_.empty()) pass_barrier();
    if (others_.empty()) return false;
    at_ = others_.back().at;
    mask_ = std::move(others_.back().mask);
    others_.pop_back();
    list_lanes();
  }
  return true;
}

void Machine::pass_barrier() {
  const Op& op = program_.ops[static_cast<std::size_t>(waiting_.front().at)];
  const auto first_of = [&](const Group& g) {
    unsigned t = 0;
    while ((g.mask[t / 64] >> t % 64 & 1) == 0) ++t;
    return t;
  };
  if (exited_ > 0)
    fail(op, first_of(waiting_.front()),
         fmt::format("a divergent barrier: {} threads of the block have ended", exited_));
  if (waiting_.size() > 1)
    fail(op, first_of(waiting_.front()),
         fmt::format("a divergent barrier: thread {} waits at {}", first_of(waiting_.back()),
                     program_.at(program_.ops[static_cast<std::size_t>(waiting_.back().at)])));
  ++barriers_;
  others_ = std::move(waiting_);
  waiting_.clear();
  ++others_.front().at;
}

void Machine::check_read(const Op& op, int slot) {
  const Mask* have = ready(slot);
  for (std::size_t w = 0; w < words_; ++w)
    if (const Mask missing = mask_[w] & ~have[w])
      fail(op, static_cast<unsigned>(64 * w) + static_cast<unsigned>(std::countr_zero(missing)),
           fmt::format("{} has not been written", name_of(slot)));
}

void Machine::mark_written(int slot) {
  Mask* have = ready(slot);
  for (std::size_t w = 0; w < words_; ++w) have[w] |= mask_[w];
}

void Machine::branch(const Op& op) {
  if (op.guard == no_slot) {
    at_ = op.target;
    return;
  }
  std::vector<Mask> taken_by(words_, 0);
  const std::uint64_t* guard = row(op.guard);
  std::size_t n = 0;
  for (const std::uint16_t t : lanes_)
    if ((guard[t] != 0) != op.guarded_by_false) {
      taken_by[t / 64] |= Mask{1} << t % 64;
      ++n;
    }
  if (n == lanes_.size()) {
    at_ = op.target;
    return;
  }
  ++at_;
  if (n == 0) return;
  for (std::size_t w = 0; w < words_; ++w) mask_[w] &= ~taken_by[w];
  leave_for(op.target, taken_by, others_);
  list_lanes();
}

void Machine::run_operation(const Op& op) {
  if (op.guard != no_slot) check_read(op, op.guard);
  if (op.code == OpCode::branch) {
    executed_[static_cast<std::size_t>(at_)] += lanes_.size();
    return branch(op);
  }
  if (op.guard != no_slot) {
    // Those that it concerns; all go on behind it.
    const std::vector<Mask> all = mask_;
    const std::uint64_t* guard = row(op.guard);
    for (const std::uint16_t t : lanes_)
      if ((guard[t] != 0) == op.guarded_by_false) mask_[t / 64] &= ~(Mask{1} << t % 64);
    Op free = op;
    free.guard = no_slot;
    list_lanes();
    const int here = at_;
    if (op.code == OpCode::barrier || op.code == OpCode::ret) {
      std::vector<Mask> rest = all;
      for (std::size_t w = 0; w < words_; ++w) rest[w] &= ~mask_[w];
      if (std::any_of(rest.begin(), rest.end(), [](Mask m) { return m != 0; })) leave_for(here + 1, rest, others_);
      if (!lanes_.empty()) run_operation(free);
      return;
    }
    if (!lanes_.empty()) run_operation(free);
    at_ = here + 1;
    mask_ = all;
    list_lanes();
    return;
  }
  executed_[static_cast<std::size_t>(at_)] += lanes_.size();
  for (const int s : op.s)
    if (s != no_slot) check_read(op, s);
  const std::size_t n = launch_.threads;
  std::uint64_t* d = op.d[0] == no_slot ? nullptr : row(op.d[0]);
  const std::uint64_t* a = op.s[0] == no_slot ? nullptr : row(op.s[0]);
  const std::uint64_t* b = op.s[1] == no_slot ? nullptr : row(op.s[1]);
  const std::uint64_t* c = op.s[2] == no_slot ? nullptr : row(op.s[2]);
  switch (op.code) {
#define PTX_UNARY(name, text, result, ta, value)      \
  case OpCode::name:                                  \
    each(dense_, n, lanes_, [=](std::size_t t) {      \
      const ta x = taken<ta>(a[t]);                   \
      d[t] = put<result>(static_cast<result>(value)); \
    });                                               \
    break;
#define PTX_BINARY(name, text, result, ta, tb, value) \
  case OpCode::name:                                  \
    each(dense_, n, lanes_, [=](std::size_t t) {      \
      const ta x = taken<ta>(a[t]);                   \
      const tb y = taken<tb>(b[t]);                   \
      d[t] = put<result>(static_cast<result>(value)); \
    });                                               \
    break;
#define PTX_TERNARY(name, text, result, ta, tb, tc, value) \
  case OpCode::name:                                       \
    each(dense_, n, lanes_, [=](std::size_t t) {           \
      const ta x = taken<ta>(a[t]);                        \
      const tb y = taken<tb>(b[t]);                        \
      const tc z = taken<tc>(c[t]);                        \
      d[t] = put<result>(static_cast<result>(value));      \
    });                                                    \
    break;
#include "tests/device/ptx/ops.def"
    case OpCode::load: load(op); break;
    case OpCode::store: store(op); break;
    case OpCode::barrier:
      leave_for(at_, mask_, waiting_);
      lanes_.clear();
      return;
    case OpCode::ret:
      exited_ += lanes_.size();
      lanes_.clear();
      return;
    case OpCode::branch: break;
  }
  for (const int s : op.d)
    if (s != no_slot) mark_written(s);
  ++at_;
}

std::uint64_t Machine::address(const Op& op, std::uint16_t thread) const {
  return row(op.base)[thread] + static_cast<std::uint64_t>(op.offset);
}

const Memory::Piece& Machine::check_global(const Op& op, std::uint64_t address, std::uint16_t thread) {
  const std::size_t bytes = std::size_t{op.parts} * op.bytes;
  if (address % bytes != 0) fail(op, thread, fmt::format("address {:#x} is not a multiple of {}", address, bytes));
  if (!last_ || address < last_->begin || address + bytes > last_->end) {
    last_ = memory_.find(address, bytes);
    if (!last_) fail(op, thread, "access outside global memory: " + memory_.explain(address, bytes));
  }
  return *last_;
}

void Machine::check_shared(const Op& op, std::uint64_t offset, std::uint16_t thread) {
  const std::size_t bytes = std::size_t{op.parts} * op.bytes;
  if (offset % bytes != 0)
    fail(op, thread, fmt::format("offset {} of shared memory is not a multiple of {}", offset, bytes));
  if (offset >= shared_.size() || offset + bytes > shared_.size())
    fail(op, thread,
         fmt::format("access outside shared memory: bytes {} to {} of {}", static_cast<std::int64_t>(offset),
                     static_cast<std::int64_t>(offset + bytes), shared_.size()));
  for (std::uint64_t at = offset / 8; at < (offset + bytes) / 8; ++at) {
    SharedNote& note = shared_notes_[at];
    const bool written_now = note.written_at == barriers_ && note.block == blocks_run_;
    if (op.code == OpCode::load) {
      if (note.block != blocks_run_)
        fail(op, thread, fmt::format("shared memory is read that was never written (bytes {} ff.)", 8 * at));
      if (written_now && note.writer != thread)
        fail(op, thread,
             fmt::format("thread {} has written bytes {} ff. of shared memory, with no barrier between", note.writer,
                         8 * at));
      note.many_readers = note.read_at == barriers_ && (note.many_readers || note.reader != thread);
      note.read_at = barriers_;
      note.reader = thread;
    } else {
      if (written_now && note.writer != thread)
        fail(op, thread,
             fmt::format("thread {} has written bytes {} ff. of shared memory, too, with no barrier between",
                         note.writer, 8 * at));
      if (note.read_at == barriers_ && (note.many_readers || note.reader != thread))
        fail(op, thread,
             fmt::format("thread {} has read bytes {} ff. of shared memory, with no barrier between", note.reader,
                         8 * at));
      note.block = blocks_run_;
      note.written_at = barriers_;
      note.writer = thread;
    }
  }
}

void Machine::tell(const Op& op) {
  if (!observer_) return;
  addresses_.clear();
  for (const std::uint16_t t : lanes_)
    addresses_.push_back(address(op, t) - (op.space == Space::shared ? shared_base : 0));
  observer_->access({&op, block_, lanes_, addresses_});
}

void Machine::load(const Op& op) {
  check_read(op, op.base);
  const std::size_t bytes = std::size_t{op.parts} * op.bytes;
  if (op.space == Space::param) {
    std::uint64_t before = 0, values[max_parts] = {};
    bool have = false;
    for (const std::uint16_t t : lanes_) {
      const std::uint64_t at = address(op, t) - param_base;
      if (!have || at != before) {
        if (at % bytes != 0) fail(op, t, fmt::format("offset {} of the parameter is not a multiple of {}", at, bytes));
        if (at >= arguments_.size() || at + bytes > arguments_.size())
          fail(op, t,
               fmt::format("access outside the parameter: bytes {} to {} of {}", static_cast<std::int64_t>(at),
                           static_cast<std::int64_t>(at + bytes), arguments_.size()));
        for (std::size_t k = 0; k < op.parts; ++k) {
          values[k] = 0;
          std::memcpy(&values[k], arguments_.data() + at + k * op.bytes, op.bytes);
        }
        before = at;
        have = true;
      }
      for (std::size_t k = 0; k < op.parts; ++k) row(op.d[k])[t] = values[k];
    }
    return;
  }
  tell(op);
  for (const std::uint16_t t : lanes_) {
    std::uint64_t from = address(op, t);
    const std::byte* data = nullptr;
    if (op.space == Space::shared) {
      from -= shared_base;
      check_shared(op, from, t);
      data = shared_.data() + from;
    } else {
      const Memory::Piece& piece = check_global(op, from, t);
      data = reinterpret_cast<const std::byte*>(from);
      if (op.unchanging)
        for (std::size_t k = 0; k < op.parts; ++k) {
          Memory::Note& note = piece.note(from + 8 * k);
          if (note.written_in == number_)
            fail(op, t,
                 fmt::format("memory is read as unchanging (.nc) that thread {} of block {} has written in this launch",
                             note.writer % launch_.threads, note.writer / launch_.threads));
          note.unchanging_in = number_;
          note.reader = block_ * launch_.threads + t;
        }
    }
    for (std::size_t k = 0; k < op.parts; ++k) std::memcpy(&row(op.d[k])[t], data + 8 * k, 8);
  }
}

void Machine::store(const Op& op) {
  check_read(op, op.base);
  tell(op);
  for (const std::uint16_t t : lanes_) {
    std::uint64_t to = address(op, t);
    std::byte* data = nullptr;
    if (op.space == Space::shared) {
      to -= shared_base;
      check_shared(op, to, t);
      data = shared_.data() + to;
    } else {
      const Memory::Piece& piece = check_global(op, to, t);
      if (piece.constant) fail(op, t, fmt::format("{} is written, which is only to be read", piece.name));
      data = reinterpret_cast<std::byte*>(to);
      const std::uint32_t me = block_ * launch_.threads + t;
      for (std::size_t k = 0; k < op.parts; ++k) {
        Memory::Note& note = piece.note(to + 8 * k);
        if (note.written_in == number_ && note.writer != me)
          fail(op, t,
               fmt::format("thread {} of block {} has written the same global memory in this launch",
                           note.writer % launch_.threads, note.writer / launch_.threads));
        if (note.unchanging_in == number_)
          fail(op, t,
               fmt::format("memory is written that thread {} of block {} has read as unchanging (.nc) in this launch",
                           note.reader % launch_.threads, note.reader / launch_.threads));
        note.written_in = number_;
        note.writer = me;
        if (is_poison(row(op.s[k])[t])) fail(op, t, "the value stems from memory that was never written (poison)");
      }
    }
    for (std::size_t k = 0; k < op.parts; ++k) std::memcpy(data + 8 * k, &row(op.s[k])[t], 8);
  }
}

}  // namespace ptx
