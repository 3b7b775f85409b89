// Tables of states and events: each pair of them, and the same table on the page of the component.
#pragma once

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "tests/unit/main/source_path.h"

namespace sial {

/// Each pair through Entry::record(), which ends the program where the table has nothing; those are left out.
template <class Entry, class Event, class State, std::size_t n_states, std::size_t n_events>
void check_transitions(const std::array<std::array<std::optional<State>, n_states>, n_events>& table,
                       const char* const (&states)[n_states], const char* const (&events)[n_events],
                       const std::string& page) {
  std::ifstream in(source_path(page));
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  for (std::size_t event = 0; event < n_events; ++event) {
    std::string row = fmt::format("\n| {} |", events[event]);
    for (std::size_t state = 0; state < n_states; ++state) {
      const std::optional<State> next = table[event][state];
      row += next ? fmt::format(" {} |", states[static_cast<std::size_t>(*next)]) : " |";
      if (!next) continue;
      Entry entry;
      entry.state = static_cast<State>(state);
      entry.record(static_cast<Event>(event));
      CHECK(entry.state == *next);
    }
    INFO(row);
    CHECK(text.find(row + "\n") != std::string::npos);
  }
}

}  // namespace sial
