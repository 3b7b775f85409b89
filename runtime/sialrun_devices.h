#pragma once
// What sialrun's command line says of devices: options, what a session makes of them, and what run.json keeps of that.

#include <string>

#include "runtime/session.h"

namespace CLI {
class App;
}

namespace sial {

/// As given; what needs no reading goes to the session's options at once.
struct DeviceArguments { std::string memory, copies = "direct", messages = "auto", puts = "defer", batch = "auto", graphs = "off"; };

/// Both outlive the parsing.
void add_device_options(CLI::App& app, DeviceArguments& arguments, SessionOptions& session);
/// After the parsing. Throws SialError for what cannot be read.
void read_device_arguments(const DeviceArguments& arguments, SessionOptions& session);
/// What was chosen, where there may be a device; which one it became the session adds.
void add_device_facts(const DeviceArguments& arguments, const SessionOptions& session, RunFacts::Pairs& facts);

}  // namespace sial
