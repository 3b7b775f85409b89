#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "runtime/core/base/error.h"
#include "runtime/core/transport/shared_memory.h"

using namespace sial;

TEST_CASE("shared memory is one memory at two addresses, without a name once mapped") {
  const std::size_t size = std::size_t{1} << 30;  // an address range: pages come with commit
  const auto naming = GENERATE(SharedMemory::Naming::descriptor, SharedMemory::Naming::name);
  const auto a = SharedMemory::create(size, "test", naming);
  const std::string path = "/dev/shm" + a->name();
  struct stat s{};
  if (SharedMemory::is_descriptor(a->name())) {
    REQUIRE(stat(path.c_str(), &s) != 0);
    REQUIRE(stat(a->name().substr(0, a->name().find(' ')).c_str(), &s) == 0);
    CHECK(s.st_nlink == 0);
  } else {
    REQUIRE(stat(path.c_str(), &s) == 0);
  }
  CHECK(s.st_blocks * 512 < (1 << 20));
  const auto b = SharedMemory::open(a->name(), size, "test");
  a->remove_name();
  CHECK(stat(path.c_str(), &s) != 0);
  CHECK(a->base() != b->base());
  CHECK(a->committed() == 0);
  a->commit(size - 100, 100);
  a->commit(0, 100000);
  b->commit(0, 1);
  CHECK(b->committed() == 3 * 65536);
  CHECK(b->base()[size - 1] == std::byte{0});
  a->base()[size - 1] = std::byte{7};
  CHECK(b->base()[size - 1] == std::byte{7});
}

TEST_CASE("two memories never share a name, and names go with the creator") {
  std::string path;
  struct stat s{};
  {
    constexpr auto named = SharedMemory::Naming::name;
    const auto a = SharedMemory::create(100, "test", named), b = SharedMemory::create(100, "test", named);
    CHECK(a->name() != b->name());
    path = "/dev/shm" + a->name();
    CHECK(stat(path.c_str(), &s) == 0);
  }
  CHECK(stat(path.c_str(), &s) != 0);
  CHECK_THROWS_AS(SharedMemory::open("/sialx-none", 100, "test"), EnvironmentError);
  const auto other = SharedMemory::create(100, "test");  // a descriptor of this number may be another file elsewhere
  if (SharedMemory::is_descriptor(other->name()))
    CHECK_THROWS_AS(SharedMemory::open(other->name() + "0", 100, "test"), EnvironmentError);
}

TEST_CASE("more than /dev/shm has is an error with the remedy, never a signal") {
  struct statvfs fs{};
  REQUIRE(statvfs("/dev/shm", &fs) == 0);
  const std::size_t more = (std::size_t{1} << 30) + fs.f_blocks * fs.f_frsize;
  const auto a = SharedMemory::create(more, "block data");
  try {
    a->commit(0, more);
    FAIL("more than there is was committed");
  } catch (const EnvironmentError& e) {
    CHECK_THAT(e.what(), Catch::Contains("/dev/shm is too small") && Catch::Contains("block data"));
    CHECK_THAT(e.hint(),
               Catch::Contains("--memory") && Catch::Contains("remount,size=") && Catch::Contains("--shm-size="));
  }
  a->commit(0, 4096);  // usable still
  a->base()[0] = std::byte{1};
}
