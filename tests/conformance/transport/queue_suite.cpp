#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include "runtime/core/base/check.h"
#include "runtime/core/transport/work_queue.h"
#include "suite.h"

namespace sial::suite {

namespace {

/// Hands work queue messages on, as the block store does.
class QueueService final : public Service {
 public:
  QueueService(Transport& transport, WorkQueue& queue) : transport_(transport), queue_(queue) {
    transport_.set_service(this);
  }
  ~QueueService() override { transport_.set_service(nullptr); }
  QueueService(const QueueService&) = delete;
  QueueService& operator=(const QueueService&) = delete;
  std::span<std::byte> payload_buffer(int, std::span<const std::byte>, std::size_t) override { return {}; }
  Reply serve(int, std::span<const std::byte> header, std::span<std::byte>) override {
    EXPECT(!header.empty() && header[0] == work_queue_message);
    return serve_work_queue_message(queue_, header);
  }

 private:
  Transport& transport_;
  WorkQueue& queue_;
};

struct Drawn {
  std::int64_t pardo, first, last;
};

}  // namespace

ServedQueue::ServedQueue(Transport& transport)
    : queue_(make_work_queue(transport)), service_(std::make_unique<QueueService>(transport, *queue_)) {}
ServedQueue::~ServedQueue() = default;

double run_pardo(Transport& t, WorkQueue& work, const PardoKey& key, Candidates candidates,
                 const std::function<double(std::int64_t)>& seconds) {
  const double begun = t.now();
  while (const auto range = work.draw(key, candidates))
    for (std::int64_t i = range->first; i < range->last; ++i) t.charge_compute(seconds(i));
  const double took = t.now() - begun;
  t.barrier(tag(CollectiveKind::barrier, 63));
  return took;
}

void queue(Transport& t, std::uint64_t seed, std::size_t slots) {
  const auto work = make_work_queue(t, slots);
  const QueueService service(t, *work);
  std::mt19937_64 shared(seed),
      own(seed * 1000 + static_cast<std::uint64_t>(t.rank()));  // `shared` says the same everywhere
  t.barrier(tag(CollectiveKind::barrier, 60));
  for (std::int64_t phase = 3; phase < 6; ++phase) {
    work->new_phase(phase);
    std::vector<Drawn> mine;
    std::vector<std::int64_t> totals;
    std::map<int, std::int64_t> instances;
    const int pardos = static_cast<int>(shared() % 6);
    for (int p = 0; p < pardos; ++p) {  // without a barrier between them: ranks are at different loops
      const std::int64_t kinds[] = {0, 1, static_cast<std::int64_t>(shared() % 10),
                                    static_cast<std::int64_t>(shared() % 1000)};
      const std::int64_t total = kinds[shared() % 4];
      const int loop = static_cast<int>(shared() % 2) * 40;
      totals.push_back(total);
      const PardoKey key{static_cast<std::int32_t>(shared() % 2), loop, phase, instances[loop]++};
      const int wheres = static_cast<int>(shared() % 3) * 2;
      const double slowness = own() % 3 == 0 ? 1e-4 : 1e-6;
      const bool looks_ahead = own() % 2 == 0;
      // A rank alone draws what it has set aside, in pieces.
      const auto draw = [&] {
        const IterationRange set_aside =
            looks_ahead && own() % 4 > 0
                ? work->reserve(key, {total, wheres}, static_cast<std::int64_t>(own() % 40)).value_or(IterationRange{})
                : IterationRange{};
        t.charge_compute(slowness);  // time for others to take it
        const auto range = work->draw(key, {total, wheres});
        if (set_aside.first < set_aside.last && t.size() == 1)
          EXPECT(range && range->first == set_aside.first && range->last <= set_aside.last);
        return range;
      };
      while (const auto range = draw()) {
        EXPECT(range->first < range->last && range->first >= 0 && range->last <= total);
        mine.push_back({p, range->first, range->last});
        t.charge_compute(slowness);
      }
      EXPECT(!work->draw(key, {total, wheres}));
    }
    const auto all = t.all_gather(std::as_bytes(std::span(mine)), tag(CollectiveKind::gather, 61));
    std::vector<std::vector<IterationRange>> ranges(totals.size());
    for (const auto& part : all)
      for (std::size_t i = 0; i < part.size() / sizeof(Drawn); ++i) {
        Drawn d{};
        std::memcpy(&d, part.data() + i * sizeof d, sizeof d);
        ranges[static_cast<std::size_t>(d.pardo)].push_back({d.first, d.last});
      }
    for (std::size_t p = 0; p < totals.size(); ++p) {  // exactly once
      std::sort(ranges[p].begin(), ranges[p].end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      std::int64_t next = 0;
      for (const auto& r : ranges[p]) {
        if (r.first != next)
          throw std::runtime_error(fmt::format("phase {} pardo {}: iteration {} follows {}", phase, p, r.first, next));
        next = r.last;
      }
      EXPECT(next == totals[p]);
    }
    t.barrier(tag(CollectiveKind::barrier, 62));
  }
}

}  // namespace sial::suite
