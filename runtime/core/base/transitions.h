#pragma once
// Tables of what events make of a state. Values.

#include <array>
#include <cstddef>
#include <optional>

#include "runtime/core/base/check.h"

namespace sial {

/// The state after an event, by event and state. Nothing: the event does not happen there.
template <class State, std::size_t states, std::size_t events>
using Transitions = std::array<std::array<std::optional<State>, states>, events>;

/// The state after the event, which happens there.
template <class State, class Event, std::size_t states, std::size_t events>
State state_after(const Transitions<State, states, events>& table, Event event, State state) {
  const std::optional<State> next = table[static_cast<std::size_t>(event)][static_cast<std::size_t>(state)];
  SIAL_CHECK(next, "event {} in state {} of a block", static_cast<int>(event), static_cast<int>(state));
  return *next;
}

}  // namespace sial
