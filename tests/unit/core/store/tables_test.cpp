// A rank's own tables: held blocks, access statistics, labels.
#include <catch2/catch.hpp>

#include "runtime/core/store/check/access_log.h"
#include "runtime/core/store/interface/labels.h"
#include "runtime/core/store/local/cache_table.h"

using namespace sial;

TEST_CASE("held blocks stay in place while the table grows, until it is cleared") {
  CacheTable t;
  std::vector<CacheEntry*> where;
  for (int i = 0; i < 2000; ++i) where.push_back(&t.find_or_create(ArrayId(i % 7), {2, {i, -i}}));
  for (int i = 0; i < 2000; ++i) {
    CHECK(t.find(ArrayId(i % 7), {2, {i, -i}}) == where[i]);
    CHECK(&t.find_or_create(ArrayId(i % 7), {2, {i, -i}}) == where[i]);
  }
  CHECK(t.find(ArrayId(8), {2, {1, -1}}) == nullptr);
  CHECK(t.all().size() == 2000);
  t.clear();
  CHECK(t.find(ArrayId(1), {2, {1, -1}}) == nullptr);
  CHECK(t.all().empty());
}

TEST_CASE("access rows are per statement and array") {
  AccessLog log;
  log.at({0, 10}, ArrayId(1)).accesses += 2;
  log.at({0, 10}, ArrayId(2)).accesses += 3;
  log.at({1, 10}, ArrayId(1)).accesses += 4;
  log.at({0, -1}, ArrayId(1)).accesses += 5;
  log.at({0, 10}, ArrayId(1)).accesses += 1;
  CHECK(log.all().size() == 4);
  CHECK(log.at({0, 10}, ArrayId(1)).accesses == 3);
  CHECK(log.at({0, 10}, ArrayId(2)).accesses == 3);
  CHECK(log.at({1, 10}, ArrayId(1)).accesses == 4);
  CHECK(log.at({0, -1}, ArrayId(1)).accesses == 5);
}

TEST_CASE("labels have the same number wherever they are first heard of") {
  LabelTable a, b;
  const auto x = a.at("x").number, y = a.at("y").number;
  CHECK(b.at("y").number == y);
  CHECK(b.at("x").number == x);
  CHECK(x != y);
  CHECK(x >> 63 == 1);
  CHECK(a.find("x") == nullptr);
  a.at("x").exists = true;
  CHECK(a.find("x") != nullptr);
  CHECK(a.names() == std::vector<std::string>{"x"});
}
