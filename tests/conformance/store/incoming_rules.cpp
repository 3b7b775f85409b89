// Blocks of other nodes that come elsewhere than to the host's memory, on any transport and layout. What stands in for
// a device is memory of its own.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "suite.h"

namespace sial::suite {

namespace {

constexpr int n_incoming = 24;
BlockIndex incoming_at(int i) { return {2, {i, 9}}; }
Values forty(double x) { return Values(40, x); }

/// Takes blocks whose number is not a multiple of three.
class OffHost final : public IncomingPlaces {
 public:
  explicit OffHost(const BufferResource& buffers) : buffers_(buffers) {}
  std::unique_ptr<IncomingBlock> place_for(std::int32_t pc, ArrayId, const BlockIndex& block, double* buffer) override {
    asked.insert(pc);
    if (block.segment[0] % 3 == 0) return nullptr;
    return std::make_unique<Place>(*this, buffer);
  }
  void to_host(const double* buffer, std::int32_t /*pc*/) override {
    const Values v = values(buffer);
    std::copy(v.begin(), v.end(), const_cast<double*>(buffer));
    ++brought;
  }
  /// What the block that read() names holds, wherever.
  Values values(const double* buffer) const {
    const auto found = there_.find(buffer);
    return found != there_.end() && found->second.content == buffers_.content(buffer) ? found->second.values
                                                                                      : Values(buffer, buffer + 40);
  }

  std::set<std::int32_t> asked;  // gets
  int open = 0, brought = 0, arrived = 0;

 private:
  struct Arrived {
    std::uint64_t content = 0;
    Values values;
  };
  struct Place final : IncomingBlock {
    Place(OffHost& all, const double* buffer) : all(all), buffer(buffer), values(40, -1.0) { ++all.open; }
    ~Place() override {
      --all.open;
      std::fill(values.begin(), values.end(), -2.0);  // would show in sanitizers, were anything still received here
    }
    double* place() override { return values.data(); }
    void arrived() override {
      all.there_[buffer] = {all.buffers_.content(buffer), values};
      ++all.arrived;
    }
    OffHost& all;
    const double* buffer;
    Values values;
  };

  const BufferResource& buffers_;
  std::map<const double*, Arrived> there_;
};

/// Has blocks go on from the host's memory as they come, those whose number is not a multiple of three.
class GoesOn final : public IncomingPlaces {
 public:
  explicit GoesOn(const BufferResource&) {}
  std::unique_ptr<IncomingBlock> place_for(std::int32_t, ArrayId, const BlockIndex& block, double* buffer) override {
    if (block.segment[0] % 3 == 0) return nullptr;
    return std::make_unique<Block>(*this, buffer);
  }
  void to_host(const double*, std::int32_t) override {
    throw std::runtime_error("a block that is on the host is asked for there");
  }

  int open = 0, arrived = 0, early = 0;  // early: blocks of which part came first

