// Records that are written behind the computation: the same file, and held values go as they are written.

#include <catch2/catch.hpp>

#include <fstream>
#include <future>
#include <iterator>

#include "runtime/core/checkpoint/deferred_records.h"
#include "tests/unit/program/job/folder.h"

using namespace sial;

namespace {

const std::atomic<bool> no_stop{false};

std::string contents_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Packer head_of(int number) {
  Packer head;
  head.value(number);
  return head;
}

LeasedValues held(double x, std::size_t n) {
  const auto values = std::make_shared<const std::vector<double>>(n, x);
  return {*values, values, false};
}

/// Own data that change as soon as they are recorded, then blocks.
void record_sample(RecordSink& sink) {
  std::vector<double> own(1000, 1.5);
  sink.record(16, head_of(1), own);
  own.assign(own.size(), -1);
  sink.record(17, head_of(2));
  for (int i = 0; i < 50; ++i) sink.record_held(35, head_of(i), held(i, i == 7 ? 70000 : 100));
}

}  // namespace

TEST_CASE("deferred records make the same file, on another thread too") {
  Folder folder;
  RecordWriter direct(folder.path("1.rank0"));
  record_sample(direct);
  const FileSeal seal = direct.finish();
  for (const std::size_t limit : {std::size_t{0}, std::size_t{100}, DeferredRecords::default_limit}) {
    const std::string path = folder.path("2.rank" + std::to_string(limit));
    RecordWriter writer(path);
    DeferredRecords records(writer, limit);
    record_sample(records);
    CHECK(std::async(std::launch::async, [&] { return records.write(no_stop); }).get());
    CHECK(writer.finish() == seal);
    CHECK(contents_of(path) == contents_of(folder.path("1.rank0")));
  }
}

TEST_CASE("copies have a bound: what exceeds it is written at once") {
  Folder folder;
  RecordWriter writer(folder.path("1.rank0"));
  DeferredRecords records(writer, 8000);
  LeasedValues block = held(1, 10);
  const std::weak_ptr<const void> holder = block.holder;
  records.record_held(35, head_of(0), std::move(block));
  records.record(16, head_of(1), std::vector<double>(900, 2.0));
  CHECK_FALSE(holder.expired());
  records.record(16, head_of(2), std::vector<double>(900, 3.0));
  CHECK(holder.expired());
}

TEST_CASE("held values are given up one by one as they are written, and all of them when writing ends early") {
  Folder folder;
  std::vector<std::weak_ptr<const void>> holders;
  const auto left = [&] {
    return std::count_if(holders.begin(), holders.end(), [](const auto& h) { return !h.expired(); });
  };
  /// One that sees how many are left when it goes.
  std::vector<std::ptrdiff_t> seen;
  std::atomic<bool> stop{false};
  const auto record = [&](DeferredRecords& records, bool stops) {
    holders.clear();
    for (int i = 0; i < 10; ++i) {
      LeasedValues block = held(i, 10);
      holders.emplace_back(block.holder);
      const auto both =
          std::shared_ptr<const void>(block.holder.get(), [&, own = block.holder, stops](const void*) mutable {
            own.reset();
            seen.push_back(left());
            if (stops && seen.size() == 4) stop = true;
          });
      block.holder = both;
      records.record_held(35, head_of(i), std::move(block));
    }
  };
  RecordWriter writer(folder.path("1.rank0"));
  DeferredRecords records(writer);
  record(records, false);
  CHECK(left() == 10);
  CHECK(records.write(stop));
  CHECK(seen == std::vector<std::ptrdiff_t>{9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
  seen.clear();
  record(records, true);
  CHECK_FALSE(records.write(stop));
  CHECK(left() == 0);
  CHECK(seen.size() == 10);
}
