#pragma once
// The language server between two streams: JSON-RPC 2.0 messages after Content-Length headers.

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/tools/lsp/server.h"

namespace sial::lsp {

/// Cuts a stream of bytes into the bodies of messages. A header that cannot be understood is passed over.
class MessageParser {
 public:
  struct Body {
    std::string text;
    std::string problem;  // not empty: there is no text
  };
  void feed(std::string_view bytes);
  /// nullopt: more bytes are needed.
  std::optional<Body> next();

 private:
  std::string buffer_;
  std::size_t at_ = 0;         // what is before it has been read
  std::size_t passed_by_ = 0;  // bytes of a body that is too long
};

/// A message with its header.
std::string framed(const nlohmann::json& message);

/// Serves until `exit` or the end of the input; the exit code of the program. `in` and `out` are file descriptors.
int serve(int in, int out, Server::Settings settings, Providers providers);

}  // namespace sial::lsp
