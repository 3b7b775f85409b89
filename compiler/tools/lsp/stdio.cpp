#include "compiler/tools/lsp/stdio.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <deque>
#include <utility>

#include "runtime/core/base/error.h"

namespace sial::lsp {
namespace {

constexpr std::size_t longest_header = 1 << 16;
constexpr std::size_t longest_body = std::size_t{1} << 29;
/// Requests that come without a pause do not keep diagnostics from being made.
constexpr auto max_pending_time = std::chrono::milliseconds(200);
/// Milliseconds without a message after which the editor counts as silent.
constexpr int silence = 300;
/// Milliseconds between looks at files while it stays silent.
constexpr int longer_silence = 5000;
/// Levels of arrays and objects: the parser's value is taken down by recursion.
constexpr int deepest_nesting = 1000;

bool nested_too_deeply(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    else if (in_string) i += c == '\\' ? 1 : 0;
    else if (c == '[' || c == '{') {
      if (++depth > deepest_nesting) return true;
    } else if (c == ']' || c == '}') --depth;
  }
  return false;
}

std::optional<std::size_t> content_length(std::string_view header) {
  while (!header.empty()) {
    const std::size_t end = std::min(header.find('\n'), header.size());
    std::string_view line = header.substr(0, end);
    header.remove_prefix(std::min(end + 1, header.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || lower_case(line.substr(0, colon)) != "content-length") continue;
    line.remove_prefix(colon + 1);
    while (line.starts_with(' ')) line.remove_prefix(1);
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    std::size_t value = 0;
    const auto read = std::from_chars(line.data(), line.data() + line.size(), value);
    if (read.ec == std::errc() && read.ptr == line.data() + line.size()) return value;
  }
  return std::nullopt;
}

class Loop {
 public:
  Loop(int in, int out, Server::Settings settings, Providers providers)
      : in_(in), out_(out), server_(std::move(settings), std::move(providers), [this](const json& m) { write(m); }) {}

  int run() {
    while (!server_.finished() && !failed_) {
      const bool wait = queue_.empty() && !server_.has_pending();
      if (wait && !ended_ && !readable(was_idle_ ? longer_silence : silence)) {
        was_idle_ = true;
        server_.idle();
        continue;
      }
      receive(wait);
      if (!queue_.empty()) handle();
      else if (server_.has_pending() && !readable()) server_.publish_pending();
      else if (ended_) break;
    }
    return failed_ ? exit_environment_error : server_.exit_code();
  }

 private:
  struct Queued {
    json message;
    bool cancelled = false;
  };

  bool readable(int milliseconds = 0) const {
    pollfd wanted{in_, POLLIN, 0};
    return !ended_ && ::poll(&wanted, 1, milliseconds) > 0;
  }

  /// Takes what has come; waits for something where nothing else is to be done.
  void receive(bool wait) {
    while (!ended_ && (wait || readable())) {
      was_idle_ = false;
      std::array<char, 1 << 16> bytes{};
      const ssize_t n = ::read(in_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) ended_ = true;
      else parser_.feed({bytes.data(), static_cast<std::size_t>(n)});
      while (std::optional<MessageParser::Body> body = parser_.next()) take(std::move(*body));
      wait = wait && queue_.empty() && !failed_;
    }
  }

  void take(MessageParser::Body body) {
    if (!body.problem.empty()) {
      server_.refuse_malformed(body.problem);
      return;
    }
    if (nested_too_deeply(body.text)) {
      server_.refuse_malformed(fmt::format("the message is nested deeper than {} levels", deepest_nesting));
      return;
    }
    json message = json::parse(body.text, nullptr, false);
    if (message.is_discarded()) {
      server_.refuse_malformed("the message is no JSON");
      return;
    }
    if (message.is_object() && message.value("method", json()) == json("$/cancelRequest")) {
      const json params = message.value("params", json::object());
      const json id = params.is_object() ? params.value("id", json()) : json();
      for (Queued& queued : queue_)
        if (queued.message.is_object() && queued.message.contains("method") && queued.message.contains("id") &&
            queued.message["id"] == id)
          queued.cancelled = true;
      return;
    }
    queue_.push_back({std::move(message), false});
  }

  void handle() {
    const Queued next = std::move(queue_.front());
    queue_.pop_front();
    const auto now = std::chrono::steady_clock::now();
    const bool changes =
        next.message.is_object() && next.message.value("method", json()) == json("textDocument/didChange");
    if (!server_.has_pending()) pending_since_ = now;
    else if (!changes && now - pending_since_ > max_pending_time) server_.publish_pending();
    if (next.cancelled) server_.refuse_cancelled(next.message["id"]);
    else server_.receive(next.message);
  }

  void write(const json& message) {
    const std::string text = framed(message);
    for (std::size_t done = 0; done < text.size() && !failed_;) {
      const ssize_t n = ::write(out_, text.data() + done, text.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) failed_ = true;
      else done += static_cast<std::size_t>(n);
    }
  }

  int in_, out_;
  MessageParser parser_;
  std::deque<Queued> queue_;
  std::chrono::steady_clock::time_point pending_since_;
  bool ended_ = false, failed_ = false, was_idle_ = false;
  Server server_;
};

}  // namespace

void MessageParser::feed(std::string_view bytes) {
  if (at_ > 0 && at_ == buffer_.size()) {
    buffer_.clear();
    at_ = 0;
  }
  buffer_ += bytes;
}

std::optional<MessageParser::Body> MessageParser::next() {
  if (passed_by_ > 0) {
    const std::size_t n = std::min(passed_by_, buffer_.size() - at_);
    passed_by_ -= n;
    at_ += n;
    if (passed_by_ > 0) return std::nullopt;
  }
  const std::string_view rest = std::string_view(buffer_).substr(at_);
  std::size_t end = rest.find("\r\n\r\n"), separator = 4;
  if (const std::size_t bare = rest.substr(0, end).find("\n\n"); bare != std::string_view::npos) {
    end = bare;
    separator = 2;
  }
  if (end == std::string_view::npos) {
    if (rest.size() <= longest_header) return std::nullopt;
    at_ = buffer_.size();
    return Body{{}, "a header without an end"};
  }
  const std::optional<std::size_t> length = content_length(rest.substr(0, end));
  if (!length || *length > longest_body) {
    at_ += end + separator;
    if (length) passed_by_ = *length;
    return Body{{}, length ? "the message is too long" : "a header without Content-Length"};
  }
  if (rest.size() - end - separator < *length) return std::nullopt;
  Body out{std::string(rest.substr(end + separator, *length)), {}};
  at_ += end + separator + *length;
  if (at_ > longest_header) {
    buffer_.erase(0, at_);
    at_ = 0;
  }
  return out;
}

std::string framed(const json& message) {
  // Names of files may be no UTF-8.
  const std::string body = message.dump(-1, ' ', false, json::error_handler_t::replace);
  return fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
}

int serve(int in, int out, Server::Settings settings, Providers providers) {
  return Loop(in, out, std::move(settings), std::move(providers)).run();
}

}  // namespace sial::lsp
