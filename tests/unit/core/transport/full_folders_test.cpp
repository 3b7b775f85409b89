// Which folders are said to be full.
#include <catch2/catch.hpp>

#include "runtime/core/transport/full_folders.h"

using namespace sial;

TEST_CASE("a folder is full where less is left than asked for") {
  CHECK(full_folders({"/"}, 0).empty());
  const std::vector<std::string> full = full_folders({"/", "/no/such/folder"}, 1e30);
  REQUIRE(full.size() == 1);
  CHECK_THAT(full[0], Catch::Matchers::StartsWith("/ (") && Catch::Matchers::EndsWith(" KiB free)"));
}
