#include "suite.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <random>

namespace sial::suite {

namespace {

template <class T>
std::vector<std::byte> pack(const T& value) {
  std::vector<std::byte> out(sizeof value);
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}
template <class T>
T unpack(std::span<const std::byte> data) {
  EXPECT(data.size() >= sizeof(T));
  T value;
  std::memcpy(&value, data.data(), sizeof value);
  return value;
}

void topology(Transport& t, std::uint64_t) {
  EXPECT(t.size() > 0 && t.rank() >= 0 && t.rank() < t.size() && !t.is_server());
  EXPECT(t.node() >= NodeId(0) && t.node() < NodeId(t.node_count()));
  std::vector<int> seen;
  for (int n = 0; n < t.node_count(); ++n) {
    const auto& ranks = t.ranks_of_node(NodeId(n));
    EXPECT(!ranks.empty() && std::is_sorted(ranks.begin(), ranks.end()));
    seen.insert(seen.end(), ranks.begin(), ranks.end());
  }
  std::sort(seen.begin(), seen.end());
  EXPECT(static_cast<int>(seen.size()) >= t.size());
  for (std::size_t r = 0; r < seen.size(); ++r) EXPECT(seen[r] == static_cast<int>(r));
  EXPECT(t.ranks_of_node(t.node())[static_cast<std::size_t>(t.node_rank())] == t.rank());
  EXPECT(t.node_size() == static_cast<int>(t.ranks_of_node(t.node()).size()));
  const bool servers = static_cast<int>(seen.size()) > t.size();
  const std::vector<NodeId>& homes = t.home_nodes();
  EXPECT(!homes.empty() && std::is_sorted(homes.begin(), homes.end()));
  for (int n = 0; n < t.node_count(); ++n) {
    const bool of_servers = t.ranks_of_node(NodeId(n)).front() >= t.size();
    EXPECT(std::binary_search(homes.begin(), homes.end(), NodeId(n)) == (!servers || of_servers));
  }
  const auto nodes = t.all_gather(pack(t.node()), tag(CollectiveKind::gather, 1));
  EXPECT(static_cast<int>(nodes.size()) == t.size());
  for (int r = 0; r < t.size(); ++r) {
    const auto& ranks = t.ranks_of_node(unpack<NodeId>(nodes[static_cast<std::size_t>(r)]));
    EXPECT(std::find(ranks.begin(), ranks.end(), r) != ranks.end());
  }
}

void node_memory(Transport& t, std::uint64_t seed) {
  constexpr std::size_t reserve = std::size_t{64} << 20;
  const auto memory = t.map_node_memory(reserve, "suite");
  EXPECT(memory->reserved() >= reserve);
  EXPECT(memory->committed() == 0);
  t.barrier(tag(CollectiveKind::barrier, 10));
  memory->commit(0, 8192);  // all ranks at once
  memory->commit(0, 8192);
  auto* words = reinterpret_cast<std::int64_t*>(memory->base());
  std::atomic_ref<std::int64_t> counter(words[0]);
  const int rounds = 20;
  for (int i = 0; i < rounds; ++i) {
    counter.fetch_add(1);
    t.yield_point();
    t.barrier(tag(CollectiveKind::barrier, 11));
    EXPECT(counter.load() == static_cast<std::int64_t>(i + 1) * t.node_size());  // nobody passed a barrier early
    t.barrier(tag(CollectiveKind::barrier, 12));
  }
  EXPECT(memory->committed() >= 8192 && memory->committed() < reserve);
  for (std::size_t i = 1; i < 1024; ++i) EXPECT(words[i] == 0);
  // Each rank commits its own distant part; all see each other's data.
  const std::size_t part = (reserve / 2) / static_cast<std::size_t>(t.node_size()) / 8 * 8;
  const auto offset = [&](int node_rank) { return reserve / 2 + part * static_cast<std::size_t>(node_rank); };
  memory->commit(offset(t.node_rank()), 4096);
  for (std::size_t i = 0; i < 512; ++i) {
    double* p = reinterpret_cast<double*>(memory->base() + offset(t.node_rank())) + i;
    EXPECT(*p == 0);
    *p = static_cast<double>(seed % 1000) + t.node_rank() + static_cast<double>(i);
  }
  t.barrier(tag(CollectiveKind::barrier, 13));
  for (int r = 0; r < t.node_size(); ++r)
    for (std::size_t i = 0; i < 512; ++i)
      EXPECT(reinterpret_cast<const double*>(memory->base() + offset(r))[i] ==
             static_cast<double>(seed % 1000) + r + static_cast<double>(i));
  t.barrier(tag(CollectiveKind::barrier, 14));
  const auto again = t.map_node_memory(4096, "suite");  // a purpose may be used again: fresh memory
  EXPECT(again->base() != memory->base());
  again->commit(0, 4096);
  EXPECT(again->base()[17] == std::byte{0});
  t.barrier(tag(CollectiveKind::barrier, 15));
}

/// Waiting for another rank of the node by polling shared memory.
void polling(Transport& t, std::uint64_t) {
  const auto memory = t.map_node_memory(4096, "polling");
  memory->commit(0, 4096);
  std::atomic_ref<std::int64_t> turn(*reinterpret_cast<std::int64_t*>(memory->base()));
  for (int round = 0; round < 10; ++round) {
    while (turn.load() != round * t.node_size() + t.node_rank()) t.pause();
    turn.fetch_add(1);
  }
  t.barrier(tag(CollectiveKind::barrier, 16));
  EXPECT(turn.load() == 10 * t.node_size());
}

void sums(Transport& t, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    std::vector<double> values;
    for (int r = 0; r < t.size(); ++r)
      values.push_back(std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 60) - 90) *
                       (random() % 2 ? 1 : -1));
    double in_order = 0;
    for (double v : values) in_order += v;
    const double got = t.sum(values[static_cast<std::size_t>(t.rank())], tag(CollectiveKind::sum, 20));
    EXPECT(std::memcmp(&got, &in_order, sizeof got) == 0);
  }
}

