#include <catch2/catch.hpp>

#include <algorithm>
#include <sstream>

#include "runtime/core/interp/context/progress.h"

using namespace sial;

TEST_CASE("a line of progress appears after a second, twice a second, and leaves nothing behind") {
  std::ostringstream out;
  {
    Progress p(out, ProgressMode::line);
    p.begin("a.sialx:3 pardo i", 10);
    p.update(0.1, 10.5);
    CHECK(out.str().empty());
    p.update(0.25, 12);
    CHECK(out.str() == "\r\x1b[Ka.sialx:3 pardo i: 25 %, 2 s so far, about 6 s left");
    p.update(0.3, 12.4);
    CHECK(out.str().find("30 %") == std::string::npos);
    p.update(0.2, 12.6);  // never backwards
    CHECK(out.str().find("30 %, 3 s so far, about 7 s left") != std::string::npos);
  }
  const std::string text = out.str();
  CHECK(text.substr(text.size() - 4) == "\r\x1b[K");
  CHECK(text.find('\n') == std::string::npos);
}

TEST_CASE("hiding twice writes once; nothing is written for a pardo that is over soon") {
  std::ostringstream out;
  Progress p(out, ProgressMode::line);
  p.begin("x", 0);
  p.update(0.9, 0.9);
  p.end();
  p.hide();
  CHECK(out.str().empty());
  p.begin("y", 1);
  p.update(0.5, 3);
  p.hide();
  const std::size_t size = out.str().size();
  p.hide();
  CHECK(out.str().size() == size);
}

TEST_CASE("a log gets whole lines, one a minute over all pardos") {
  std::ostringstream out;
  Progress p(out, ProgressMode::log);
  for (int pardo = 0; pardo < 10; ++pardo) {
    p.begin("x", 30.0 * pardo);
    for (double t = 0; t < 30; t += 0.5) p.update(t / 30, 30.0 * pardo + t);
    p.end();
  }
  const std::string text = out.str();
  CHECK(std::count(text.begin(), text.end(), '\n') == 4);
  CHECK(text.find("progress: x: ") == 0);
  CHECK(text.find('\r') == std::string::npos);
}

TEST_CASE("an earlier run of the job tells how long it will take") {
  JobOutlook job;
  job.program = 1;
  job.programs = 3;
  job.program_begun = 100;
  job.earlier_program = 60;
  job.earlier_rest = 30;
  CHECK(outlook_text(job, 120, 5) == "job: program 2 of 3, about 1 min 10 s left, as in its earlier run");
  CHECK(outlook_text(job, 120, 50) ==
        "job: program 2 of 3, about 1 min 20 s left, as in its earlier run");  // the pardo alone needs more
  CHECK(outlook_text(job, 500, -1) ==
        "job: program 2 of 3, about 30 s left, as in its earlier run");  // it takes longer than it did
}

TEST_CASE("without one, a serial loop around the pardo says what it needs at most") {
  JobOutlook job;
  CHECK(outlook_text(job, 10, 3).empty());
  job.loops = {{5, 0, 10, 0, 0},
               {7, 2, 12, 4, 24}};  // the outer one is in its first iteration; the inner takes 10 s each
  CHECK(outlook_text(job, 28, 3) ==
        "job: iteration 3 of at most 12 of the loop in line 7, which takes at most about 1 min 36 s more");
  CHECK(outlook_text(job, 40, 3) ==
        "job: iteration 3 of at most 12 of the loop in line 7, which takes at most about 1 min 33 s more");
  job.loops[0] = {5, 1, 10, 0, 100};
  CHECK(outlook_text(job, 100, -1) ==
        "job: iteration 2 of at most 10 of the loop in line 5, which takes at most about 15 min 0 s more");
  job.programs = 2;
  job.loops.clear();
  CHECK(outlook_text(job, 40, 3) == "job: program 1 of 2");
}

TEST_CASE("the job's estimate stands behind the pardo's") {
  std::ostringstream out;
  Progress p(out, ProgressMode::line);
  p.begin("a.sialx:9 pardo i", 10);
  JobOutlook job;
  job.loops = {{3, 4, 10, 2, 10}};
  p.update(0.25, 12, job);
  CHECK(
      out.str() ==
      "\r\x1b[Ka.sialx:9 pardo i: 25 %, 2 s so far, about 6 s left; job: iteration 5 of at most 10 of the loop in line 3, which takes at most about 16 s more");
}

TEST_CASE("durations") {
  CHECK(duration_text(0.2) == "1 s");
  CHECK(duration_text(59) == "59 s");
  CHECK(duration_text(185) == "3 min 5 s");
  CHECK(duration_text(7800) == "2 h 10 min");
}
