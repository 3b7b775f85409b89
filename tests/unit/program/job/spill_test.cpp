#include <catch2/catch.hpp>

#include "runtime/core/job/options.h"
#include "runtime/core/job/spill.h"
#include "runtime/program/job/job_file.h"
#include "tests/unit/program/job/folder.h"

using namespace sial;
using Catch::Matchers::Contains;

namespace {

constexpr std::uint64_t giga = 1'000'000'000;

struct SpillFolder : Folder {
  SpillFolder() { write("p.sialx", "sial p\nendsial p\n"); }
  Job read(const std::string& text) const {
    return read_job_file(write("job.toml", "programs = [\"p.sialx\"]\n" + text));
  }
  std::string error(const std::string& text) const {
    return error_of([&] { read(text); });
  }
  std::string error_of_list(const std::string& entries) const {
    return error("[memory]\nspill = [\n\"/first\",\n" + entries + "\n]\n");
  }
};

}  // namespace

TEST_CASE("places for blocks as the command line states them") {
  CHECK(parse_spill("off").empty());
  const SpillRequest tiers = parse_spill("/scratch:200GB,data/x,./nodes:1GiB,nodes:2 TB");
  REQUIRE(tiers.size() == 4);
  CHECK(tiers[0].kind == TierKind::disk);
  CHECK(tiers[0].directory == "/scratch");
  CHECK(tiers[0].bytes == 200 * giga);
  CHECK(tiers[1].directory == "data/x");
  CHECK(tiers[1].bytes == 0);
  CHECK(tiers[2].kind == TierKind::disk);
  CHECK(tiers[2].directory == "./nodes");
  CHECK(tiers[2].bytes == std::uint64_t{1} << 30);
  CHECK(tiers[3].kind == TierKind::nodes);
  CHECK(tiers[3].bytes == 2000 * giga);
  CHECK(spill_text(tiers) == "/scratch:200000000000,data/x,./nodes:1073741824,nodes:2000000000000");
  CHECK(spill_text({}) == "off");
  CHECK(parse_spill("nodes").front().kind == TierKind::nodes);
}

TEST_CASE("places for blocks that cannot be") {
  const auto error = [](const char* text) { return error_of([&] { parse_spill(text); }); };
  for (const char* text : {"", ",", ":1GB", "/a,", "/a,,/b"}) CHECK_THAT(error(text), Contains("names no folder"));
  for (const char* text : {"/a:", "/a:0", "/a:lots", "/a:-1GB", "/a:b:1GB", "nodes:none"})
    CHECK_THAT(error(text), Contains("is not a size that blocks may take") && Contains("[memory] spill"));
  CHECK_THAT(error("/a:5"), Contains("`5` without a unit") && Contains("`5GB`"));
  for (const char* text : {"/a,/a", "/a:1GB,/a:2GB", "/a,/b/../a/", "a,./a", "/,//"})
    CHECK_THAT(error(text), Contains("the folder") && Contains("is named twice"));
  CHECK_THAT(error("nodes,/a,nodes:1GB"), Contains("memory of other nodes is named twice"));
  CHECK_THAT(error("/a,off"), Contains("`off` goes with no other"));
  CHECK(error("/a,/ab,/A").empty());
}

TEST_CASE("a job file states memory and places for blocks") {
  SpillFolder f;
  CHECK(f.read("memory = \"3GB\"\n").spill.empty());
  Job job = f.read("[memory]\nlimit = \"4GB\"\nspill = \"scratch:2GB\"\n");
  CHECK(job.memory_per_rank == 4 * giga);
  REQUIRE(job.spill.size() == 1);
  CHECK(job.spill[0].directory == f.path("scratch"));
  CHECK(job.spill[0].bytes == 2 * giga);
  CHECK(job.settings.at(OptionId::spill) == f.path("scratch") + ":2000000000");

  set_option(job, OptionId::spill, "mine");
  CHECK(job.spill.front().directory == "mine");
  set_option(job, OptionId::spill, "off");
  CHECK(job.spill.empty());

  CHECK(f.read("[memory]\nlimit = 5000000\n").memory_per_rank == 5'000'000);
  CHECK(f.read("[memory]\nspill = \"off\"\n").spill.empty());
  CHECK(f.read("[memory]\nspill = []\n").spill.empty());
  CHECK(f.read("[memory]\nspill = {dir = \"/a\"}\n").spill.front().directory == "/a");
}

TEST_CASE("a job file lists places for blocks in their order") {
  SpillFolder f;
  const Job job = f.read(
      "[memory]\nspill = [\"/one\", {kind = \"disk\", dir = \"a:b,c\", size = \"200GB\"}, {kind = \"nodes\", size = 3000000000}, "
      "{kind = \"disk\", dir = \"off\"}]\n");
  REQUIRE(job.spill.size() == 4);
  CHECK(job.spill[0].directory == "/one");
  CHECK(job.spill[1].directory == f.path("a:b,c"));
  CHECK(job.spill[1].bytes == 200 * giga);
  CHECK(job.spill[2].kind == TierKind::nodes);
  CHECK(job.spill[2].bytes == 3 * giga);
  CHECK(job.spill[3].directory == f.path("off"));
}

TEST_CASE("mistakes about memory in a job file name the line") {
  SpillFolder f;
  const std::string entry = "job.toml:5";  // of the second place
  CHECK_THAT(f.error_of_list("{kind = \"tape\", dir = \"/a\"}"), Contains("of kind `tape`") && Contains(entry));
  CHECK_THAT(f.error_of_list("{kind = \"disc\", dir = \"/a\"}"), Contains("did you mean `disk`") && Contains(entry));
  CHECK_THAT(f.error_of_list("{kind = \"disk\", folder = \"/a\"}"), Contains("`folder`") && Contains(entry));
  CHECK_THAT(f.error_of_list("{kind = \"disk\", size = \"1GB\"}"), Contains("lacks `dir`") && Contains(entry));
  CHECK_THAT(f.error_of_list("{kind = \"nodes\", dir = \"/a\"}"), Contains("`dir` goes with") && Contains(entry));
  CHECK_THAT(f.error_of_list("{dir = \"/a\", size = 0}"), Contains("`0` is not a size") && Contains(entry));
  CHECK_THAT(f.error_of_list("{dir = \"/a\", size = true}"), Contains("`size` must be") && Contains(entry));
  CHECK_THAT(f.error_of_list("{dir = \"\"}"), Contains("`dir` is empty") && Contains(entry));
  CHECK_THAT(f.error_of_list("{dir = 5}"), Contains("`dir` must be a string") && Contains(entry));
  CHECK_THAT(f.error_of_list("\"/first/\""), Contains("is named twice") && Contains(entry));
  CHECK_THAT(f.error_of_list("\"off\""), Contains("`off` goes with no other") && Contains(entry));
  CHECK_THAT(f.error_of_list("7"), Contains("must be a folder, or a list") && Contains(entry));

  CHECK_THAT(f.error("[memory]\nlimits = \"4GB\"\n"), Contains("did you mean `limit`") && Contains("job.toml:3:1"));
  CHECK_THAT(f.error("[memory]\nlimit = \"lots\"\n"), Contains("`lots`") && Contains("job.toml:3"));
  CHECK_THAT(f.error("[memory]\nlimit = 7\n"), Contains("without a unit") && Contains("job.toml:3"));
  CHECK_THAT(f.error("spill = \"/a\"\n"), Contains("`spill` belongs in [memory]") && Contains("job.toml:2"));
  CHECK_THAT(f.error("memory = \"4GB\"\n[memory]\nlimit = \"2GB\"\n"), Contains("memory") && Contains("job.toml:3"));
}