void broadcasts(Transport& t, std::uint64_t seed) {
  for (int root = 0; root < t.size(); ++root) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100001}}) {
      std::vector<std::byte> data(size, static_cast<std::byte>(t.rank() + 1));
      if (t.rank() == root)
        for (std::size_t i = 0; i < size; ++i)
          data[i] = static_cast<std::byte>(i * 7 + seed + static_cast<std::size_t>(root));
      t.broadcast(data, root, tag(CollectiveKind::broadcast, 30));
      for (std::size_t i = 0; i < size; ++i)
        EXPECT(data[i] == static_cast<std::byte>(i * 7 + seed + static_cast<std::size_t>(root)));
    }
  }
}

void gathers(Transport& t, std::uint64_t seed) {
  for (int round = 0; round < 5; ++round) {
    const auto size = [&](int r) { return static_cast<std::size_t>((r + round) % 3 * 1000 + r); };  // some are empty
    std::vector<std::byte> mine(size(t.rank()), static_cast<std::byte>(t.rank() + static_cast<int>(seed % 7)));
    const auto all = t.all_gather(mine, tag(CollectiveKind::gather, 40));
    EXPECT(static_cast<int>(all.size()) == t.size());
    for (int r = 0; r < t.size(); ++r) {
      EXPECT(all[static_cast<std::size_t>(r)].size() == size(r));
      for (std::byte b : all[static_cast<std::size_t>(r)])
        EXPECT(b == static_cast<std::byte>(r + static_cast<int>(seed % 7)));
    }
  }
}

}  // namespace

AnswerService::AnswerService(Transport& transport) : transport_(transport) { transport_.set_service(this); }
AnswerService::~AnswerService() {
  transport_.set_service(nullptr);
  // A reply's release reaches into the service: nobody may call one from now on.
  if (unreleased() == 0 || std::uncaught_exceptions() > 0) return;
  std::fprintf(stderr, "rank %d: %lld replies are still to be released when their service goes\n", transport_.rank(),
               static_cast<long long>(unreleased()));
  std::abort();
}