 private:
  struct Block final : IncomingBlock {
    Block(GoesOn& all, const double* buffer) : all(all), buffer(buffer) { ++all.open; }
    ~Block() override { --all.open; }
    double* place() override { return nullptr; }
    std::size_t piece() const override { return 56; }
    void come(std::size_t bytes) override {
      const std::size_t n = bytes / 8;
      EXPECT(n >= values.size() && n <= 40);
      if (values.empty() && n > 0 && n < 40) ++all.early;
      values.insert(values.end(), buffer + values.size(), buffer + n);
    }
    void arrived() override {
      EXPECT(std::equal(values.begin(), values.end(), buffer));
      ++all.arrived;
    }
    GoesOn& all;
    const double* buffer;
    Values values;
  };
};

/// Makes the rank's store ask for places; ends before they do.
template <class Places>
struct ReceivesAt {
  explicit ReceivesAt(Job& j) : job(j), places(j.store->buffers()) { j.store->look_ahead().set_incoming(&places); }
  ~ReceivesAt() { job.store->look_ahead().set_incoming(nullptr); }
  Job& job;
  Places places;
};
using Receives = ReceivesAt<OffHost>;

void put_incoming(Job& j, double plus) {
  for (int i = j.rank; i < n_incoming; i += j.ranks) j.put(ArrayId(0), incoming_at(i), forty(i + plus));
  j.barrier();
}

/// Whether the block's home is another node.
bool remote(Job& j, int i) {
  return j.store->look_ahead().prefetch(ArrayId(0), incoming_at(i), 40, {0, 30}) != Prefetch::here;
}

Values read(Job& j, const OffHost& places, int i) {
  return places.values(j.store->fetch().read(ArrayId(0), incoming_at(i), 40, j.next()));
}

void blocks_come_where_they_are_told_to(Job& j) {
  put_incoming(j, 0.5);
  const Receives with(j);
  int straight = 0;
  for (int i = 0; i < n_incoming; ++i) {
    if (i % 2 == 0) straight += remote(j, i) && i % 3 != 0 ? 1 : 0;  // asks ahead
    j.store->fetch().get(ArrayId(0), incoming_at(i), 40, {0, 31});
    if (i % 2 != 0) straight += remote(j, i) && i % 3 != 0 ? 1 : 0;  // held by now
  }
  for (int i = 0; i < n_incoming; ++i) EXPECT(read(j, with.places, i) == forty(i + 0.5));
  EXPECT(with.places.arrived == straight);
  EXPECT(with.places.open == 0);
  for (const std::int32_t pc : with.places.asked) EXPECT(pc == 30 || pc == 31);
  // The store itself wants them on the host where it copies them.
  for (int i = 0; i < n_incoming; ++i) {
    const double* own = j.store->fetch().private_copy(ArrayId(0), incoming_at(i), 40, true, j.next());
    EXPECT(Values(own, own + 40) == forty(i + 0.5));
  }
  EXPECT(with.places.brought == straight);
  j.barrier();
}

void places_are_given_back(Job& j) {
  put_incoming(j, 0);
  const Receives with(j);
  for (int i = 0; i < n_incoming; ++i) remote(j, i);
  for (int i = j.rank; i < n_incoming; i += j.ranks)
    j.put(ArrayId(0), incoming_at(i), forty(-i));  // what was fetched ahead of it is void
  j.barrier();
  EXPECT(with.places.open == 0);
  for (int i = 0; i < n_incoming; ++i) remote(j, i);
  for (int i = 0; i < n_incoming; i += 2) j.get(ArrayId(0), incoming_at(i), 40);
  j.barrier();  // nobody has read them
  EXPECT(with.places.open == 0);
  const int arrived = with.places.arrived;
  for (int i = 500; i < 512; ++i) {
    if (i % 2 == 0) remote(j, i);
    j.get(ArrayId(0), incoming_at(i), 40);
    EXPECT(refused([&] { j.read(ArrayId(0), incoming_at(i), 40); }));  // no such block
  }
  EXPECT(with.places.open == 0);
  EXPECT(with.places.arrived == arrived);
  for (int i = 0; i < n_incoming; ++i) {
    j.get(ArrayId(0), incoming_at(i), 40);
    EXPECT(read(j, with.places, i) == forty(-i));
  }
  j.barrier();
}

void places_may_end_with_blocks_under_way(Job& j) {
  put_incoming(j, 0.25);
  {
    const Receives with(j);
    for (int i = 0; i < n_incoming; i += 2) j.get(ArrayId(0), incoming_at(i), 40);
    for (int i = 1; i < n_incoming; i += 2) remote(j, i);
    j.store->look_ahead().set_incoming(nullptr);
    EXPECT(with.places.open == 0 && with.places.arrived == 0);
  }
  for (int i = 0; i < n_incoming; ++i) {
    j.get(ArrayId(0), incoming_at(i), 40);
    EXPECT(j.read(ArrayId(0), incoming_at(i), 40) == forty(i + 0.25));
  }
  j.barrier();
}

// A copy whose values are elsewhere outlives a barrier like any other; one that is to be compared with the owner's
// block is fetched anew, to the host from then on, since the answer goes into the copy itself.
void retained_copies_stay_where_they_are(Job& j) {
  put_incoming(j, 0);
  const Receives with(j);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < n_incoming; ++i) j.get(ArrayId(0), incoming_at(i), 40);
    for (int i = 0; i < n_incoming; ++i) EXPECT(read(j, with.places, i) == forty(i));
    j.store->synchronization().keep_copies(ArrayId(0), KeepCopies::unchanged);
    j.barrier();
  }
  const int first = with.places.arrived;
  for (int i = 0; i < n_incoming; i += 2) j.get(ArrayId(0), incoming_at(i), 40);
  j.store->synchronization().keep_copies(ArrayId(0), KeepCopies::compared);
  j.barrier();  // half of them were passed by
  for (int i = j.rank; i < n_incoming; i += j.ranks) j.put(ArrayId(0), incoming_at(i), forty(i + 100));
  j.barrier();
  for (int round = 1; round < 4; ++round) {
    for (int i = 0; i < n_incoming; ++i) {
      j.get(ArrayId(0), incoming_at(i), 40);
      EXPECT(read(j, with.places, i) == forty(i + 100 * round));
    }
    j.store->synchronization().keep_copies(ArrayId(0), KeepCopies::compared);
    j.barrier();
    for (int i = j.rank; i < n_incoming; i += j.ranks) j.put(ArrayId(0), incoming_at(i), forty(i + 100 * (round + 1)));
    j.store->synchronization().keep_copies(ArrayId(0), KeepCopies::compared);
    j.barrier();
  }
  EXPECT(with.places.open == 0);
  EXPECT(with.places.arrived >= first);
}

