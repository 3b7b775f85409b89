#pragma once
// What sialrun's command line says of devices, and what a session makes of it.

#include <string>

#include "runtime/program/session/options.h"

namespace sial {

/// As given; what needs no reading goes to the session's options at once.
struct DeviceArguments {
  std::string memory, copies = "direct", messages = "auto", puts = "defer", batch = "auto";
};

/// After the parsing. Throws SialError for what cannot be read.
void read_device_arguments(const DeviceArguments& arguments, SessionOptions& session);

}  // namespace sial
