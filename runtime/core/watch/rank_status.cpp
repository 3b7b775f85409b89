#include "runtime/core/watch/rank_status.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/base/check.h"

namespace sial {

void RankStatus::set_text(const std::string& words) {
  text.fill(0);
  std::memcpy(text.data(), words.data(), std::min(words.size(), text.size() - 1));
}

std::size_t HostBoard::bytes(int ranks) { return 64 + static_cast<std::size_t>(ranks) * sizeof(Slot); }

HostBoard::HostBoard(std::byte* memory, int ranks) : memory_(memory), ranks_(ranks) {
  SIAL_CHECK(reinterpret_cast<std::uintptr_t>(memory) % alignof(Slot) == 0, "a board of {} ranks is not aligned",
             ranks);
}

HostBoard::Slot& HostBoard::slot(int position) const {
  SIAL_CHECK(position >= 0 && position < ranks_, "position {} of {}", position, ranks_);
  return reinterpret_cast<Slot*>(memory_ + 64)[position];
}

void HostBoard::publish(int position, const RankStatus& status) { slot(position).publish(status); }

RankStatus HostBoard::read(int position) const { return slot(position).read().value_or(RankStatus{}); }

namespace {

constexpr std::uint64_t report_mark = 0x5349414c57415443;  // says that a message is one of these

struct Head {
  std::uint64_t mark = report_mark;
  std::int64_t beat = 0;
  std::int32_t host = 0, asked = 0, ended = 0, ranks = 0;
};

constexpr std::size_t numbers = offsetof(RankStatus, text);

}  // namespace

std::vector<std::byte> pack(const HostReport& report, double still) {
  Head head;
  head.beat = report.beat;
  head.host = report.host;
  head.asked = report.asked ? 1 : 0;
  head.ended = report.ended ? 1 : 0;
  head.ranks = static_cast<std::int32_t>(report.ranks.size());
  std::vector<std::byte> bytes;
  const auto add = [&](const void* data, std::size_t n) {
    const std::size_t at = bytes.size();
    bytes.resize(at + n);
    if (n > 0) std::memcpy(bytes.data() + at, data, n);
  };
  add(&head, sizeof head);
  for (const RankStatus& r : report.ranks) {
    const std::string text = r.still >= still ? r.what() : std::string();
    const auto length = static_cast<std::uint32_t>(text.size());
    add(&r, numbers);
    add(&length, sizeof length);
    add(text.data(), length);
  }
  return bytes;
}

HostReport unpack(std::span<const std::byte> bytes) {
  const auto take = [&](void* to, std::size_t n) {
    if (bytes.size() < n) return false;
    std::memcpy(to, bytes.data(), n);
    bytes = bytes.subspan(n);
    return true;
  };
  Head head;
  if (!take(&head, sizeof head) || head.mark != report_mark) return {};
  HostReport report{head.beat, head.host, head.asked != 0, head.ended != 0, {}};
  for (std::int32_t i = 0; i < head.ranks; ++i) {
    RankStatus& r = report.ranks.emplace_back();
    std::uint32_t length = 0;
    if (!take(&r, numbers) || !take(&length, sizeof length) || length >= r.text.size() || !take(r.text.data(), length))
      return {};
  }
  return report;
}

}  // namespace sial