std::span<std::byte> AnswerService::payload_buffer(int, std::span<const std::byte>, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  received_.emplace_back(std::make_unique<std::vector<std::byte>>(bytes));
  return *received_.back();
}

Reply AnswerService::serve(int from, std::span<const std::byte> header, std::span<std::byte> payload) {
  transport_.pause();
  const auto q = unpack<Question>(header);
  EXPECT(q.from == from && q.to == transport_.rank() && payload.size() == q.payload_bytes);
  std::uint64_t total = 0;
  for (std::byte b : payload) total += static_cast<std::uint64_t>(b);
  auto answer = std::make_shared<std::vector<std::byte>>(q.reply_bytes);
  for (std::size_t i = 0; i < q.reply_bytes; ++i) (*answer)[i] = static_cast<std::byte>(i * 3 + q.number);
  const std::lock_guard lock(mutex_);
  ++served_;
  ++unreleased_;
  Reply reply;
  reply.header = pack(Answer{q.number, total, transport_.rank()});
  reply.payload = *answer;
  reply.release = [this, answer] {
    std::fill(answer->begin(), answer->end(), std::byte{0xff});  // a reply must have left when it is released
    const std::lock_guard again(mutex_);
    --unreleased_;
  };
  return reply;
}

std::int64_t AnswerService::served() const {
  const std::lock_guard lock(mutex_);
  return served_;
}
std::int64_t AnswerService::unreleased() const {
  const std::lock_guard lock(mutex_);
  return unreleased_;
}

namespace {

struct Asked {
  std::vector<std::byte> payload, reply;
  Question question;
  std::uint64_t total = 0;
  std::unique_ptr<PendingRequest> pending;

