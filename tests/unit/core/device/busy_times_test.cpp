// The time of a device from the beginnings and ends of its work.
#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <vector>

#include "runtime/core/device/measure/busy_times.h"

using namespace sial;

TEST_CASE("kernels and copies are counted once, however many streams are at them, and what they have in common") {
  BusyTimes t;
  t.add(DeviceWork::kernel, 1, 3);
  t.add(DeviceWork::kernel, 2, 5);  // beside it
  t.add(DeviceWork::in, 4, 6);      // one second beside a kernel
  t.add(DeviceWork::out, 5.5, 8);   // half a second beside the other copy
  t.add(DeviceWork::kernel, 7, 7.25);
  t.add(DeviceWork::out, 9, 9);
  const DeviceTimes s = t.sums();
  CHECK(s.pieces == 6);
  CHECK(s.kernels == 4.25);
  CHECK(s.in == 2);
  CHECK(s.out == 2.5);
  CHECK(s.copies == 4);
  CHECK(s.overlapped == 1.25);
  CHECK(s.waited == 0);
  const DeviceTimes later = s.since({2, 1, 0.5, 0.5, 1, 0.25, 0});
  CHECK(later.pieces == 4);
  CHECK(later.kernels == 3.25);
  CHECK(later.copies == 3);
  CHECK(later.overlapped == 1);
  CHECK(BusyTimes().sums().copies == 0);
}

TEST_CASE("what is summed up is dropped, and adds up to the same") {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    BusyTimes all, summed;
    double horizon = 0;
    for (int batch = 0; batch < 10; ++batch) {
      for (int i = 0; i < 8; ++i) {
        const double begin = horizon + static_cast<double>(random() % 64),
                     end = begin + static_cast<double>(random() % 32);
        const auto kind = static_cast<DeviceWork>(random() % 3);
        all.add(kind, begin, end);
        summed.add(kind, begin, end);
      }
      horizon += static_cast<double>(random() % 40);
      summed.sum_up(horizon);
      CHECK(summed.open() <= all.open());
    }
    CHECK(all.open() == 80);
    const DeviceTimes a = all.sums(), s = summed.sums();
    CHECK(a.pieces == s.pieces);
    CHECK(a.kernels == s.kernels);  // whole numbers: exact
    CHECK(a.in == s.in);
    CHECK(a.out == s.out);
    CHECK(a.copies == s.copies);
    CHECK(a.overlapped == s.overlapped);
    CHECK(s.overlapped <= std::min(s.copies, s.kernels));
    summed.sum_up(1e9);
    CHECK(summed.open() == 0);
    CHECK(summed.sums().copies == a.copies);
  }
}

TEST_CASE("a clock that is not exact adds nothing twice") {
  BusyTimes t;
  t.add(DeviceWork::in, 0, 2);
  t.sum_up(2);
  t.add(DeviceWork::in, 1.5, 3);
  t.add(DeviceWork::in, 1, 2);
  CHECK(t.sums().in == 3);
  CHECK(t.sums().pieces == 3);
}
