#include <catch2/catch.hpp>

#include <algorithm>
#include <sstream>

#include "runtime/interp/progress.h"

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

TEST_CASE("durations") {
  CHECK(duration_text(0.2) == "1 s");
  CHECK(duration_text(59) == "59 s");
  CHECK(duration_text(185) == "3 min 5 s");
  CHECK(duration_text(7800) == "2 h 10 min");
}
