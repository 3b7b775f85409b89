#include <catch2/catch.hpp>

#include "runtime/core/job/numa.h"
#include "runtime/core/job/options.h"
#include "runtime/program/job/job_file.h"
#include "tests/unit/program/job/folder.h"

using namespace sial;
using Catch::Matchers::Contains;

namespace {

struct NumaFolder : Folder {
  NumaFolder() { write("p.sialx", "sial p\nendsial p\n"); }
  Job read(const std::string& text) const {
    return read_job_file(write("job.toml", "programs = [\"p.sialx\"]\n" + text));
  }
};

}  // namespace

TEST_CASE("policies for memory nodes as the command line states them") {
  for (const char* text : {"auto", "local", "interleave", "off", "bind:0", "bind:0-1,3", "auto,t2=interleave",
                           "bind:0-1,4,t2=bind:2,v=auto", "off,t2=local"}) {
    CAPTURE(text);
    CHECK(numa_text(parse_numa(text)) == text);
  }
  CHECK(parse_numa("bind:3,1,1-2").all.nodes == std::vector<int>{1, 2, 3});
  const NumaRequest request = parse_numa("t2=interleave,v=bind:0,2");
  CHECK(request.all == NumaRule{});
  REQUIRE(request.arrays.size() == 2);
  CHECK(request.arrays[1].first == "v");
  CHECK(request.arrays[1].second.nodes == std::vector<int>{0, 2});
}

TEST_CASE("policies that cannot be") {
  const auto error = [](const char* text) { return error_of([&] { parse_numa(text); }); };
  for (const char* text : {"", "first", "auto,", "AUTO", "t2=", "t2=first", "0,1"})
    CHECK_THAT(error(text), Contains("there is no policy"));
  for (const char* text : {"bind:", "bind:x", "bind:2-1", "bind:-1", "bind:1,2-", "bind:2000"})
    CHECK_THAT(error(text), Contains("names no memory nodes"));
  CHECK_THAT(error("auto,local"), Contains("a second policy for all blocks"));
  CHECK_THAT(error("t2=local,t2=local"), Contains("the array `t2` has two rules"));
  CHECK_THAT(error("t2=off"), Contains("`off` is no rule for the array `t2` alone"));
  CHECK_THAT(error("=local"), Contains("lacks its name"));
}

TEST_CASE("policies for memory nodes in job files") {
  const NumaFolder folder;
  CHECK(folder.read("").numa == NumaRequest{});
  CHECK(numa_text(folder.read("[memory]\nnuma = \"interleave\"\n").numa) == "interleave");
  const Job job = folder.read("[memory]\nlimit = \"1GB\"\n[memory.numa]\ndefault = \"local\"\nt2 = \"interleave\"\n");
  CHECK(numa_text(job.numa) == "local,t2=interleave");
  CHECK(job.settings.at(OptionId::numa) == "local,t2=interleave");
  const auto error = [&](const std::string& text) { return error_of([&] { folder.read(text); }); };
  CHECK_THAT(error("[memory]\nnuma = \"first\"\n"), Contains("job.toml:3") && Contains("no policy `first`"));
  CHECK_THAT(error("[memory.numa]\nt2 = \"off\"\n"), Contains("job.toml:3") && Contains("`off` is no rule"));
  CHECK_THAT(error("[memory.numa]\nt2 = 3\n"), Contains("must be a string"));
}
