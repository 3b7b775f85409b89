// One suite for every Device.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/device/device.h"

using namespace sial;

namespace {

std::vector<double> ramp(std::int64_t n, double first) {
  std::vector<double> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), first);
  return v;
}

}  // namespace

TEST_CASE("every device is made by its name, and no other") {
  for (const std::string& name : device_names()) CHECK(make_device(name)->name() == name);
  CHECK_THROWS_AS(make_device("cdua"), SialError);
}

TEST_CASE("what goes to the device comes back") {
  for (const std::string& name : device_names()) {
    CAPTURE(name);
    const std::unique_ptr<Device> device = make_device(name);
    std::vector<double*> blocks;
    for (const std::int64_t n : {1, 7, 64, 1000}) {
      double* p = device->allocate(n);
      CHECK(reinterpret_cast<std::uintptr_t>(p) % 64 == 0);
      const std::vector<double> values = ramp(n, static_cast<double>(n));
      device->to_device(p, values.data(), n);
      blocks.push_back(p);
    }
    int i = 0;
    for (const std::int64_t n : {1, 7, 64, 1000}) {
      std::vector<double> back(static_cast<std::size_t>(n));
      device->to_host(back.data(), blocks[i], n);
      CHECK(back == ramp(n, static_cast<double>(n)));
      device->release(blocks[i++], n);
    }
    CHECK(device->moved_in().transfers == 4);
    CHECK(device->moved_in().bytes == 8 * (1 + 7 + 64 + 1000));
    CHECK(device->moved_out().transfers == 4);
    CHECK(device->moved_out().bytes == 8 * (1 + 7 + 64 + 1000));
  }
}

TEST_CASE("a part of a block can be moved") {
  for (const std::string& name : device_names()) {
    CAPTURE(name);
    const std::unique_ptr<Device> device = make_device(name);
    double* p = device->allocate(10);
    const std::vector<double> values = ramp(10, 1.0), other = ramp(3, -5.0);
    device->to_device(p, values.data(), 10);
    device->to_device(p + 4, other.data(), 3);
    std::vector<double> back(10);
    device->to_host(back.data(), p, 10);
    CHECK(back == std::vector<double>{1, 2, 3, 4, -5, -4, -3, 8, 9, 10});
    device->release(p, 10);
  }
}

TEST_CASE("empty blocks have addresses of their own") {
  for (const std::string& name : device_names()) {
    CAPTURE(name);
    const std::unique_ptr<Device> device = make_device(name);
    double *a = device->allocate(0), *b = device->allocate(0);
    CHECK(a != nullptr);
    CHECK(a != b);
    device->to_device(a, nullptr, 0);
    device->to_host(nullptr, a, 0);
    device->release(a, 0);
    device->release(b, 0);
  }
}

TEST_CASE("a device with memory of its own knows nothing that it was not told") {
  for (const std::string& name : device_names()) {
    const std::unique_ptr<Device> device = make_device(name);
    CHECK(device->separate() == (name != "host"));
    if (!device->separate()) continue;
    CAPTURE(name);
    const auto all_nan = [&](const double* p, std::int64_t n) {
      std::vector<double> back(static_cast<std::size_t>(n), 0.0);
      device->to_host(back.data(), p, n);
      return std::all_of(back.begin(), back.end(), [](double x) { return std::isnan(x); });
    };
    double* p = device->allocate(50);
    CHECK(all_nan(p, 50));
    std::vector<double> values = ramp(50, 1.0);
    device->to_device(p, values.data(), 50);
    values.assign(50, 7.0);  // the device has the values of the transfer
    std::vector<double> back(50);
    device->to_host(back.data(), p, 50);
    CHECK(back == ramp(50, 1.0));
    device->spoil(p + 10, 40);
    CHECK(all_nan(p + 10, 40));
    device->to_host(back.data(), p, 10);
    CHECK(back[9] == 10.0);
    device->release(p, 50);
    double* again = device->allocate(50);
    CHECK(all_nan(again, 50));
    device->release(again, 50);
  }
}