Values counted_up(double from) {
  Values v(40);
  std::iota(v.begin(), v.end(), from);
  return v;
}

}  // namespace

// Both ways of asking, blocks that nobody gets and blocks that are not there; where all of it comes at once nothing is
// told of its parts.
int blocks_go_on_as_they_come(Job& j) {
  for (int i = j.rank; i < n_incoming; i += j.ranks) j.put(ArrayId(0), incoming_at(i), counted_up(100 * i));
  j.barrier();
  const ReceivesAt<GoesOn> with(j);
  int going_on = 0;
  for (int i = 0; i < n_incoming; ++i) {
    if (i % 2 == 0) remote(j, i);
    j.store->fetch().get(ArrayId(0), incoming_at(i), 40, {0, 31});
    if (i % 5 == 0) EXPECT(j.read(ArrayId(0), incoming_at(i), 40) == counted_up(100 * i));
    for (int k = 0; k < 6 && i % 5 == 1; ++k) {
      j.store->fetch().at_hand(ArrayId(0), incoming_at(i), 40);
      j.transport.pause();
    }
    going_on += remote(j, i) && i % 3 != 0 ? 1 : 0;
  }
  for (int i = 0; i < n_incoming; ++i) EXPECT(j.read(ArrayId(0), incoming_at(i), 40) == counted_up(100 * i));
  EXPECT(with.places.arrived == going_on);
  EXPECT(with.places.open == 0);
  for (int i = 0; i < n_incoming; ++i) {  // they are on the host, too
    const double* own = j.store->fetch().private_copy(ArrayId(0), incoming_at(i), 40, true, j.next());
    EXPECT(Values(own, own + 40) == counted_up(100 * i));
  }
  j.barrier();
  for (int i = 0; i < n_incoming; ++i) {
    remote(j, i);
    if (const auto there = j.store->look_ahead().foreseen(ArrayId(0), incoming_at(i), 40, false); there.data)
      j.store->buffers().deallocate(const_cast<double*>(there.data), 40);
  }
  for (int i = 501; i < 504; ++i) {
    j.get(ArrayId(0), incoming_at(i), 40);
    EXPECT(refused([&] { j.read(ArrayId(0), incoming_at(i), 40); }));  // no such block
  }
  for (int i = j.rank; i < n_incoming; i += j.ranks)
    j.put(ArrayId(0), incoming_at(i), counted_up(-i));  // what was fetched ahead of it is void
  j.barrier();
  EXPECT(with.places.open == 0);
  for (int i = 0; i < n_incoming; ++i) j.get(ArrayId(0), incoming_at(i), 40);
  j.store->look_ahead().set_incoming(nullptr);  // with blocks under way
  EXPECT(with.places.open == 0);
  for (int i = 0; i < n_incoming; ++i) EXPECT(j.read(ArrayId(0), incoming_at(i), 40) == counted_up(-i));
  j.barrier();
  return with.places.early;
}

const std::vector<Rule>& incoming_rules() {
  static const std::vector<Rule> all = {
      {"blocks come where they are told to", blocks_come_where_they_are_told_to},
      {"places are given back", places_are_given_back},
      {"places may end with blocks under way", places_may_end_with_blocks_under_way},
      {"retained copies stay where they are", retained_copies_stay_where_they_are},
      {"blocks go on as they come", [](Job& j) { blocks_go_on_as_they_come(j); }},
  };
  return all;
}

}  // namespace sial::suite
