#include "tests/models/memory.h"

#include <algorithm>

namespace sial::models {

namespace {

bool acquires(std::memory_order o) {
  return o == std::memory_order_acquire || o == std::memory_order_acq_rel || o == std::memory_order_seq_cst;
}
bool releases(std::memory_order o) {
  return o == std::memory_order_release || o == std::memory_order_acq_rel || o == std::memory_order_seq_cst;
}
bool is_consistent(std::memory_order o) { return o == std::memory_order_seq_cst; }

bool reads_expected(const Op& op, Value v) {
  switch (op.kind) {
    case Op::Kind::await: return (v == op.expected) != op.differs;
    case Op::Kind::await_clear: return (v & op.expected) == 0;
    case Op::Kind::await_change: return v == op.expected;
    default: return true;
  }
}

}  // namespace

void Memory::View::join(const View& other) {
  join_places(other);
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other.clock[i]);
}

void Memory::View::join_places(const View& other) {
  for (std::size_t i = 0; i < at.size(); ++i) at[i] = std::max(at[i], other.at[i]);
}

Memory::Memory(const std::vector<Value>& atomics, const std::vector<Value>& plain, int ghosts, int threads)
    : threads_(static_cast<std::size_t>(threads)), ghosts_(static_cast<std::size_t>(ghosts)) {
  for (const Value v : atomics) {
    Message first;
    first.value = v;
    atomics_.push_back({first});
  }
  for (const Value v : plain) {
    Cell cell;
    cell.value = v;
    plain_.push_back(cell);
  }
  for (std::size_t t = 0; t < threads_.size(); ++t) threads_[t].now.clock[t] = 1;
}

std::vector<int> Memory::choices(int thread, const Op& op) const {
  std::vector<int> found;
  if (op.kind == Op::Kind::fence) return {0};
  if (op.kind == Op::Kind::choose) {
    for (int i = 0; i < op.operand; ++i) found.push_back(i);
    return found;
  }
  const std::vector<Message>& all = atomics_[op.location];
  const int n = static_cast<int>(all.size());
  int first = threads_[static_cast<std::size_t>(thread)].now.at[op.location];
  if (is_consistent(op.order)) first = std::max<int>(first, consistent_[op.location]);
  const auto may_insert = [&](int at) { return at == n || !all[static_cast<std::size_t>(at)].attached; };
  for (int at = first; at < n; ++at) {
    const Value v = all[static_cast<std::size_t>(at)].value;
    bool fits = false;
    switch (op.kind) {
      case Op::Kind::load: fits = true; break;
      case Op::Kind::await:
      case Op::Kind::await_clear: fits = reads_expected(op, v); break;
      case Op::Kind::store:
      case Op::Kind::exchange:
      case Op::Kind::add: fits = may_insert(at + 1); break;
      case Op::Kind::await_change: fits = reads_expected(op, v) && may_insert(at + 1); break;
      case Op::Kind::compare: fits = v != op.expected || may_insert(at + 1); break;
      default: break;
    }
    if (fits) found.push_back(at);
  }
  return found;
}

Value Memory::load(int thread, const Op& op, int at, std::memory_order order) {
  Thread& t = threads_[static_cast<std::size_t>(thread)];
  const Message& m = atomics_[op.location][static_cast<std::size_t>(at)];
  t.now.at[op.location] = std::max(t.now.at[op.location], static_cast<std::uint8_t>(at));
  t.relaxed.join(m.view);
  if (acquires(order)) t.now.join(m.view);
  return m.value;
}

void Memory::insert(std::size_t location, int at, const Message& message) {
  const auto shift = [&](View& v) {
    if (v.at[location] >= at) ++v.at[location];
  };
  std::vector<Message>& all = atomics_[location];
  if (at < static_cast<int>(all.size())) {
    for (std::vector<Message>& messages : atomics_)
      for (Message& m : messages) shift(m.view);
    for (Thread& t : threads_) {
      shift(t.now);
      shift(t.fenced);
      shift(t.relaxed);
    }
    shift(fences_);
    if (consistent_[location] >= at) ++consistent_[location];
  }
  all.insert(all.begin() + at, message);
}