  Asked(Transport& t, int to, std::size_t payload_bytes, std::size_t reply_bytes, std::uint32_t number,
        Priority priority, std::size_t reply_piece = 0)
      : payload(payload_bytes),
        reply(reply_bytes + 5, std::byte{0xee}),
        question{t.rank(), to, number, payload_bytes, reply_bytes} {
    for (std::size_t i = 0; i < payload_bytes; ++i) {
      payload[i] = static_cast<std::byte>(i * 5 + number);
      total += static_cast<std::uint64_t>(payload[i]);
    }
    std::vector<std::byte> header = pack(question);
    pending = t.request(to, header, payload, ReplyBuffer(reply, reply_piece), priority);
    std::fill(header.begin(), header.end(), std::byte{0});  // the header was copied
  }
  void check() {
    const auto answer = unpack<Answer>(pending->reply_header());
    EXPECT(answer.number == question.number && answer.total == total && answer.rank == question.to);
    EXPECT(pending->reply_bytes() == question.reply_bytes);
    for (std::size_t i = 0; i < question.reply_bytes; ++i)
      EXPECT(reply[i] == static_cast<std::byte>(i * 3 + question.number));
    for (std::size_t i = question.reply_bytes; i < reply.size(); ++i) EXPECT(reply[i] == std::byte{0xee});
  }
};

/// Workers and servers.
std::vector<int> other_ranks(const Transport& t) {
  std::vector<int> others;
  for (int n = 0; n < t.node_count(); ++n)
    for (int r : t.ranks_of_node(NodeId(n)))
      if (r != t.rank()) others.push_back(r);
  return others;
}

void requests(Transport& t, std::uint64_t seed) {
  AnswerService service(t);
  std::mt19937_64 random(seed + static_cast<std::uint64_t>(t.rank()));
  const std::vector<int> others = other_ranks(t);
  const std::size_t sizes[] = {0, 1, 1000, 70000, 300000};
  std::uint32_t number = static_cast<std::uint32_t>(t.rank()) * 1000;
  for (const std::size_t payload : sizes)  // one at a time
    for (const std::size_t reply : sizes) {
      Asked asked(t, others[number % others.size()], payload, reply, number,
                  number % 2 ? Priority::demand : Priority::prefetch);
      ++number;
      asked.pending->wait();
      EXPECT(asked.pending->test());
      asked.check();
    }
  for (int round = 0; round < 5; ++round) {  // many at a time, finished in another order
    std::vector<std::unique_ptr<Asked>> asked;
    for (int i = 0; i < 12; ++i)
      asked.push_back(std::make_unique<Asked>(t, others[random() % others.size()], sizes[random() % 4],
                                              sizes[random() % 4], number++,
                                              random() % 2 ? Priority::demand : Priority::prefetch));
    std::shuffle(asked.begin(), asked.end(), random);
    for (auto& a : asked) {
      if (random() % 2) {
        while (!a->pending->test()) t.pause();
      } else {
        a->pending->wait();
      }
      a->check();
    }
    if (round == 2) t.barrier(tag(CollectiveKind::barrier, 50));  // ranks in a barrier serve on
  }
  { const Asked dropped(t, others[0], 1000, 1000, number++, Priority::prefetch); }  // destruction waits
  // A server cannot be asked here how much it served: its answers were checked by those who asked.
  t.barrier(tag(CollectiveKind::barrier, 51));
  const double served = t.sum(static_cast<double>(service.served()), tag(CollectiveKind::sum, 52));
  EXPECT(t.home_nodes().size() != static_cast<std::size_t>(t.node_count()) || served == t.size() * (25 + 5 * 12 + 1));
  t.barrier(tag(CollectiveKind::barrier, 53));
}

/// What is said to have come of a reply is there, whatever pieces were asked for, and stays there.
void replies_in_pieces(Transport& t, std::uint64_t seed) {
  AnswerService service(t);
  std::mt19937_64 random(seed * 5 + static_cast<std::uint64_t>(t.rank()));
  const std::vector<int> others = other_ranks(t);
  std::uint32_t number = static_cast<std::uint32_t>(t.rank()) * 1000;
  for (int round = 0; round < 4; ++round) {
    std::vector<std::unique_ptr<Asked>> asked;
    std::vector<std::size_t> come(8);
    for (std::size_t i = 0; i < come.size(); ++i)
      asked.push_back(
          std::make_unique<Asked>(t, others[random() % others.size()], random() % 3 * 999,
                                  std::array<std::size_t, 4>{0, 3, 5000, 70001}[random() % 4], number++,
                                  random() % 2 ? Priority::demand : Priority::prefetch,
                                  std::array<std::size_t, 3>{701, 8000, 1 << 20}[random() % 3] + random() % 3));
    if (round == 1) t.sum(1.0, tag(CollectiveKind::sum, 58));  // they go on beside other waits
    if (round == 2) {
      for (const auto& a : asked) a->pending->received();
      asked.clear();  // destruction waits
    }
    const auto look = [&](Asked& a, std::size_t& before) {
      const std::size_t now = a.pending->received();
      EXPECT(now >= before && now <= a.question.reply_bytes);
      for (std::size_t k = before; k < now; ++k)
        EXPECT(a.reply[k] == static_cast<std::byte>(k * 3 + a.question.number));
      before = now;
    };
    for (std::size_t i = 0; i < asked.size(); ++i) {
      for (std::size_t k = i; k < asked.size(); ++k) look(*asked[k], come[k]);
      while (!asked[i]->pending->test()) {
        look(*asked[i], come[i]);
        t.pause();
      }
      look(*asked[i], come[i]);
      asked[i]->check();
    }
  }
  t.barrier(tag(CollectiveKind::barrier, 59));
}

/// Shows what it has piece by piece, and each only when it was asked in vain for a while.
class Coming final : public Growing {
 public:
  Coming(std::vector<std::byte>& into, std::vector<std::byte> all, std::size_t piece)
      : into_(into), all_(std::move(all)), piece_(piece) {}
  std::size_t ready() override {
    if (++asked_ % 3 == 0) more();
    return there_;
  }
  void complete() override {
    while (there_ < all_.size()) more();
  }
  std::size_t piece() const override { return piece_; }

