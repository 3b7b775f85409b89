#include "tests/bench/numa/measure.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include <fmt/format.h>

#include "runtime/core/base/error.h"

namespace sial::bench {

namespace {

/// Of this thread: on a busy machine others have the processor for a part of the time.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Column make_column(Placement placement, bool is_first, PageCalls& calls, const Extent& extent,
                   const LineOrders& orders) {
  Column column;
  column.seconds.resize(patterns().size());
  auto memory = std::make_unique<NewPages>(extent.bytes);
  const std::string refused = calls.set_rule(memory->begin(), memory->bytes(), placement.rule);
  if (!refused.empty())
    column.problems.push_back(
        fmt::format("the system refuses to put its pages {}: {}", page_rule_text(placement.rule), refused));
  if (extent.large_pages)
    if (const std::string none = calls.ask_for_large_pages(memory->begin(), memory->bytes()); !none.empty())
      column.problems.push_back(fmt::format("the system refuses large pages: {}", none));
  column.placement = std::move(placement);
  // Without a rule the pages of the first column are near the processor that touches them, as they should be.
  if (!refused.empty() && !is_first) return column;
  orders.fill(memory->lines());
  column.memory = std::move(memory);
  return column;
}

/// All pages are looked at: an even sample of an interleaved array may come from one node.
void look_for_pages(Column& column, PageCalls& calls, std::string_view when) {
  if (!column.memory) return;
  const std::size_t pages = column.memory->bytes() / page_bytes;
  PagesFound found = calls.find_pages(column.memory->begin(), column.memory->bytes(), pages);
  if (const std::string wrong = wrong_pages(found, column.placement.rule, pages); !wrong.empty())
    column.problems.push_back(fmt::format("{} {}", when, wrong));
  if (column.found.looked_at == 0) column.found = std::move(found);
}

}  // namespace

NewPages::NewPages(std::size_t bytes) : bytes_(bytes) {
  void* begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin == MAP_FAILED)
    throw EnvironmentError(fmt::format("no memory for an array of {} bytes: {}", bytes, std::strerror(errno)),
                           "`--mib N` measures smaller arrays");
  begin_ = static_cast<std::byte*>(begin);
}

NewPages::~NewPages() { munmap(begin_, bytes_); }

double Column::median(std::size_t pattern) const {
  std::vector<double> sorted = seconds[pattern];
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

Measured measure(std::vector<Placement> placements, PageCalls& calls, const Extent& extent) {
  const LineOrders orders(extent.bytes / sizeof(Line));
  Measured result;
  for (Placement& placement : placements) {
    const bool is_first = result.columns.empty();
    result.columns.push_back(make_column(std::move(placement), is_first, calls, extent, orders));
    look_for_pages(result.columns.back(), calls, "after they have been touched,");
  }
  for (std::size_t p = 0; p < patterns().size(); ++p)
    for (int round = 0; round < extent.rounds; ++round)
      for (Column& column : result.columns) {
        if (!column.memory) continue;
        const VisitedArray array{column.memory->lines(), extent.cached_lines, extent.cached_passes};
        const double begin = processor_seconds();
        const Visit visit = patterns()[p].visit(array);
        column.seconds[p].push_back((processor_seconds() - begin) / static_cast<double>(visit.accesses));
        if (std::string wrong = wrong_visit(patterns()[p], array, orders, visit); !wrong.empty())
          result.wrong.push_back(std::move(wrong));
      }
  // The system may move pages to the processor that uses them.
  for (Column& column : result.columns)
    if (column.problems.empty()) look_for_pages(column, calls, "after the measurement,");
  return result;
}

}  // namespace sial::bench