/// `at`: its place; `read`: what the read-modify-write has read, null for a store.
void Memory::store(int thread, const Op& op, int at, Value value, const Message* read) {
  const auto self = static_cast<std::size_t>(thread);
  Message m;
  m.value = value;
  m.attached = read != nullptr;
  if (read) m.view = read->view;  // the release sequence goes on
  insert(op.location, at, m);
  Thread& t = threads_[self];
  Message& mine = atomics_[op.location][static_cast<std::size_t>(at)];
  t.now.at[op.location] = static_cast<std::uint8_t>(at);
  mine.view.join(t.fenced);
  if (releases(op.order)) {
    mine.view.join(t.now);
    ++t.now.clock[self];
  }
  if (is_consistent(op.order)) consistent_[op.location] = static_cast<std::uint8_t>(at);
}

void Memory::fence(int thread, std::memory_order order) {
  const auto self = static_cast<std::size_t>(thread);
  Thread& t = threads_[self];
  if (acquires(order)) t.now.join(t.relaxed);
  if (is_consistent(order)) {
    t.now.join_places(fences_);
    fences_.join_places(t.now);
  }
  if (releases(order)) {
    t.fenced = t.now;
    ++t.now.clock[self];
  }
}

Value Memory::access(int thread, const Op& op) {
  if (op.kind == Op::Kind::note) return ghosts_[op.location] += op.operand;
  const auto self = static_cast<std::size_t>(thread);
  Cell& cell = plain_[op.location];
  const View& now = threads_[self].now;
  const auto happened_before = [&](std::size_t who, std::uint8_t when) {
    return who == self || now.clock[who] >= when;
  };
  if (cell.writer >= 0 && !happened_before(static_cast<std::size_t>(cell.writer), cell.written))
    race_ = "races with a write of thread " + std::to_string(cell.writer);
  if (op.kind == Op::Kind::read) {
    cell.reads[self] = now.clock[self];
    return cell.value;
  }
  for (std::size_t who = 0; who < threads_.size(); ++who)
    if (cell.reads[who] != 0 && !happened_before(who, cell.reads[who]))
      race_ = "races with a read of thread " + std::to_string(who);
  cell.writer = thread;
  cell.written = now.clock[self];
  cell.value = op.operand;
  return 0;
}

Value Memory::apply(int thread, const Op& op, int choice) {
  switch (op.kind) {
    case Op::Kind::fence: fence(thread, op.order); return 0;
    case Op::Kind::choose: return choice;
    case Op::Kind::read:
    case Op::Kind::write:
    case Op::Kind::note: return access(thread, op);
    case Op::Kind::store: store(thread, op, choice + 1, op.operand, nullptr); return 0;
    case Op::Kind::exchange:
    case Op::Kind::add:
    case Op::Kind::compare:
    case Op::Kind::await_change: {
      const Message before = messages(op)[static_cast<std::size_t>(choice)];
      const bool fails = op.kind == Op::Kind::compare && before.value != op.expected;
      load(thread, op, choice, fails ? op.failure : op.order);
      if (fails) return before.value;
      const Value written = op.kind == Op::Kind::add ? before.value + op.operand : op.operand;
      store(thread, op, choice + 1, written, &before);
      return before.value;
    }
    default: return load(thread, op, choice, op.order);
  }
}

void Memory::append_to(std::string& key) const {
  const auto add = [&](const auto& bytes) { key.append(reinterpret_cast<const char*>(&bytes), sizeof bytes); };
  const auto add_view = [&](const View& v) {
    add(v.at);
    add(v.clock);
  };
  for (const auto& messages : atomics_) {
    key.push_back(static_cast<char>(messages.size()));
    for (const Message& m : messages) {
      add(m.value);
      add_view(m.view);
      key.push_back(m.attached ? 1 : 0);
    }
  }
  for (const Thread& t : threads_) {
    add_view(t.now);
    add_view(t.fenced);
    add_view(t.relaxed);
  }
  for (const Cell& c : plain_) {
    add(c.value);
    key.push_back(static_cast<char>(c.writer));
    key.push_back(static_cast<char>(c.written));
    add(c.reads);
  }
  for (const Value v : ghosts_) add(v);
  add_view(fences_);
  add(consistent_);
}

}  // namespace sial::models