 private:
  void more() {
    const std::size_t n =
        std::min(all_.size() - there_, piece_ + asked_ % 5);  // never fewer than a piece, seldom just one
    std::copy_n(all_.begin() + static_cast<std::ptrdiff_t>(there_), n,
                into_.begin() + static_cast<std::ptrdiff_t>(there_));
    there_ += n;
  }
  std::vector<std::byte>& into_;
  const std::vector<std::byte> all_;
  const std::size_t piece_;
  std::size_t there_ = 0, asked_ = 0;
};

void growing_payloads(Transport& t, std::uint64_t seed) {
  AnswerService service(t);
  std::mt19937_64 random(seed * 3 + static_cast<std::uint64_t>(t.rank()));
  const std::vector<int> others = other_ranks(t);
  std::uint32_t number = static_cast<std::uint32_t>(t.rank()) * 1000;
  for (int round = 0; round < 6; ++round) {
    struct Sent {
      std::vector<std::byte> header, payload, reply;
      Question question;
      std::uint64_t total = 0;
      std::unique_ptr<Coming> coming;  // outlives the request
      std::unique_ptr<PendingRequest> pending;
    };
    std::vector<std::unique_ptr<Sent>> sent;
    for (int i = 0; i < 6; ++i) {
      Sent& s = *sent.emplace_back(std::make_unique<Sent>());
      const std::size_t size = std::array<std::size_t, 4>{0, 7, 4096, 70001}[random() % 4];
      std::vector<std::byte> all(size);
      for (std::size_t k = 0; k < size; ++k)
        s.total += static_cast<std::uint64_t>(all[k] = static_cast<std::byte>(k * 11 + number));
      s.payload.assign(size, std::byte{0xdd});
      s.reply.resize(100);
      s.question = {t.rank(), others[random() % others.size()], number++, size, 100};
      s.coming = std::make_unique<Coming>(s.payload, std::move(all), 1 + random() % 9000);
      s.header = pack(s.question);
      s.pending = t.request(s.question.to, s.header, Payload(s.payload, s.coming.get()), s.reply, Priority::demand);
    }
    if (round == 1) {  // what is under way goes on beside other waits
      t.sum(1.0, tag(CollectiveKind::sum, 56));
      for (int i = 0; i < 50; ++i) t.progress();
    }
    if (round == 2) sent.clear();  // destruction waits
    std::shuffle(sent.begin(), sent.end(), random);
    for (auto& s : sent) {
      if (random() % 2) {
        while (!s->pending->test()) t.pause();
      } else {
        s->pending->wait();
      }
      const auto answer = unpack<Answer>(s->pending->reply_header());
      EXPECT(answer.number == s->question.number && answer.total == s->total && answer.rank == s->question.to);
      EXPECT(s->pending->reply_bytes() == 100);
    }
  }
  t.barrier(tag(CollectiveKind::barrier, 57));
}

}  // namespace

void serve(Transport& transport) {
  AnswerService service(transport);
  transport.serve_forever();
  EXPECT(service.served() > 0 && service.unreleased() == 0);
}

const std::vector<Body>& bodies() {
  static const std::vector<Body> all = {
      {"topology", false, topology},
      {"node memory", false, node_memory},
      {"polling", false, polling},
      {"sums", false, sums},
      {"broadcasts", false, broadcasts},
      {"gathers", false, gathers},
      {"requests", true, requests},
      {"growing payloads", true, growing_payloads},
      {"replies in pieces", true, replies_in_pieces},
      {"work queue", false, [](Transport& t, std::uint64_t seed) { queue(t, seed, 4096); }},
      {"full work queue", false, [](Transport& t, std::uint64_t seed) { queue(t, seed, 2); }},
  };
  return all;
}

void run_all(Transport& transport, std::uint64_t seed) {
  if (transport.is_server()) {
    serve(transport);
    return;
  }
  for (const Body& body : bodies()) {
    if (body.needs_nodes && transport.node_count() == 1) continue;
    body.run(transport, seed);
    transport.barrier(tag(CollectiveKind::other, 1000));
  }
}

}  // namespace sial::suite
