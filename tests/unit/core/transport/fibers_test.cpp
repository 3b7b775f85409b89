// Fibers: who goes on, exceptions that are under way while others run, and room on their stacks.
#include <catch2/catch.hpp>

#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/core/base/error.h"
#include "runtime/core/transport/fibers.h"

using namespace sial;

namespace {

/// Fiber `i` does bodies[i]; when it ends, the next one goes on, after the last one the caller.
class Relay {
 public:
  using Part = std::function<void(Fibers&)>;
  explicit Relay(std::vector<Part> parts)
      : parts_(std::move(parts)), fibers_(static_cast<int>(parts_.size()), [this](int i) {
          parts_[static_cast<std::size_t>(i)](fibers_);
          return i + 1 < static_cast<int>(parts_.size()) ? i + 1 : Fibers::caller;
        }) {}
  void run() { fibers_.run(0); }

 private:
  std::vector<Part> parts_;
  Fibers fibers_;
};

std::string message_of(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const std::exception& e) { return e.what(); }
  return {};
}

/// Uses about `bytes` of stack, and all of it at once.
std::size_t deep(std::size_t bytes, Fibers& fibers, int other) {
  volatile char frame[4096];
  for (std::size_t i = 0; i < sizeof frame; i += 64) frame[i] = static_cast<char>(bytes);
  if (bytes <= sizeof frame) {
    fibers.switch_to(other);
    return 1;
  }
  const std::size_t below = deep(bytes - sizeof frame, fibers, other);
  for (std::size_t i = 0; i < sizeof frame; i += 64)
    if (frame[i] != static_cast<char>(bytes)) return 0;
  return below == 0 ? 0 : below + 1;
}

}  // namespace

TEST_CASE("fibers go on where they stopped, and an end names who goes on") {
  std::string order;
  Relay relay({[&](Fibers& f) {
                 order += 'a';
                 f.switch_to(2);
                 order += 'b';
                 f.switch_to(1);
                 order += 'c';
               },
               [&](Fibers& f) {
                 order += 'd';
                 f.switch_to(2);
                 order += 'e';
               },
               [&](Fibers& f) {
                 order += 'f';
                 f.switch_to(0);
                 order += 'g';
                 f.switch_to(0);
                 order += 'h';
               }});
  relay.run();
  CHECK(order == "afbdgceh");
}

TEST_CASE("sets of fibers within each other") {
  std::string order;
  Relay outer({[&](Fibers& f) {
                 order += '(';
                 Relay inner({[&](Fibers& g) {
                                order += '1';
                                g.switch_to(1);
                                order += '3';
                              },
                              [&](Fibers& g) {
                                order += '2';
                                g.switch_to(0);
                              }});
                 f.switch_to(1);
                 inner.run();
                 order += ')';
               },
               [&](Fibers& f) {
                 order += 'x';
                 f.switch_to(0);
                 order += 'y';
               }});
  outer.run();
  CHECK(order == "(x123)y");
}

TEST_CASE("a handler keeps its exception while others throw and handle theirs") {
  std::vector<std::string> seen;
  const auto thrower = [&](const std::string& name, int other) {
    return [&seen, name, other](Fibers& f) {
      CHECK(std::current_exception() == nullptr);
      try {
        try {
          throw std::runtime_error(name);
        } catch (const std::exception&) {
          f.switch_to(other);
          seen.push_back(message_of(std::current_exception()));
          throw;
        }
      } catch (const std::exception& e) { seen.push_back(std::string("again ") + e.what()); }
      CHECK(std::current_exception() == nullptr);
    };
  };
  Relay relay({thrower("one", 1), thrower("two", 2), [&](Fibers& f) {
                 CHECK(std::current_exception() == nullptr);
                 f.switch_to(0);
                 CHECK(std::current_exception() == nullptr);
               }});
  relay.run();
  CHECK(seen == std::vector<std::string>{"one", "again one", "two", "again two"});
}

TEST_CASE("destructors that an exception runs may switch") {
  struct Switches {
    ~Switches() {
      counts.push_back(std::uncaught_exceptions());
      fibers.switch_to(other);
      counts.push_back(std::uncaught_exceptions());
    }
    Fibers& fibers;
    int other;
    std::vector<int>& counts;
  };
  std::vector<int> unwinding, others;
  Relay relay({[&](Fibers& f) {
                 try {
                   const Switches s{f, 1, unwinding};
                   throw std::runtime_error("one");
                 } catch (const std::exception& e) { CHECK(e.what() == std::string("one")); }
                 CHECK(std::uncaught_exceptions() == 0);
               },
               [&](Fibers& f) {
                 others.push_back(std::uncaught_exceptions());
                 try {
                   throw std::runtime_error("two");
                 } catch (const std::exception&) { f.switch_to(0); }
                 others.push_back(std::uncaught_exceptions());
               }});
  relay.run();
  CHECK(unwinding == std::vector<int>{1, 1});
  CHECK(others == std::vector<int>{0, 0});
}

TEST_CASE("each fiber has the stack of a thread") {
  constexpr std::size_t bytes = 2 << 20;  // with a sanitizer frames are larger
  std::size_t first = 0, second = 0;
  Relay relay({[&](Fibers& f) { first = deep(bytes, f, 1); }, [&](Fibers& f) { second = deep(bytes, f, 0); }});
  relay.run();
  CHECK(first == bytes / 4096);
  CHECK(second == bytes / 4096);
}

TEST_CASE("many fibers, many switches") {
  constexpr int count = 500, rounds = 50;
  std::vector<int> turns(count);
  std::vector<Relay::Part> parts;
  for (int i = 0; i < count; ++i)
    parts.emplace_back([&turns, i](Fibers& f) {
      for (int n = 0; n < rounds; ++n) {
        ++turns[static_cast<std::size_t>(i)];
        f.switch_to((i + 1) % count);
      }
    });
  Relay(parts).run();
  CHECK(turns == std::vector<int>(count, rounds));
}
