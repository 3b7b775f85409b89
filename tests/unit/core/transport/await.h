#pragma once
// Waits for what other processes do.

#include <unistd.h>

#include <functional>

/// False after 30 s.
inline bool await(const std::function<bool()>& is_so) {
  for (int i = 0; i < 6000; ++i) {
    if (is_so()) return true;
    usleep(5000);
  }
  return false;
}
